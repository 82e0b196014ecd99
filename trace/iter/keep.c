/* Marks, kept beside the trace. */
#include "trace/iter/iter.h"
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

#define MOST_CALLS (UINT64_C(1) << 48) /* of a mark: what is added to and multiplied stays in range */

/* Whether what is said of a mark can be so. */
static bool is_sane(const struct ana_iter *iter, const struct ana_why *why, const struct ana_iter_mark *mark)
{
    return mark->count <= MOST_CALLS && ana_keep_is_time(mark->first_ns) && ana_keep_is_time(mark->last_ns) &&
           mark->index < iter->ranks && mark->place && mark->place <= why->places.count && mark->stride &&
           mark->entries <= ANA_ITER_ENTRIES && mark->entries <= mark->count && ana_keep_is_bool(&mark->is_io) &&
           (mark->entries == 0) == (mark->count == 0) &&
           (mark->entries == 0 || (mark->entries - 1) * (uint64_t)mark->stride < mark->count);
}

static bool is_place_sane(const struct ana_iter_place *place)
{
    return ana_keep_is_bool(&place->is_mixed) && ana_keep_is_bool(&place->row[ANA_ITER_TURN].is_mixed) &&
           ana_keep_is_bool(&place->row[ANA_ITER_SIZE].is_mixed);
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

/* What took longer than usual in the segments of a rank. */
static void keep_spikes(struct ana_keep *keep, struct ana_iter_rank *rank, const struct ana_why *why)
{
    void *spike = rank->spike;
    size_t n = rank->spikes;
    ana_keep_array(keep, &spike, &n, sizeof *rank->spike, ANA_ITER_SPIKES);
    rank->spike = spike;
    rank->spikes = (uint32_t)n;
    for (size_t i = 0; i < n && !keep->failed; i++)
        ana_keep_holds(keep, rank->spike[i].segment && rank->spike[i].segment <= why->segments.count &&
                                 ana_keep_is_time(rank->spike[i].begin_ns) && ana_keep_is_time(rank->spike[i].ns));
}

static void keep_entries(struct ana_keep *keep, struct ana_iter_mark *mark)
{
    uint32_t n = mark->entries;
    struct ana_iter_entry *entry = calloc(n + 1, sizeof *entry);
    keep->failed |= !entry;
    for (uint32_t i = 0; entry && !keep->loads && i < n; i++)
        entry[i] = ana_iter_entry_at(mark, i);
    if (!keep->failed)
        ana_keep_rows(keep, entry, n, sizeof *entry, NULL);
    mark->entries = keep->loads ? 0 : n;
    for (uint32_t i = 0; i < n && !keep->failed; i++) {
        ana_keep_holds(keep, ana_keep_is_time(entry[i].end_ns) && ana_keep_is_time(entry[i].mpi_ns));
        keep->failed |= keep->loads && !ana_iter_entry_add(mark, entry[i]);
    }
    free(entry);
}

/* The longest periods, where they are not among the entries. */
static void keep_longest(struct ana_keep *keep, struct ana_iter_mark *mark)
{
    if (keep->failed || (mark->entries == mark->count && mark->entries <= ANA_ITER_FEW))
        return;
    if (keep->loads)
        mark->longest = calloc(ANA_ITER_LONGEST, sizeof *mark->longest);
    if (!mark->longest) {
        keep->failed = true;
        return;
    }
    ana_keep_rows(keep, mark->longest, ANA_ITER_LONGEST, sizeof *mark->longest, NULL);
    for (size_t i = 0; i < ANA_ITER_LONGEST && !keep->failed; i++)
        ana_keep_holds(keep, ana_keep_is_time(mark->longest[i].end_ns) && ana_keep_is_time(mark->longest[i].ns));
}

static void strip_rank(void *row)
{
    struct ana_iter_rank *rank = row;
    rank->calls = NULL; /* no more calls will come */
    rank->threads = 0;
    rank->spike = NULL;
    rank->spikes = 0;
}

void ana_iter_keep(struct ana_keep *keep, struct ana_iter *iter, const struct ana_why *why)
{
    ana_keep_rows(keep, iter->rank, iter->ranks, sizeof *iter->rank, strip_rank);
    ana_keep_map(keep, &iter->marks, strip_place);
    ana_keep_map(keep, &iter->kinds, strip_kind);
    if (!ana_keep_holds(keep, are_linked(iter)))
        return;
    for (size_t i = 0; i < iter->ranks && !keep->failed; i++)
        keep_spikes(keep, &iter->rank[i], why);
    for (uint32_t i = 0; i < iter->marks.count && !keep->failed; i++) {
        struct ana_iter_place *place = ana_iter_place_at(iter, i + 1);
        struct ana_iter_mark *mark = &place->mark;
        if (ana_keep_holds(keep, is_sane(iter, why, mark) && is_place_sane(place))) {
            keep_entries(keep, mark);
            keep_longest(keep, mark);
        }
    }
    for (uint32_t i = 0; i < iter->kinds.count && !keep->failed; i++) {
        struct ana_iter_mark *mark = &ana_iter_kind_at(iter, i + 1)->mark;
        if (ana_keep_holds(keep, is_sane(iter, why, mark))) {
            keep_entries(keep, mark);
            keep_longest(keep, mark);
        }
    }
}
