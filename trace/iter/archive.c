/* Marks, kept in an index. */
#include "trace/iter/iter.h"
#include "trace/util/grow.h"
#include "trace/util/sort.h"
#include <stdlib.h>

static void strip(struct ana_iter_mark *mark)
{
    mark->entry = NULL;
    mark->recent = NULL;
    mark->longest = NULL;
    mark->room = 0;
    mark->width = 0;
}

static void strip_place(void *row)
{
    strip(&((struct ana_iter_place *)row)->mark);
}

static void strip_kind(void *row)
{
    struct ana_iter_kind *kind = row;
    strip(&kind->mark);
    kind->symbol = 0; /* no more calls will come */
}

#define MOST_CALLS (UINT64_C(1) << 48) /* limit for a mark: sums and products stay in range */

/* Returns whether the values of a mark are possible. */
static bool is_sane(const struct ana_iter *iter, const struct ana_why *why, const struct ana_iter_mark *mark)
{
    return mark->count <= MOST_CALLS && ana_archive_is_time(mark->first_ns) && ana_archive_is_time(mark->last_ns) &&
           mark->index < iter->ranks && mark->place && mark->place <= why->places.count && mark->stride &&
           mark->entries <= ANA_ITER_ENTRIES && mark->entries <= mark->count && ana_archive_is_bool(&mark->is_io) &&
           (mark->entries == 0) == (mark->count == 0) &&
           (mark->entries == 0 || (mark->entries - 1) * (uint64_t)mark->stride < mark->count);
}

static bool is_place_sane(const struct ana_iter_place *place)
{
    return ana_archive_is_bool(&place->is_mixed) && ana_archive_is_bool(&place->row[ANA_ITER_TURN].is_mixed) &&
           ana_archive_is_bool(&place->row[ANA_ITER_SIZE].is_mixed);
}

/* Whether this is none, or the number of one of the first kinds. */
static bool is_kind(uint32_t number, size_t kinds)
{
    return !number || (number & ANA_ITER_KIND && (number & ~ANA_ITER_KIND) - 1 < kinds);
}

/* The ways from mark to mark: each leads to one that was made before, so they end. */
static bool are_linked(const struct ana_iter *iter)
{
    for (uint32_t i = 0; i < iter->marks.count; i++) {
        const struct ana_iter_place *place = ana_iter_place_at(iter, i + 1);
        if (place->mark.before > i || !is_kind(place->kind, iter->kinds.count))
            return false;
    }
    for (uint32_t i = 0; i < iter->kinds.count; i++) {
        const struct ana_iter_kind *kind = ana_iter_kind_at(iter, i + 1);
        if (!is_kind(kind->mark.before, i) || (unsigned)kind->sort >= ANA_ITER_SORTS)
            return false;
    }
    for (size_t i = 0; i < iter->ranks; i++)
        if (iter->rank[i].marks > iter->marks.count || iter->rank[i].called > iter->rank[i].marks)
            return false;
    return true;
}

/* Saves or loads the spikes of a rank's segments. */
static void archive_spikes(struct ana_archive *archive, struct ana_iter_rank *rank, const struct ana_why *why)
{
    void *spike = rank->spike;
    size_t n = rank->spikes;
    ana_archive_array(archive, &spike, &n, sizeof *rank->spike, ANA_ITER_SPIKES);
    rank->spike = spike;
    rank->spikes = (uint32_t)n;
    for (size_t i = 0; i < n && !archive->failed; i++)
        ana_archive_require(archive, rank->spike[i].segment && rank->spike[i].segment <= why->segments.count &&
                                         ana_archive_is_time(rank->spike[i].begin_ns) &&
                                         ana_archive_is_time(rank->spike[i].ns));
}

/* A time of one of the marks of a rank, as it is kept. */
struct row {
    uint64_t mark; /* number of the mark */
    struct ana_iter_entry entry;
};

/* Position of a mark's next entry: in the order of time, and of each mark in its own. */
struct order {
    int64_t after_ns;  /* the latest of the mark so far */
    uint32_t mark, at; /* number of the entry */
};

/* The marks of a rank with their kinds, for the caller to free.  NULL: out of memory, or not all are of that rank. */
static struct ana_iter_mark **marks_of(const struct ana_iter *iter, size_t index, size_t *n)
{
    struct ana_iter_mark **mark = NULL;
    size_t room = 0;
    bool are = ana_grow(&mark, *n = 0, &room, sizeof(*mark));
    for (uint32_t at = iter->rank[index].marks, kind; at && are; at = ana_iter_mark_at(iter, at)->before) {
        are = ana_iter_mark_at(iter, at)->index == index && ana_grow(&mark, *n, &room, sizeof(*mark));
        if (are)
            mark[(*n)++] = ana_iter_mark_at(iter, at);
        for (kind = ana_iter_place_at(iter, at)->kind; kind && are; kind = ana_iter_any_at(iter, kind)->before) {
            are = ana_map_key(&iter->kinds, (kind & ~ANA_ITER_KIND) - 1)[0] == at &&
                  ana_grow(&mark, *n, &room, sizeof(*mark));
            if (are)
                mark[(*n)++] = ana_iter_any_at(iter, kind);
        }
    }
    if (!are)
        free(mark);
    return are ? mark : NULL;
}

ANA_COMPARE(compare_order, struct order, ANA_ORDER(x->after_ns, y->after_ns), ANA_ORDER(x->mark, y->mark),
            ANA_ORDER(x->at, y->at))

/* Sorts the entries of marks by time: a place and its kinds have mostly equal entries, which are then side by side.
 * False: out of memory. */
