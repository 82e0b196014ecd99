#include "trace/why/regions.h"
#include "trace/cause/run_facts.h"
#include "trace/util/hash.h"
#include "trace/util/times.h"
#include "trace/util/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 65536u
#define BETWEEN      8u /* regions between two calls that are distinguished */

struct ana_region_thread {
    struct trc_regions open;
    struct frame {
        int64_t begin_ns, mpi_ns; /* mpi_ns: the thread's when it began */
        int64_t inside_ns;        /* time in regions inside it that have ended */
        uint32_t name;            /* its number */
    } frame[TRC_REGIONS_DEEP];
    bool is_main;
    int64_t mpi_ns; /* time in calls so far */
    /* Since the last call: the innermost regions, and how long in each; up to when. */
    struct part {
        uint32_t name;
        int64_t ns;
    } between[BETWEEN];
    size_t parts;
    int64_t until_ns;
};

bool ana_regions_init(struct ana_regions *regions, struct trc_file *const *file, size_t ranks, int64_t from_ns)
{
    *regions = (struct ana_regions){
        .ranks = ranks, .file = file, .rank = calloc(ranks + 1, sizeof *regions->rank), .from_ns = from_ns};
    ana_map_init(&regions->names, sizeof(struct ana_region_name));
    ana_map_init(&regions->sums, sizeof(struct ana_region));
    return regions->rank != NULL;
}

