/* Portions: what the time of each rank went into, iteration by iteration. */
#include "trace/diff/portions.h"
#include "trace/job/comms.h"
#include "trace/diff/portion_usage.h"
#include "trace/summary/places.h"
#include "trace/util/hash.h"
#include "trace/util/grow.h"
#include <stdlib.h>

#define FEW 512 /* events that are taken at once */

/* A rank on its way through the events. */
struct lane {
    uint64_t ends;             /* calls that end iterations, so far */
    struct ana_iter_again end; /* calls that end iterations; none: the iterations of the first rank with some apply */
    struct ana_portion_usage usage;
};

struct reader {
    struct ana_job *job;
    struct ana_why why;
    struct ana_regions regions;
    struct ana_map
        numbers;          /* uint32_t, the place, by hash of the module or else address, call, whether it is a module */
    struct ana_map names; /* uint32_t, the region + 1, by hash of its name */
    struct ana_map marks; /* uint32_t, the mark of the pass over all events, by index and place */
    uint32_t *place;      /* place of `why` -> place here, 0: not looked up yet */
    size_t places;
    struct lane *lane;
    size_t first; /* rank that makes calls which end iterations; SIZE_MAX: none does */
    struct ana_portions *out;
    bool failed;
};

/* ---- places ----------------------------------------------------------------------------------------------------- */

/* The names of a place of a pass. */
static struct ana_portion_place names_of(const struct ana_job *job, const struct ana_why *why, uint32_t place)
{
    const struct ana_members *members = ana_job_members(job);
    const struct ana_why_place *of = ana_map_value(&why->places, place - 1);
    struct ana_portion_place names = {.call = members->call[of->call].name};
    trc_site(members->process[of->index].rank.file, of->address, &names.function, &names.module);
    return names;
}

/* The key of a place of a pass in `numbers`. */
static uint64_t key_of(const struct ana_job *job, const struct ana_why_place *of, const char *module)
{
    return module ? ana_hash_text(module)
                  : trc_site_address(ana_job_members(job)->process[of->index].rank.file, of->address);
}

bool ana_portion_places(const struct ana_job *job, struct ana_portion_place **out, size_t *n)
{
    const struct ana_why *why = &ana_job_analysis(job)->pass.why;
    uint32_t *place = calloc(why->places.count + 1, sizeof *place);
    *n = why->places.count;
    *out = calloc(*n + 1, sizeof **out);
    bool ok = place && *out && ana_places_join(job, why, false, place);
    for (size_t i = 0; ok && i < *n; i++)
        if (place[i] == i + 1) {
            (*out)[i] = names_of(job, why, place[i]);
            ana_segment_end_of(job, why, place[i], &(*out)[i].at);
        }
    free(place);
    if (!ok) {
        free(*out);
        *out = NULL;
    }
    return ok;
}

/* Assigns to the places of all events their numbers and marks in the pass over all events, and finds the ranks with
 * calls that end iterations. */
static bool number_places(struct reader *r, struct ana_portion_end end)
{
    const struct ana_analysis *analysis = ana_job_analysis(r->job);
    const struct ana_why *why = &analysis->pass.why;
    uint32_t *place = calloc(why->places.count + 1, sizeof *place);
    bool ok = place && ana_places_join(r->job, why, false, place);
    for (size_t i = 0; ok && i < why->places.count; i++) {
        const struct ana_why_place *of = ana_map_value(&why->places, i);
        const char *module = names_of(r->job, why, (uint32_t)i + 1).module;
        uint32_t *number = ana_map_add(&r->numbers, key_of(r->job, of, module), of->call, module != NULL);
        ok = number;
        if (ok)
            *number = place[i];
    }
    for (size_t i = 0; ok && i < analysis->iter.marks.count; i++) {
        const struct ana_iter_mark *mark = ana_iter_mark_at(&analysis->iter, (uint32_t)i + 1);
        uint32_t *number = ana_map_add(&r->marks, mark->index, place[mark->place - 1], 0);
        ok = number;
        if (ok && !*number) {
            *number = (uint32_t)i + 1;
            if (end.place && !end.mark && mark->count && place[mark->place - 1] == end.place)
                r->lane[mark->index].end = ana_iter_again(&analysis->iter, *number);
        }
    }
    for (size_t i = 0; ok && i < r->out->ranks; i++) {
        if (end.mark && end.mark[i].mark)
            r->lane[i].end = ana_iter_again(&analysis->iter, end.mark[i].mark);
        if (r->lane[i].end.mark && r->first == SIZE_MAX)
            r->first = i;
    }
    free(place);
    return ok;
}

