/* Segments: what threads do between their calls. */
#include "trace/account/account.h"
#include "trace/reader/reader.h"
#include "trace/util/hash.h"
#include "trace/why/emit.h"
#include "trace/util/grow.h"
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 65536u

bool ana_why_init(struct ana_why *why, size_t ranks, bool causes, struct ana_thread_pool *thread_pool)
{
    *why = (struct ana_why){
        .ranks = ranks, .counted = {INT64_MIN, INT64_MAX}, .rank = calloc(ranks + 1, sizeof *why->rank)};
    ana_map_init(&why->segments, sizeof(struct ana_segment));
    ana_map_init(&why->places, sizeof(struct ana_why_place));
    ana_map_init(&why->segment_kinds, sizeof(uint32_t));
    bool ok = why->rank && ana_why_calls_init(&why->calls, ranks, ana_steps_room(ranks));
    if (ok && causes)
        why->causes = ana_causes_new(ranks, thread_pool);
    if (ok && (why->causes || !causes))
        return true;
    ana_why_free(why);
    return false;
}

static void free_segment(struct ana_segment *segment)
{
    ana_counts_free(&segment->counts);
    free(segment->usage);
}

void ana_why_free(struct ana_why *why)
{
    ana_causes_free(why->causes);
    for (size_t i = 0; i < why->segments.count; i++)
        free_segment(ana_map_value(&why->segments, i));
    for (size_t i = 0; why->rank && i < why->ranks; i++) {
        free(why->rank[i].thread);
        ana_usage_free(why->rank[i].usage);
    }
    ana_map_free(&why->segments);
    ana_map_free(&why->places);
    ana_map_free(&why->segment_kinds);
    ana_why_calls_free(&why->calls);
    free(why->rank);
    *why = (struct ana_why){0};
}

/* ---- places ----------------------------------------------------------------------------------------------------- */

/* The value of a key, + 1, made if there is none yet: 0: out of memory. */
static uint32_t number_of(struct ana_why *why, struct ana_map *map, uint64_t a, uint64_t b, uint64_t c)
{
    char *value = ana_map_add(map, a, b, c);
    why->out_of_memory |= !value;
    return value ? (uint32_t)((size_t)(value - (char *)map->values) / map->value_size) + 1 : 0;
}

uint64_t ana_why_callers(const struct trc_file *file, uint64_t site)
{
    const struct trc_path *path = trc_path_of(file, site);
    uint64_t hash = 0;
    for (uint32_t i = 0; path && i < path->n; i++) {
        const char *function, *module;
        trc_site(file, path->site[i], &function, &module);
        hash = hash * 0x9e3779b97f4a7c15u + (module ? ana_hash_text(module) : 0);
    }
    return hash;
}

void ana_why_use(struct ana_why *why, const struct ana_event *e, uint32_t call, const struct trc_file *file)
{
    const char *function, *module;
    trc_site(file, e->sig->site, &function, &module);
    uint64_t where = module ? ana_hash_text(module) : trc_site_innermost(file, e->sig->site);
    bool full = why->places.count >= ANA_PLACES && !ana_map_find(&why->places, where, call, module != NULL);
    uint32_t number =
        full ? number_of(why, &why->places, 0, 0, 0) : number_of(why, &why->places, where, call, module != NULL);
    struct ana_why_place *place = number ? ana_map_value(&why->places, number - 1) : NULL;
    if (place && !place->address) {
        *place = (struct ana_why_place){.index = (uint32_t)e->index,
                                        .call = call,
                                        .address = e->sig->site,
                                        .ends = e->use->call->opclass == TRC_OP_FINALIZE};
        ana_why_emit_place(why, number, e->use->call->opclass);
    }
    e->use->place = number;
    e->use->from = e->use->region = e->use->segment = 0;
    const bool alone = !(e->sig->flags & TRC_SIG_COLL) || (e->use->comm && e->use->comm->def.size == 1);
    e->use->is_local = alone && ana_account_is_local(e->use->call->opclass);
    e->use->is_quiet = e->sig->flags & (TRC_SIG_POLL | TRC_SIG_CONTROL);
}

/* ---- segments --------------------------------------------------------------------------------------------------- */

uint32_t ana_why_segment(struct ana_why *why, const struct ana_event *e, const struct ana_why_thread *thread)
{
    struct ana_why_rank *rank = &why->rank[e->index];
    uint32_t from = thread->place, to = e->use->place, region = thread->region;
    uint64_t key = (uint64_t)from << 32 | to;
    if (!to)
        return 0;
    if (rank->segments >= ANA_SEGMENTS_OF_RANK && !ana_map_find(&why->segments, e->index, key, region))
        key = from = to = region = 0;
    uint32_t number = number_of(why, &why->segments, e->index, key, region);
    struct ana_segment *segment = number ? ana_segment_at(why, number) : NULL;
    if (!segment || segment->segment_kind)
        return number;
    segment->index = (uint32_t)e->index;
    segment->from = from;
    segment->to = to;
    segment->region = region;
    segment->segment_kind = number_of(why, &why->segment_kinds, key, region, 0);
    segment->longest_ns = -1;
    ana_why_emit_segment(why, number, segment);
    segment->is_spread = why->spread < ANA_SEGMENTS_SPREAD;
    why->spread += segment->is_spread;
    rank->segments++;
    return number;
}