void ana_regions_free(struct ana_regions *regions)
{
    for (size_t i = 0; regions->rank && i < regions->ranks; i++) {
        for (uint32_t t = 0; t < regions->rank[i].threads; t++)
            free(regions->rank[i].thread[t]);
        free(regions->rank[i].thread);
    }
    free(regions->rank);
    ana_map_free(&regions->sums);
    ana_map_free(&regions->names);
    *regions = (struct ana_regions){0};
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

const char *ana_regions_name(const struct ana_regions *regions, uint32_t number)
{
    bool known = number && number <= regions->names.count;
    return known ? ((struct ana_region_name *)ana_map_value(&regions->names, number - 1))->text : "";
}

/* The number of a rank's region; 0: its name is not known. */
static uint32_t name_of(struct ana_regions *regions, size_t index, uint32_t id)
{
    const char *text = regions->file ? trc_region(regions->file[index], id) : NULL;
    struct ana_region_name *name = text ? ana_map_add(&regions->names, ana_hash_text(text), 0, 0) : NULL;
    if (!name)
        return 0;
    if (!name->text[0])
        snprintf(name->text, sizeof name->text, "%s", text);
    return (uint32_t)(name - (struct ana_region_name *)regions->names.values) + 1;
}

/* ---- between calls ---------------------------------------------------------------------------------------------- */

/* Adds the time until `at_ns` to the region that the thread is in. */
static void add_between(struct ana_region_thread *thread, int64_t at_ns)
{
    uint32_t name = thread->open.depth ? thread->frame[thread->open.depth - 1].name : 0;
    int64_t ns = at_ns > thread->until_ns ? at_ns - thread->until_ns : 0;
    size_t i = 0;
    while (i < thread->parts && thread->between[i].name != name)
        i++;
    thread->until_ns = at_ns > thread->until_ns ? at_ns : thread->until_ns;
    if (i == BETWEEN)
        return;
    if (i == thread->parts)
        thread->between[thread->parts++] = (struct part){name, 0};
    thread->between[i].ns = ana_plus(thread->between[i].ns, ns);
}

/* The region that most of it was in; of none the innermost that is open. */
static uint32_t most_between(const struct ana_region_thread *thread)
{
    uint32_t name = thread->open.depth ? thread->frame[thread->open.depth - 1].name : 0;
    int64_t most_ns = 0;
    for (size_t i = 0; i < thread->parts; i++)
        if (thread->between[i].ns > most_ns) {
            most_ns = thread->between[i].ns;
            name = thread->between[i].name;
        }
    return name;
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

static struct ana_region_thread *known_thread(const struct ana_regions *regions, const struct ana_event *e)
{
    const struct ana_region_rank *rank = &regions->rank[e->index];
    return e->thread < rank->threads ? rank->thread[e->thread] : NULL;
}

static struct ana_region_thread *thread_of(struct ana_regions *regions, const struct ana_event *e)
{
    struct ana_region_rank *rank = &regions->rank[e->index];
    if (e->thread < MOST_THREADS)
        rank->threads = (uint32_t)ana_lengthen(&rank->thread, rank->threads, e->thread + 1u, sizeof *rank->thread);
    if (e->thread < rank->threads && !rank->thread[e->thread]) {
        rank->thread[e->thread] = calloc(1, sizeof *rank->thread[0]);
        if (rank->thread[e->thread]) {
            rank->thread[e->thread]->until_ns = e->begin_ns;
            rank->thread[e->thread]->is_main = e->thread == ANA_MAIN_THREAD;
        }
    }
    struct ana_region_thread *thread = known_thread(regions, e);
    regions->out_of_memory |= !thread;
    return thread;
}

static struct ana_region *sum_of(struct ana_map *sums, size_t index, uint32_t id)
{
    struct ana_region *sum = ana_map_add(sums, index, id, 0);
    if (sum) {
        sum->index = (uint32_t)index;
        sum->id = id;
    }
    return sum;
}

/* Whether a region of this name is open around the one at `depth`. */
static bool is_inside_itself(const struct trc_regions *open, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++)
        if (open->id[i] == open->id[depth])
            return true;
    return false;
}

/* Adds the region at `depth` of a thread, as ended at `end_ns`, with `inside_ns` in regions inside it.  Returns how
 * long it was open. */
static int64_t add_region(struct ana_region *sum, const struct ana_region_thread *thread, uint32_t depth,
                          int64_t inside_ns, int64_t end_ns)
{
    const struct frame *frame = &thread->frame[depth];
    int64_t ns = end_ns > frame->begin_ns ? end_ns - frame->begin_ns : 0;
    sum->count++;
    const int64_t own_ns = ns > inside_ns ? ns - inside_ns : 0;
    sum->own_ns = ana_plus(sum->own_ns, own_ns);
    sum->main_ns = ana_plus(sum->main_ns, thread->is_main ? own_ns : 0);
    if (ns > sum->longest_ns)
        sum->longest_ns = ns;
    if (is_inside_itself(&thread->open, depth))
        return ns;
    sum->total_ns = ana_plus(sum->total_ns, ns);
    sum->mpi_ns = ana_plus(sum->mpi_ns, thread->mpi_ns - frame->mpi_ns);
    return ns;
}

static void end_region(struct ana_regions *regions, struct ana_region_thread *thread, size_t index, uint32_t id,
                       int64_t at_ns)
{
    uint32_t left = trc_regions_left(&thread->open, id), depth = thread->open.depth;
    bool counts = at_ns >= regions->from_ns;
    regions->unmatched += counts && left == depth;
    for (uint32_t i = depth; counts && i > left; i--) {
        struct ana_region *sum = sum_of(&regions->sums, index, thread->open.id[i - 1]);
        regions->out_of_memory |= !sum;
        if (!sum)
            continue;
        if (i - 1 > left) {
            sum->left++;
            continue;
        }
        int64_t ns = add_region(sum, thread, left, thread->frame[left].inside_ns, at_ns);
        if (left)
            thread->frame[left - 1].inside_ns = ana_plus(thread->frame[left - 1].inside_ns, ns);
    }
    thread->open.depth = left;
}

static void begin_region(struct ana_regions *regions, struct ana_region_thread *thread, size_t index, uint32_t id,
                         int64_t at_ns)
{
    int64_t begin_ns = at_ns > regions->from_ns ? at_ns : regions->from_ns;
    if (thread->open.depth >= TRC_REGIONS_DEEP)
        return; /* no recorder writes that */
    thread->frame[thread->open.depth] = (struct frame){begin_ns, thread->mpi_ns, 0, name_of(regions, index, id)};
    trc_regions_enter(&thread->open, id);
}

void ana_regions_item(struct ana_regions *regions, const struct ana_event *e)
{
    struct ana_region_thread *thread = e->kind == TRC_RECORD_LOST ? known_thread(regions, e) : thread_of(regions, e);
    uint32_t id = (uint32_t)e->sequence;
    if (!thread)
        return;
    regions->any = true;
    if (e->kind == TRC_RECORD_BEGIN || e->kind == TRC_RECORD_END)
        add_between(thread, e->begin_ns);
    if (e->kind == TRC_RECORD_LOST) {
        thread->open.depth = 0; /* the next chunk lists the open regions */
    } else if (e->kind == TRC_RECORD_BEGIN) {
        begin_region(regions, thread, e->index, id, e->begin_ns);
    } else if (e->kind == TRC_RECORD_END) {
        end_region(regions, thread, e->index, id, e->begin_ns);
    } else if (thread->open.depth < e->count || thread->open.id[e->count - 1] != id) {
        if (thread->open.depth >= e->count)
            thread->open.depth = (uint32_t)e->count - 1;
        begin_region(regions, thread, e->index, id, e->begin_ns);
    }
}

/* Adds a call to the time in calls. */
static void add_call(const struct ana_regions *regions, struct ana_region_thread *thread, const struct ana_event *e)
{
    int64_t begin_ns = e->begin_ns > regions->from_ns ? e->begin_ns : regions->from_ns;
    int64_t ns = e->end_ns > begin_ns ? e->end_ns - begin_ns : 0;
    if (e->kind == TRC_RECORD_FOLD && e->busy_ns < ns)
        ns = e->busy_ns;
    thread->mpi_ns = ana_plus(thread->mpi_ns, ns);
}

uint32_t ana_regions_call(struct ana_regions *regions, const struct ana_event *e)
{
    struct ana_region_thread *thread = known_thread(regions, e);
    if (!thread || (e->use && e->use->is_sub))
        return 0;
    if (thread->open.depth && !(e->use && e->use->is_out))
        add_call(regions, thread, e);
    if (e->kind != TRC_RECORD_EVENT || (e->use && e->use->is_quiet))
        return 0;
    add_between(thread, e->begin_ns);
    uint32_t name = most_between(thread);
    thread->parts = 0;
    thread->until_ns = e->end_ns;
    return name;
}

uint32_t ana_regions_around(const struct ana_regions *regions, size_t index, uint32_t thread)
{
    const struct ana_region_rank *rank = regions->rank ? &regions->rank[index] : NULL;
    const struct ana_region_thread *of = rank && thread < rank->threads ? rank->thread[thread] : NULL;
    return of && of->open.depth ? of->open.id[of->open.depth - 1] + 1 : 0;
}

/* Adds what a thread is in, as if it ended at `until_ns`, the innermost first. */
static bool add_open(const struct ana_region_thread *thread, size_t index, int64_t until_ns, struct ana_map *out)
{
    int64_t inside_ns = 0;
    for (uint32_t i = thread->open.depth; i > 0; i--) {
        struct ana_region *sum = sum_of(out, index, thread->open.id[i - 1]);
        if (!sum)
            return false;
        inside_ns = add_region(sum, thread, i - 1, ana_plus(thread->frame[i - 1].inside_ns, inside_ns), until_ns);
    }
    return true;
}

bool ana_regions_sum(const struct ana_regions *regions, int64_t until_ns, struct ana_map *out)
{
    ana_map_init(out, sizeof(struct ana_region));
    for (size_t i = 0; i < regions->sums.count; i++) {
        const struct ana_region *from = ana_map_value(&regions->sums, i);
        struct ana_region *to = sum_of(out, from->index, from->id);
        if (!to)
            return false;
        *to = *from;
    }
    for (size_t i = 0; i < regions->ranks; i++)
        for (uint32_t t = 0; t < regions->rank[i].threads; t++)
            if (regions->rank[i].thread[t] && !add_open(regions->rank[i].thread[t], i, until_ns, out))
                return false;
    return !regions->out_of_memory;
}