/* The number of a place of this pass. */
static uint32_t place_of(struct reader *r, uint32_t own)
{
    if (own > r->places) {
        r->places = ana_lengthen(&r->place, r->places, r->why.places.count, sizeof *r->place);
        if ((r->failed |= own > r->places))
            return 0;
    }
    uint32_t *place = &r->place[own - 1];
    if (!*place) {
        const struct ana_why_place *of = ana_map_value(&r->why.places, own - 1);
        const char *module = names_of(r->job, &r->why, own).module;
        const uint32_t *number = ana_map_find(&r->numbers, key_of(r->job, of, module), of->call, module != NULL);
        *place = number ? *number : 0;
    }
    return *place;
}

/* Copies the names of the regions that were met.  False: out of memory. */
static bool copy_regions(struct reader *r)
{
    struct ana_portions *out = r->out;
    out->regions = r->regions.names.count;
    out->region = calloc(out->regions + 1, sizeof *out->region);
    for (size_t i = 0; out->region && i < out->regions; i++)
        out->region[i] = *(const struct ana_region_name *)ana_map_value(&r->regions.names, i);
    return out->region;
}

/* ---- times ------------------------------------------------------------------------------------------------------ */

/* Joins neighbours, so that there is room for twice as many iterations. */
static void fold_blocks(struct ana_portions *out)
{
    out->width *= 2;
    for (size_t i = 0; i < out->portion.count; i++) {
        struct ana_portion *p = ana_map_value(&out->portion, i);
        for (uint32_t b = 0; b < p->blocks; b++)
            if (b % 2)
                p->ns[b / 2].sum += p->ns[b].sum;
            else
                p->ns[b / 2] = p->ns[b];
        p->blocks = (p->blocks + 1) / 2;
    }
}

/* Makes room for a block of a portion.  False: out of memory. */
static bool grow_blocks(struct ana_portion *p, uint32_t block)
{
    p->room = (uint32_t)ana_lengthen(&p->ns, p->room, block + 1, sizeof *p->ns);
    if (block >= p->room)
        return false;
    while (p->blocks <= block)
        p->ns[p->blocks++] = (struct ana_portion_time){0, 0};
    return true;
}

/* Adds a time to the portion of a rank that this names, in an iteration that counts from 1; 0: in none. */
static void add_time(struct reader *r, const struct ana_portion *name, uint64_t iteration, double ns)
{
    struct ana_portions *out = r->out;
    if (!(ns > 0))
        return; /* clocks */
    struct ana_portion *p = ana_map_add(&out->portion, (uint64_t)name->index << 32 | name->region,
                                        (uint64_t)name->from << 32 | name->to, name->kind);
    r->failed |= !p;
    if (!p)
        return;
    if (!(p->total_ns > 0))
        *p = *name;
    p->total_ns += ns;
    if (!iteration)
        return;
    while ((iteration - 1) / out->width >= out->room)
        fold_blocks(out);
    uint32_t block = (uint32_t)((iteration - 1) / out->width);
    if (!grow_blocks(p, block)) {
        r->failed = true;
        return;
    }
    p->ns[block].sum += (float)ns;
    if ((iteration - 1) % out->width == 0)
        p->ns[block].first += (float)ns;
}

static bool add_usage(void *data, size_t index, enum ana_portion_kind kind, uint64_t iteration, double ns)
{
    struct reader *r = data;
    add_time(r, &(struct ana_portion){.kind = kind, .index = (uint32_t)index}, iteration, ns);
    return !r->failed;
}

/* Ends an iteration of a rank. */
static void next_iteration(struct reader *r, size_t index, int64_t end_ns)
{
    struct lane *lane = &r->lane[index];
    struct ana_portion_rank *rank = &r->out->rank[index];
    if (lane->ends) {
        rank->iterations = lane->ends;
        add_time(r, &(struct ana_portion){.kind = ANA_PORTION_ITERATION, .index = (uint32_t)index}, lane->ends,
                 (double)(end_ns - rank->last_ns));
    } else {
        rank->first_ns = end_ns;
    }
    lane->ends++;
    rank->last_ns = end_ns;
}

