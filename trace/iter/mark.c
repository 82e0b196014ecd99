/* Marks: when each place of a rank was called, in bounded memory. */
#include "trace/iter/iter.h"
#include <stdlib.h>
#include <string.h>

#define LEAST_SPIKE_NS 1000

bool ana_iter_init(struct ana_iter *iter, size_t ranks)
{
    *iter = (struct ana_iter){.ranks = ranks, .rank = calloc(ranks + 1, sizeof *iter->rank), .room = ANA_ITER_ENTRIES};
    ana_map_init(&iter->marks, sizeof(struct ana_iter_place));
    ana_map_init(&iter->kinds, sizeof(struct ana_iter_kind));
    while (iter->room > ANA_ITER_LEAST && iter->room * ranks > ANA_ITER_ALL)
        iter->room /= 2;
    iter->recent_room = ranks > 1024 ? ANA_ITER_RECENT / 4 : ANA_ITER_RECENT;
    for (size_t i = 0; iter->rank && i < ranks; i++)
        iter->rank[i].floor_ns = LEAST_SPIKE_NS;
    return iter->rank;
}

static void free_mark(const struct ana_iter_mark *mark)
{
    free(mark->entry);
    free(mark->recent);
    free(mark->longest);
}

void ana_iter_free(struct ana_iter *iter)
{
    for (size_t i = 0; iter->rank && i < iter->ranks; i++) {
        free(iter->rank[i].calls);
        free(iter->rank[i].spike);
    }
    for (size_t i = 0; i < iter->marks.count; i++)
        free_mark(ana_iter_mark_at(iter, (uint32_t)i + 1));
    for (size_t i = 0; i < iter->kinds.count; i++)
        free_mark(&ana_iter_kind_at(iter, (uint32_t)i + 1)->mark);
    ana_map_free(&iter->marks);
    ana_map_free(&iter->kinds);
    free(iter->rank);
    *iter = (struct ana_iter){0};
}

/* ---- marks ------------------------------------------------------------------------------------------------------ */

/* The place that a rank's earlier calls from there have: a place has another number once its name is known. */
static uint32_t place_before(const struct ana_iter *iter, const struct ana_why *why, const struct ana_event *e,
                             const struct trc_file *file, uint32_t place)
{
    const struct ana_why_place *of = ana_map_value(&why->places, place - 1);
    const struct ana_why_place *unnamed =
        ana_map_find(&why->places, trc_site_innermost(file, e->sig->site), of->call, 0);
    uint32_t number = unnamed ? (uint32_t)(unnamed - (const struct ana_why_place *)why->places.values) + 1 : 0;
    return number && ana_map_find(&iter->marks, e->index, number, 0) ? number : place;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    return (h ^ h >> 31) * 0x94d049bb133111ebu;
}

uint32_t ana_iter_size(const struct ana_event *e, const struct trc_file *file)
{
    const uint32_t size = (uint32_t)mix(mix(e->sig->sent, e->sig->received), (uint32_t)e->sig->tag);
    const uint32_t callers = (uint32_t)mix(ana_why_callers(file, e->sig->site), 1);
    return size / ANA_ITER_CALLERS * ANA_ITER_CALLERS + callers % ANA_ITER_CALLERS;
}

void ana_iter_use(struct ana_iter *iter, struct ana_why *why, const struct ana_event *e, const struct trc_file *file)
{
    e->use->mark = 0;
    e->use->size = 0;
    if (!e->use->place || e->use->is_quiet)
        return;
    uint32_t place = place_before(iter, why, e, file, e->use->place);
    struct ana_iter_place *of = ana_map_find(&iter->marks, e->index, place, 0);
    if (!of) {
        if (ana_map_is_full(&iter->marks))
            ana_why_sync(why); /* marks move */
        of = ana_map_make(&iter->marks, e->index, place, 0);
    }
    if (!of)
        return; /* for want of memory its calls end no iteration */
    uint32_t number = (uint32_t)(of - (struct ana_iter_place *)iter->marks.values) + 1;
    e->use->mark = number;
    struct ana_iter_rank *rank = &iter->rank[e->index];
    if (!of->mark.place) {
        *of = (struct ana_iter_place){
            .symbol = mix(place, 1),
            .thread = e->thread,
            .mark = {.index = (uint32_t)e->index,
                     .place = place,
                     .stride = 1,
                     .floor_ns = INT64_MAX,
                     .before = rank->marks,
                     .is_io = trc_opclass_category(e->use->call->opclass) == TRC_CAT_IO,
                     .members = e->sig->flags & TRC_SIG_COLL && e->use->comm && e->use->comm->def.size > 0
                                    ? (uint32_t)e->use->comm->def.size
                                    : 0},
        };
        rank->marks = number;
    }
    e->use->size = ana_iter_size(e, file);
}