static bool sort_rows(struct ana_iter_mark *const *mark, size_t marks, struct row *row, size_t rows)
{
    struct order *order = malloc((rows + 1) * sizeof *order);
    size_t n = 0;
    for (uint32_t m = 0; order && m < marks; m++) {
        int64_t after_ns = INT64_MIN;
        for (uint32_t i = 0; i < mark[m]->entries; i++) {
            int64_t end_ns = ana_iter_entry_at(mark[m], i).end_ns;
            after_ns = end_ns > after_ns ? end_ns : after_ns;
            order[n++] = (struct order){after_ns, m, i};
        }
    }
    if (order)
        ana_sort(order, n, sizeof *order, compare_order);
    for (size_t i = 0; i < n; i++)
        row[i] = (struct row){order[i].mark, ana_iter_entry_at(mark[order[i].mark], order[i].at)};
    free(order);
    return order;
}

/* The other way round. */
static void hand_out(struct ana_archive *archive, struct ana_iter_mark *const *mark, size_t marks,
                     const struct row *row, size_t rows)
{
    uint32_t *left = malloc((marks + 1) * sizeof *left); /* entries that each mark still gets */
    archive->failed |= !left;
    for (size_t m = 0; left && m < marks; m++) {
        left[m] = mark[m]->entries;
        mark[m]->entries = 0;
    }
    for (size_t i = 0; i < rows && !archive->failed; i++) {
        const struct ana_iter_entry *entry = &row[i].entry;
        bool sane = row[i].mark < marks && left[row[i].mark] > 0 && ana_archive_is_time(entry->end_ns) &&
                    ana_archive_is_time(entry->mpi_ns);
        if (!ana_archive_require(archive, sane))
            break;
        left[row[i].mark]--;
        archive->failed |= !ana_iter_entry_add(mark[row[i].mark], *entry);
    }
    for (size_t m = 0; left && m < marks; m++)
        ana_archive_require(archive, left[m] == 0);
    free(left);
}

/* The entries of all marks of a rank. */
static void archive_entries(struct ana_archive *archive, const struct ana_iter *iter, size_t index)
{
    size_t marks, rows = 0;
    struct ana_iter_mark **mark = marks_of(iter, index, &marks);
    for (size_t m = 0; mark && m < marks; m++)
        rows += mark[m]->entries;
    bool fits =
        ana_archive_require(archive, rows <= iter->room) && ana_archive_charge(archive, 2 * rows, sizeof(struct row));
    struct row *row = mark && fits ? malloc((rows + 1) * sizeof *row) : NULL;
    archive->failed |= !row;
    if (!archive->failed && !archive->loads)
        archive->failed |= !sort_rows(mark, marks, row, rows);
    if (!archive->failed)
        ana_archive_rows(archive, row, rows, sizeof *row, NULL);
    if (!archive->failed && archive->loads)
        hand_out(archive, mark, marks, row, rows);
    free(row);
    free(mark);
}

/* The longest periods, where they are not among the entries. */
static void archive_longest(struct ana_archive *archive, struct ana_iter_mark *mark)
{
    if (!ana_archive_require(archive, mark->entry || !mark->entries) || /* else it is of no rank */
        (mark->entries == mark->count && mark->entries <= ANA_ITER_FEW))
        return;
    if (archive->loads)
        mark->longest = calloc(ANA_ITER_LONGEST, sizeof *mark->longest);
    if (!mark->longest) {
        archive->failed = true;
        return;
    }
    ana_archive_rows(archive, mark->longest, ANA_ITER_LONGEST, sizeof *mark->longest, NULL);
    for (size_t i = 0; i < ANA_ITER_LONGEST && !archive->failed; i++)
        ana_archive_require(archive,
                            ana_archive_is_time(mark->longest[i].end_ns) && ana_archive_is_time(mark->longest[i].ns));
}

static void strip_rank(void *row)
{
    struct ana_iter_rank *rank = row;
    rank->calls = NULL; /* no more calls will come */
    rank->threads = 0;
    rank->spike = NULL;
    rank->spikes = 0;
}

void ana_iter_archive(struct ana_archive *archive, struct ana_iter *iter, const struct ana_why *why)
{
    ana_archive_rows(archive, iter->rank, iter->ranks, sizeof *iter->rank, strip_rank);
    ana_archive_map(archive, &iter->marks, strip_place);
    ana_archive_map(archive, &iter->kinds, strip_kind);
    if (!ana_archive_require(archive, are_linked(iter)))
        return;
    for (uint32_t i = 0; i < iter->marks.count && !archive->failed; i++)
        ana_archive_require(archive, is_sane(iter, why, ana_iter_mark_at(iter, i + 1)) &&
                                         is_place_sane(ana_iter_place_at(iter, i + 1)));
    for (uint32_t i = 0; i < iter->kinds.count && !archive->failed; i++)
        ana_archive_require(archive, is_sane(iter, why, &ana_iter_kind_at(iter, i + 1)->mark));
    for (size_t i = 0; i < iter->ranks && !archive->failed; i++) {
        archive_spikes(archive, &iter->rank[i], why);
        if (!archive->failed)
            archive_entries(archive, iter, i);
    }
    for (uint32_t i = 0; i < iter->marks.count && !archive->failed; i++)
        archive_longest(archive, ana_iter_mark_at(iter, i + 1));
    for (uint32_t i = 0; i < iter->kinds.count && !archive->failed; i++)
        archive_longest(archive, &ana_iter_kind_at(iter, i + 1)->mark);
}