/* Adds an event that ends an iteration. */
static void end_iteration(struct reader *r, const struct ana_event *e)
{
    next_iteration(r, e->index, e->end_ns);
    for (size_t i = 0; e->index == r->first && i < ana_job_ranks(r->job); i++)
        if (!r->lane[i].end.mark)
            next_iteration(r, i, e->end_ns);
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

/* Looks up what all events of a signature share. */
static void look_up(struct reader *r, const struct ana_event *e)
{
    const struct trc_file *file = ana_job_members(r->job)->process[e->index].rank.file;
    ana_why_use(&r->why, e, ana_call_number_of(ana_job_members(r->job), e->index, e->sig->call), file);
    const uint32_t *mark = e->use->place ? ana_map_find(&r->marks, e->index, place_of(r, e->use->place), 0) : NULL;
    e->use->mark = mark ? *mark : 0;
    e->use->size = ana_iter_size(e, file);
}

/* Whether an event is one of the program's own time; takes losses and regions itself. */
static bool is_counted(struct reader *r, const struct ana_event *e)
{
    if (e->kind >= TRC_RECORD_LOST) {
        ana_regions_item(&r->regions, e);
        if (e->kind == TRC_RECORD_LOST)
            ana_why_gap(&r->why, e->index, e->thread);
        return false;
    }
    bool sane = e->begin_ns >= -ANA_TIME_LIMIT && e->end_ns <= ANA_TIME_LIMIT && e->begin_ns <= e->end_ns;
    struct ana_use *use = e->use;
    if (!sane || !use)
        return false;
    if (use->kind == ANA_USE_NEW) {
        bool left_out = e->sig->flags & TRC_SIG_NESTED || trc_opclass_is_device(e->use->call->opclass);
        use->kind = left_out ? ANA_USE_LEFT_OUT : ANA_USE_COUNTS;
        use->is_sub = e->sig->flags & TRC_SIG_SUB;
        if (!left_out)
            look_up(r, e);
    }
    return use->kind == ANA_USE_COUNTS && !use->is_sub;
}

/* Adds the time of the main thread until the end of a call. */
static void add_elapsed(struct reader *r, const struct ana_event *e)
{
    struct lane *lane = &r->lane[e->index];
    struct ana_portion_usage *usage = &lane->usage;
    const int64_t busy_ns = e->kind == TRC_RECORD_FOLD ? e->busy_ns : e->end_ns - e->begin_ns;
    const int64_t last_ns = usage->at_ns;
    bool ok = ana_portion_usage_add(usage, e->begin_ns, true, lane->ends, add_usage, r) &&
              ana_portion_usage_add(usage, e->begin_ns + busy_ns, false, lane->ends, add_usage, r) &&
              ana_portion_usage_add(usage, e->end_ns, true, lane->ends, add_usage, r);
    r->failed |= !ok;
    if (last_ns != INT64_MIN)
        add_usage(r, e->index, ANA_PORTION_OUTSIDE, lane->ends,
                  (double)(e->begin_ns - last_ns + (e->end_ns - e->begin_ns - busy_ns)));
}

static void add_event(struct reader *r, struct ana_event *e, const struct ana_selection *selection)
{
    if (!is_counted(r, e))
        return;
    const struct ana_why_rank *rank = &r->why.rank[e->index];
    struct ana_why_thread before = e->thread < rank->threads ? rank->thread[e->thread] : (struct ana_why_thread){0};
    uint32_t region = r->regions.any ? ana_regions_call(&r->regions, e) : 0;
    ana_why_event(&r->why, e, ANA_RUN_STEP);
    bool is_event = e->kind == TRC_RECORD_EVENT && !e->use->is_quiet;
    bool ends = is_event && ana_iter_is_again(&r->lane[e->index].end, &ana_job_analysis(r->job)->iter, e->use->mark,
                                              e->thread, e->use->size);
    uint32_t to = e->use->place ? place_of(r, e->use->place) : 0;
    if (!to || e->end_ns < selection->begin_ns || e->end_ns >= selection->end_ns)
        return;
    const uint64_t iteration = r->lane[e->index].ends;
    if (e->thread == ANA_MAIN_THREAD)
        add_elapsed(r, e);
    struct ana_portion name = {.kind = ANA_PORTION_SEGMENT, .index = (uint32_t)e->index, .to = to};
    name.region = region;
    name.from = is_event && before.place ? place_of(r, before.place) : 0;
    if (name.from)
        add_time(r, &name, iteration, (double)(e->begin_ns - before.end_ns - before.polled_ns));
    name.kind = ANA_PORTION_CALL;
    name.from = to;
    if (!(e->sig->flags & TRC_SIG_CONTROL))
        add_time(r, &name, iteration, (double)(e->kind == TRC_RECORD_FOLD ? e->busy_ns : e->end_ns - e->begin_ns));
    if (ends)
        end_iteration(r, e);
}

static struct ana_merge *open_merge(struct ana_job *job, struct trc_file **files, const struct ana_selection *selection)
{
    const struct ana_members *members = ana_job_members(job);
    for (size_t i = 0; i < members->count; i++)
        files[i] = members->process[i].rank.file;
    struct ana_merge *merge = ana_merge_open(files, members->count, members->clock);
    for (size_t i = 0; merge && i < members->count; i++)
        ana_merge_set_live(merge, i, members->process[i].alive);
    if (merge && !ana_merge_seek(merge, selection->begin_ns > 0 ? selection->begin_ns : INT64_MIN, selection->end_ns,
                                 selection->ranks)) {
        ana_merge_close(merge);
        merge = NULL;
    }
    return merge;
}

/* Adds all events.  False: out of memory. */
static bool read_events(struct reader *r, struct ana_merge *merge, const struct ana_selection *selection)
{
    struct ana_event *e[FEW];
    for (size_t n; !r->failed && (n = ana_merge_next_few(merge, e, FEW)) > 0;)
        for (size_t i = 0; i < n; i++)
            add_event(r, e[i], selection);
    return !r->failed && copy_regions(r);
}

bool ana_portions_read(struct ana_job *job, struct ana_selection selection, struct ana_portion_end end,
                       struct ana_portions *out)
{
    const struct ana_members *members = ana_job_members(job);
    struct reader r = {.job = job, .first = SIZE_MAX, .out = out, .lane = calloc(members->count + 1, sizeof *r.lane)};
    *out = (struct ana_portions){.ranks = members->count, .width = 1, .room = ANA_PORTION_BLOCKS};
    while (out->room > 64 && out->room * members->count > ANA_PORTIONS_ALL)
        out->room /= 2;
    ana_map_init(&out->portion, sizeof(struct ana_portion));
    ana_map_init(&r.numbers, sizeof(uint32_t));
    ana_map_init(&r.marks, sizeof(uint32_t));
    out->rank = calloc(members->count + 1, sizeof *out->rank);
    struct trc_file **files = calloc(members->count + 1, sizeof *files);
    struct ana_merge *merge = files ? open_merge(job, files, &selection) : NULL;
    bool ok = r.lane && out->rank && merge && ana_why_init(&r.why, members->count, false, NULL) &&
              ana_regions_init(&r.regions, files, members->count, INT64_MIN) && number_places(&r, end);
    for (size_t i = 0; ok && i < members->count; i++)
        ok = ana_portion_usage_open(&r.lane[i].usage, files[i], members->clock, i);
    for (size_t i = 0; ok && i < members->count; i++) {
        const struct ana_rank *rank = &members->process[i].rank;
        out->rank[i].begin_ns = rank->begin_ns > selection.begin_ns ? rank->begin_ns : selection.begin_ns;
        out->rank[i].end_ns = rank->end_ns < selection.end_ns ? rank->end_ns : selection.end_ns;
    }
    ok = ok && read_events(&r, merge, &selection);
    for (size_t i = 0; r.lane && i < members->count; i++) {
        struct ana_portion_usage *usage = &r.lane[i].usage;
        ok = ok && ana_portion_usage_end(usage, add_usage, &r);
        if (ok) {
            out->rank[i].covered_ns = usage->covered_ns;
            out->rank[i].cpu_ns = usage->cpu_ns;
            out->rank[i].queued_ns = usage->queued_ns;
        }
        ana_portion_usage_close(usage);
    }
    ana_merge_close(merge);
    ana_why_free(&r.why);
    ana_regions_free(&r.regions);
    ana_map_free(&r.numbers);
    ana_map_free(&r.marks);
    free(r.place);
    free(r.lane);
    free(files);
    return ok;
}

void ana_portions_free(struct ana_portions *portions)
{
    for (size_t i = 0; i < portions->portion.count; i++)
        free(((struct ana_portion *)ana_map_value(&portions->portion, i))->ns);
    ana_map_free(&portions->portion);
    free(portions->rank);
    free(portions->region);
    *portions = (struct ana_portions){0};
}