/* ---- the longest periods ---------------------------------------------------------------------------------------- */

/* Stores a period in place of the shortest that is kept; returns the length above which others are kept. */
static int64_t store_period(struct ana_iter_period *longest, uint64_t number, int64_t end_ns, int64_t ns)
{
    struct ana_iter_period *least = longest;
    for (size_t i = 1; i < ANA_ITER_LONGEST; i++)
        if (longest[i].ns < least->ns)
            least = &longest[i];
    *least = (struct ana_iter_period){number, end_ns, ns};
    int64_t floor_ns = ns;
    for (size_t i = 0; i < ANA_ITER_LONGEST; i++)
        if (longest[i].ns < floor_ns)
            floor_ns = longest[i].ns;
    return floor_ns;
}

/* Finds the longest periods among the entries, which are all calls so far; returns the length above which others are
 * kept. */
static int64_t find_longest(const struct ana_iter_mark *mark, struct ana_iter_period *longest)
{
    int64_t floor_ns = 0, before_ns = mark->entries ? ana_iter_entry_at(mark, 0).end_ns : 0;
    memset(longest, 0, ANA_ITER_LONGEST * sizeof *longest);
    for (uint32_t i = 1; i < mark->entries; i++) {
        int64_t end_ns = ana_iter_entry_at(mark, i).end_ns, ns = end_ns - before_ns;
        if (ns > floor_ns)
            floor_ns = store_period(longest, i, end_ns, ns);
        before_ns = end_ns;
    }
    return floor_ns;
}

const struct ana_iter_period *ana_iter_longest(const struct ana_iter_mark *mark, struct ana_iter_period *room)
{
    if (mark->longest)
        return mark->longest;
    memset(room, 0, ANA_ITER_LONGEST * sizeof *room);
    if (mark->entries == mark->count) /* else there was no memory for them */
        find_longest(mark, room);
    return room;
}

/* Stores them from now on, before an entry is missing; for want of memory not. */
static void begin_longest(struct ana_iter_mark *mark)
{
    if (mark->longest || !(mark->longest = malloc(ANA_ITER_LONGEST * sizeof *mark->longest)))
        return;
    mark->floor_ns = find_longest(mark, mark->longest);
}

/* ---- times ------------------------------------------------------------------------------------------------------ */

/* Forgets every second time of the mark of a rank that keeps most.  False: none keeps two. */
static bool thin_out(struct ana_iter *iter, struct ana_iter_rank *rank)
{
    struct ana_iter_mark *most = ana_iter_mark_at(iter, rank->called);
    for (uint32_t at = rank->called; at; at = ana_iter_mark_at(iter, at)->before) {
        struct ana_iter_mark *mark = ana_iter_mark_at(iter, at);
        most = mark->entries > most->entries ? mark : most;
        for (struct ana_iter_kind *k = ana_iter_kind_at(iter, ana_iter_place_at(iter, at)->kind); k;
             k = ana_iter_kind_at(iter, k->mark.before))
            most = k->mark.entries > most->entries ? &k->mark : most;
    }
    if (most->entries < 2)
        return false;
    begin_longest(most);
    rank->entries -= most->entries / 2;
    ana_iter_entries_halve(most);
    most->stride *= 2;
    most->next = (uint64_t)most->entries * most->stride;
    return true;
}