void ana_why_inside(struct ana_why *why, const struct ana_event *e)
{
    const struct ana_why_thread inside = {.place = e->use->place, .region = ANA_INSIDE};
    const uint32_t number = e->use->is_out ? 0 : ana_why_segment(why, e, &inside);
    struct ana_segment *segment = number ? ana_segment_at(why, number) : NULL;
    if (segment && segment->region == ANA_INSIDE && !ana_segment_add(segment, e->end_ns - e->begin_ns, e->end_ns))
        why->out_of_memory = true;
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

/* The thread of an event; NULL: there is no room for it. */
static struct ana_why_thread *thread_of(struct ana_why *why, size_t index, uint32_t thread)
{
    struct ana_why_rank *rank = &why->rank[index];
    if (thread < rank->threads)
        return &rank->thread[thread];
    uint32_t i = rank->threads;
    if (thread < MOST_THREADS)
        rank->threads = (uint32_t)ana_lengthen(&rank->thread, i, thread + 1u, sizeof *rank->thread);
    for (; i < rank->threads; i++)
        rank->thread[i].spins_ns = rank->thread[i].spanned_ns = INT64_MIN;
    why->out_of_memory |= thread >= rank->threads;
    return thread < rank->threads ? &rank->thread[thread] : NULL;
}

void ana_why_gap(struct ana_why *why, size_t index, uint32_t thread)
{
    struct ana_why_thread *of = thread < why->rank[index].threads ? &why->rank[index].thread[thread] : NULL;
    if (!of)
        return;
    of->place = of->step = 0;
    of->has_gap = true;
}

void ana_why_end_gap(struct ana_why *why, const struct ana_event *e, struct ana_why_thread *thread)
{
    struct ana_why_rank *rank = &why->rank[e->index];
    thread->has_gap = false;
    if (e->thread == ANA_MAIN_THREAD && e->begin_ns > thread->end_ns)
        rank->unknown_ns = ana_plus(rank->unknown_ns, e->begin_ns - thread->end_ns);
}

/* Polls do not end what the thread does.  Where they come so close that nothing is done between, it waits. */
static void add_polls(struct ana_why_thread *thread, const struct ana_event *e)
{
    int64_t whole = e->end_ns - e->begin_ns, busy = e->kind == TRC_RECORD_FOLD ? e->busy_ns : whole;
    busy = busy < whole ? busy : whole;
    thread->calls_ns = ana_plus(thread->calls_ns, busy);
    bool spins = e->kind == TRC_RECORD_FOLD && e->count > 1 && whole - busy < ana_product(ANA_SPIN_NS, e->count);
    thread->polled_ns = ana_earlier(ana_plus(thread->polled_ns, spins ? whole : busy), INT64_MAX / 4);
    if (spins && thread->spins_ns == INT64_MIN) {
        thread->spins_ns = e->begin_ns;
        thread->spun_ns = 0;
    }
    if (spins)
        thread->spun_ns = ana_plus(thread->spun_ns, busy);
    else
        thread->spins_ns = INT64_MIN;
}

void ana_why_other(struct ana_why *why, struct ana_event *e, enum ana_run_fact_kind kind)
{
    struct ana_why_thread *thread = thread_of(why, e->index, e->thread);
    e->step = 0;
    if (!thread)
        return;
    if (e->sig->flags & TRC_SIG_CONTROL) {
        thread->place = thread->step = 0;
        thread->loops = true;
    } else if (e->use->is_quiet || e->kind == TRC_RECORD_FOLD) {
        add_polls(thread, e);
    } else {
        ana_why_event(why, e, kind);
    }
}

/* ---- a part of the time ------------------------------------------------------------------------------------------ */

static int64_t clip(int64_t ns, int64_t begin_ns, int64_t end_ns)
{
    return ns < begin_ns ? begin_ns : ana_earlier(ns, end_ns);
}

void ana_why_enter(struct ana_why *why, size_t index, uint32_t number)
{
    struct ana_why_thread *thread = thread_of(why, index, number);
    if (!thread || !thread->place || thread->step || !why->causes)
        return;
    struct ana_use use = {.place = thread->place};
    struct ana_event call = {
        .index = index, .thread = number, .begin_ns = thread->end_ns, .end_ns = thread->end_ns, .use = &use};
    struct ana_why_thread before = {.end_ns = thread->end_ns, .spins_ns = INT64_MIN};
    thread->step = ana_why_step(why, &call, &before, 0, ANA_RUN_STEP, why->pipeline);
}

void ana_why_at_edge(struct ana_why *why, struct ana_event *e, int64_t begin_ns, int64_t end_ns)
{
    struct ana_why_thread *thread = thread_of(why, e->index, e->thread);
    e->step = 0;
    if (!thread || e->use->is_quiet || e->kind != TRC_RECORD_EVENT || (e->sig->flags & TRC_SIG_CONTROL))
        return;
    if (e->end_ns <= begin_ns) {
        if (!e->use->is_sub) {
            ana_why_left(thread, begin_ns, e->use->place);
            thread->step = 0;
        }
        return;
    }
    bool first_after = thread->place && thread->end_ns < end_ns;
    if (e->begin_ns <= begin_ns) {
        if (!e->use->is_sub)
            thread->place = thread->step = 0; /* time before it lies outside */
    } else if ((e->use->is_sub && thread->step) || e->begin_ns < end_ns || first_after) {
        ana_why_enter(why, e->index, e->thread);
    } else {
        return;
    }
    struct ana_event part = *e;
    part.begin_ns = clip(e->begin_ns, begin_ns, end_ns);
    part.end_ns = clip(e->end_ns, begin_ns, end_ns);
    ana_why_event(why, &part, ANA_RUN_STEP);
    e->step = part.step;
}