/* Stores the end of a call, whose number is mark->next. */
static inline void store_end(struct ana_iter *iter, struct ana_iter_rank *rank, struct ana_iter_mark *mark,
                             const struct ana_run_fact *fact)
{
    bool room = rank->entries < iter->room || thin_out(iter, rank);
    if (mark->count != mark->next)
        return; /* it was this one that forgot */
    if (mark->entries == ANA_ITER_FEW)
        begin_longest(mark);
    if (!room || !ana_iter_entry_add(mark, (struct ana_iter_entry){fact->call.end_ns, rank->mpi_ns})) {
        begin_longest(mark);
        mark->next = UINT64_MAX;
        return;
    }
    rank->entries++;
    mark->next += mark->stride;
}

/* Stores it, and the period before it, if that is among the longest but was not read yet. */
static __attribute__((noinline)) void note_call(struct ana_iter *iter, struct ana_iter_mark *mark,
                                                const struct ana_run_fact *fact, int64_t period_ns)
{
    bool asked = mark->longest;
    store_end(iter, &iter->rank[fact->index], mark, fact);
    if (!asked && mark->longest && mark->count && period_ns > mark->floor_ns)
        mark->floor_ns = store_period(mark->longest, mark->count, fact->call.end_ns, period_ns);
}

void ana_iter_watch(struct ana_iter *iter, struct ana_iter_mark *mark)
{
    if (mark->recent)
        return;
    mark->recent = calloc(iter->recent_room, sizeof *mark->recent);
    mark->recent_from = mark->count;
}

/* Adds a call to a mark, or to one of its kinds. */
static inline void add_call(struct ana_iter *iter, struct ana_iter_mark *mark, const struct ana_run_fact *fact)
{
    int64_t period_ns = fact->call.end_ns - mark->last_ns;
    mark->last_ns = fact->call.end_ns;
    if (__builtin_expect(period_ns > mark->floor_ns, 0))
        mark->floor_ns = store_period(mark->longest, mark->count, fact->call.end_ns, period_ns);
    if (__builtin_expect(mark->count == mark->next, 0)) {
        if (mark->count == 0)
            mark->first_ns = fact->call.begin_ns;
        note_call(iter, mark, fact, period_ns);
    }
    if (__builtin_expect(mark->recent != NULL, 0))
        mark->recent[mark->count & (iter->recent_room - 1)] =
            (struct ana_iter_entry){fact->call.end_ns, iter->rank[mark->index].mpi_ns};
    mark->count++;
}

/* ---- kinds of calls --------------------------------------------------------------------------------------------- */

/* A vote against what a number mostly is. */
static __attribute__((noinline)) void vote_against(struct ana_iter_usual *usual, uint64_t value)
{
    if (usual->votes) {
        usual->votes--;
        usual->against++;
        return;
    }
    usual->value = value;
    usual->votes++;
}

/* The vote of Boyer and Moore ("MJRTY", 1981). */
static inline void vote(struct ana_iter_usual *usual, uint64_t value)
{
    if (__builtin_expect(value == usual->value, 1))
        usual->votes++;
    else
        vote_against(usual, value);
}

/* The places that a rank has called since a time. */
static uint64_t called_since(const struct ana_iter *iter, size_t index, int64_t since_ns)
{
    uint64_t called = 0;
    for (uint32_t at = iter->rank[index].called; at; at = ana_iter_mark_at(iter, at)->before)
        if (ana_iter_mark_at(iter, at)->last_ns > since_ns)
            called |= ana_iter_bit(ana_iter_mark_at(iter, at)->place);
    return called;
}

static struct ana_iter_kind *kind_of(struct ana_iter *iter, struct ana_iter_place *place, enum ana_iter_sort sort,
                                     uint64_t key, int64_t before_ns)
{
    const struct ana_iter_mark *mark = &place->mark;
    uint32_t number = (uint32_t)(place - (struct ana_iter_place *)iter->marks.values) + 1;
    struct ana_iter_kind *kind = ana_map_find(&iter->kinds, number, key, sort);
    if (kind)
        return kind;
    key = place->row[sort].kinds < ANA_ITER_KINDS ? key : 0;
    kind = ana_map_add(&iter->kinds, number, key, sort);
    if (!kind || kind->mark.place)
        return kind;
    *kind = (struct ana_iter_kind){.mark = {.index = mark->index,
                                            .place = mark->place,
                                            .stride = 1,
                                            .floor_ns = INT64_MAX,
                                            .before = place->kind,
                                            .members = mark->members,
                                            .is_io = mark->is_io},
                                   .key = key,
                                   .symbol = mix(key, 2),
                                   .sort = sort,
                                   .after = called_since(iter, mark->index, before_ns)};
    place->kind = (uint32_t)iter->kinds.count | ANA_ITER_KIND;
    place->row[sort].kinds++;
    return kind;
}

/* Begins a row of a kind that did not come after the one before the last time, `last`; NULL: there is none before, or
 * no memory. */
static __attribute__((noinline)) struct ana_iter_kind *other_kind(struct ana_iter *iter, struct ana_iter_place *place,
                                                                  enum ana_iter_sort sort, uint64_t key,
                                                                  int64_t before_ns)
{
    struct ana_iter_row *row = &place->row[sort];
    uint32_t before = row->last;
    struct ana_iter_kind *kind = kind_of(iter, place, sort, key, before_ns);
    if (!kind)
        return NULL;
    row->last = (uint32_t)(kind - (struct ana_iter_kind *)iter->kinds.values + 1) | ANA_ITER_KIND;
    if (before)
        ana_iter_kind_at(iter, before)->next = row->last;
    return kind;
}

/* Begins a row of a kind; ends the one before. */
static inline void begin_row(struct ana_iter *iter, struct ana_iter_place *place, const struct ana_run_fact *fact,
                             enum ana_iter_sort sort, uint64_t key, int64_t before_ns)
{
    const struct ana_iter_mark *mark = &place->mark;
    struct ana_iter_row *row = &place->row[sort];
    struct ana_iter_kind *last = ana_iter_kind_at(iter, row->last), *kind = NULL;
    uint64_t count = mark->count;
    if (__builtin_expect(last != NULL, 1)) {
        vote(&last->row, count - last->at);
        last->calls += count - last->at;
        kind = ana_iter_kind_at(iter, last->next);
    }
    if (__builtin_expect(kind && kind->key == key, 1))
        row->last = last->next;
    else if (!(kind = other_kind(iter, place, sort, key, before_ns)))
        return;
    uint64_t changes = row->changes += kind->symbol;
    if (__builtin_expect(kind->mark.count != 0, 1)) {
        vote(&kind->changed, changes - kind->changes);
        vote(&kind->gap, count - kind->at);
    }
    kind->changes = changes;
    kind->at = count;
    add_call(iter, &kind->mark, fact);
    if (__builtin_expect(!kind->key, 0)) {
        row->is_mixed = kind->mark.count > ANA_ITER_KINDS && kind->mark.count * 2 > count;
        place->is_mixed = place->row[ANA_ITER_TURN].is_mixed && place->row[ANA_ITER_SIZE].is_mixed;
    }
}

/* Adds a call at a place that is not like the one before it, which ended at `before_ns`; its number is mark.count -
 * 1.  So written that begin_row is there once, and inlined. */
static inline void change_kind(struct ana_iter *iter, struct ana_iter_place *place, const struct ana_run_fact *fact,
                               uint64_t turn, int64_t before_ns)
{
    bool turns = turn != place->turn, sizes = fact->call.size != place->size;
    place->turn = turn;
    place->size = fact->call.size;
    if (__builtin_expect(place->mark.count == 1, 0)) /* nothing was before it */
        return;
    enum ana_iter_sort sort = turns ? ANA_ITER_TURN : ANA_ITER_SIZE;
    uint64_t key = turns ? turn : fact->call.size;
    for (bool more = turns && sizes;; more = false) {
        if (!place->row[sort].is_mixed)
            begin_row(iter, place, fact, sort, key, before_ns);
        if (!more)
            break;
        sort = ANA_ITER_SIZE;
        key = fact->call.size;
    }
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* Returns the hash sum of all calls of a thread so far, with this one; for want of memory, 0. */
static uint64_t count_call(struct ana_iter_rank *rank, uint32_t thread, uint64_t symbol)
{
    if (__builtin_expect(thread >= rank->threads, 0)) {
        uint64_t *calls = realloc(rank->calls, (thread + 1) * sizeof *calls);
        if (!calls)
            return 0;
        memset(calls + rank->threads, 0, (thread + 1 - rank->threads) * sizeof *calls);
        rank->calls = calls;
        rank->threads = thread + 1;
    }
    return rank->calls[thread] += symbol;
}

void ana_iter_consume(void *user, const void *items, size_t n)
{
    struct ana_iter *iter = user;
    const struct ana_run_fact *fact = items;
    for (const struct ana_run_fact *stop = fact + n; fact < stop; fact++) {
        if (fact->kind != ANA_RUN_CALL && fact->kind != ANA_RUN_MARK)
            continue;
        struct ana_iter_rank *rank = &iter->rank[fact->index];
        rank->mpi_ns = ana_plus(rank->mpi_ns, fact->call.end_ns - fact->call.begin_ns);
        if (__builtin_expect(!fact->call.mark, 0))
            continue;
        struct ana_iter_place *place = ana_iter_place_at(iter, fact->call.mark);
        uint64_t calls = count_call(rank, fact->thread, place->symbol);
        if (__builtin_expect(fact->call.mark > rank->called, 0))
            rank->called = fact->call.mark;
        if (__builtin_expect(place->thread != fact->thread, 0))
            continue;
        int64_t before_ns = place->mark.last_ns;
        add_call(iter, &place->mark, fact);
        uint64_t turn = calls - place->calls;
        place->calls = calls;
        if (__builtin_expect((turn != place->turn || fact->call.size != place->size) && !place->is_mixed, 0))
            change_kind(iter, place, fact, turn, before_ns);
    }
}

void ana_iter_emit(struct ana_why *why, const struct ana_event *e)
{
    bool is_call = !e->use->is_quiet && e->kind == TRC_RECORD_EVENT;
    int64_t busy_ns = e->kind == TRC_RECORD_FOLD ? e->busy_ns : e->end_ns - e->begin_ns;
    if (e->use->is_sub)
        return;
    struct ana_run_fact *fact = ana_why_emit(why, ANA_RUN_MARK, e->index);
    fact->thread = (uint16_t)e->thread;
    fact->call.begin_ns = is_call ? e->begin_ns : ana_plus(e->end_ns, -busy_ns); /* any time in damaged files */
    fact->call.end_ns = e->end_ns;
    fact->call.mark = is_call && e->thread <= UINT16_MAX ? e->use->mark : 0;
    fact->call.size = e->use->size;
}

/* ---- spikes ----------------------------------------------------------------------------------------------------- */

/* Returns room for one more spike; when full, the room of the least; NULL: out of memory. */
static struct ana_iter_spike *spike_room(struct ana_iter_rank *rank)
{
    if (rank->spikes == ANA_ITER_SPIKES) {
        struct ana_iter_spike *least = rank->spike;
        for (size_t i = 1; i < ANA_ITER_SPIKES; i++)
            if (rank->spike[i].excess_ns < least->excess_ns)
                least = &rank->spike[i];
        return least;
    }
    if (rank->spikes % 4 == 0) {
        struct ana_iter_spike *moved = realloc(rank->spike, (rank->spikes + 4) * sizeof *moved);
        if (!moved)
            return NULL;
        rank->spike = moved;
        memset(moved + rank->spikes, 0, 4 * sizeof *moved); /* padding is kept, too */
    }
    return &rank->spike[rank->spikes++];
}

void ana_iter_spike(struct ana_iter *iter, const struct ana_event *e, struct ana_why_gap gap)
{
    struct ana_iter_rank *rank = &iter->rank[e->index];
    const struct ana_segment *segment = gap.segment;
    if (segment->count < 2 || !segment->from)
        return;
    int64_t excess_ns = gap.ns - (segment->total_ns - gap.ns) / (int64_t)(segment->count - 1);
    struct ana_iter_spike *spike = excess_ns > rank->floor_ns ? spike_room(rank) : NULL;
    if (!spike)
        return;
    spike->begin_ns = e->begin_ns - gap.ns;
    spike->ns = gap.ns;
    spike->excess_ns = excess_ns;
    spike->segment = e->use->segment;
    if (rank->spikes < ANA_ITER_SPIKES)
        return;
    rank->floor_ns = excess_ns;
    for (size_t i = 0; i < ANA_ITER_SPIKES; i++)
        if (rank->spike[i].excess_ns < rank->floor_ns)
            rank->floor_ns = rank->spike[i].excess_ns;
}
