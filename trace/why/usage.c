#include "trace/reader/usage.h"
#include "trace/relations/clock.h"
#include "trace/util/archive.h"
#include "trace/why/why.h"
#include "trace/util/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPANS    8u         /* spans of a thread that wait for its next event; more are added up, two by two */
#define PURE     0.95       /* share of a span outside of calls: its counts are not the calls' */
#define STILL_NS 1000000000 /* shortest stillness worth a word */
#define STILL    0.1        /* share of such a span on a processor or queued: before and after */
#define BEATING  0.5        /* share of such a span with heartbeats, at most */
#define TOUCHED  64u        /* segments of a thread in a span; the time of others is not covered */

struct span {
    int64_t begin_ns, end_ns;
    double value[ANA_USAGE_NUMBERS];
};

struct thread {
    bool counted;
    uint32_t spans, touched;
    struct span span[SPANS];
    uint32_t segment[TOUCHED]; /* number + 1 */
};

struct ana_usage_rank {
    struct trc_usage_cursor *cursor;
    struct thread **thread; /* `threads` entries; NULL: nothing was counted for it */
    uint32_t threads;
    struct trc_usage_item item;  /* the next one */
    bool ahead;                  /* it is there */
    double *node;                /* counts of the node so far: TRC_USAGE_FIELDS; NULL: none */
    int64_t begin_ns, end_ns;    /* time of the item */
    struct ana_usage_once *once; /* ANA_USAGE_ONCES, in any order; NULL: none */
};

void ana_usage_free(struct ana_usage_rank *rank)
{
    if (!rank)
        return;
    for (size_t i = 0; i < rank->threads; i++)
        free(rank->thread[i]);
    free(rank->thread);
    free(rank->once);
    free(rank->node);
    trc_usage_close(rank->cursor);
    free(rank);
}

void ana_why_read_usage(struct ana_why *why, struct trc_file *const *files, const struct ana_clock *clock)
{
    why->clock = clock;
    for (size_t i = 0; i < why->ranks; i++) {
        struct ana_usage_rank *rank = calloc(1, sizeof *rank);
        if (rank && !(rank->cursor = trc_usage_open(files[i]))) {
            free(rank);
            rank = NULL;
        }
        why->rank[i].usage = rank;
        why->out_of_memory |= !rank;
    }
}

/* ---- spans ------------------------------------------------------------------------------------------------------ */

#define OUTSIDE_ONLY (1u << TRC_USAGE_MINOR | 1u << TRC_USAGE_MAJOR | 1u << TRC_USAGE_READ | 1u << TRC_USAGE_WRITTEN)

/* Adds parts of a span's counts: of faults and bytes, which calls of MPI hardly have, and of the rest. */
static void add_values(double *to, const double *from, double of_faults, double of_rest)
{
    for (size_t i = 0; i < ANA_USAGE_NUMBERS; i++)
        to[i] += from[i] * (OUTSIDE_ONLY >> i & 1 ? of_faults : of_rest);
}

/* Adds the spans of a thread that waits for long up, two by two. */
static void join_spans(struct thread *thread)
{
    for (uint32_t i = 0; i < SPANS / 2; i++) {
        struct span one = thread->span[2 * i];
        one.end_ns = thread->span[2 * i + 1].end_ns;
        add_values(one.value, thread->span[2 * i + 1].value, 1, 1);
        thread->span[i] = one;
    }
    thread->spans = SPANS / 2;
}

/* The usage of a thread; NULL: out of memory. */
static struct thread *thread_of(struct ana_usage_rank *rank, uint32_t index)
{
    rank->threads = (uint32_t)ana_lengthen(&rank->thread, rank->threads, index + 1u, sizeof *rank->thread);
    if (index >= rank->threads)
        return NULL;
    if (!rank->thread[index])
        rank->thread[index] = calloc(1, sizeof *rank->thread[index]);
    return rank->thread[index];
}

/* Notes a span in which the process hardly ran and the recorder's heartbeats are missing, if it is the longest.  A
 * process that only sleeps has its heartbeats. */
static void find_still(const struct ana_usage_rank *rank, struct ana_still *still)
{
    const int64_t ns = rank->end_ns - rank->begin_ns;
    double cpu_us = 0, queued_us = 0, beats_ns = (double)ns;
    for (size_t i = 0; i < rank->item.n; i++) {
        const struct trc_usage *entry = &rank->item.entry[i];
        if (entry->whose == TRC_USAGE_PROCESS) {
            cpu_us = (double)entry->value[TRC_USAGE_CPU];
            if (entry->fields >> TRC_USAGE_BEATS & 1)
                beats_ns = ((double)entry->value[TRC_USAGE_BEATS] + 1) * TRC_BEAT_NS;
        }
        if (entry->whose != TRC_USAGE_NODE && entry->fields >> TRC_USAGE_QUEUED & 1)
            queued_us += (double)entry->value[TRC_USAGE_QUEUED];
    }
    if (ns >= STILL_NS && ns > still->ns && 1e3 * (cpu_us + queued_us) < STILL * (double)ns &&
        beats_ns < BEATING * (double)ns)
        *still = (struct ana_still){rank->begin_ns, ns};
}

/* Adds to each thread its part of the item. */
static void share_item(struct ana_usage_rank *rank)
{
    struct span of_process = {.begin_ns = rank->begin_ns, .end_ns = rank->end_ns};
    for (size_t i = 0; i < rank->item.n; i++) {
        const struct trc_usage *entry = &rank->item.entry[i];
        if (entry->whose == TRC_USAGE_PROCESS) {
            of_process.value[ANA_USAGE_ALL_CPU] = (double)entry->value[TRC_USAGE_CPU];
            of_process.value[TRC_USAGE_READ] = (double)entry->value[TRC_USAGE_READ];
            of_process.value[TRC_USAGE_WRITTEN] = (double)entry->value[TRC_USAGE_WRITTEN];
        }
        if (entry->whose == TRC_USAGE_NODE && !rank->node)
            rank->node = calloc(TRC_USAGE_FIELDS, sizeof *rank->node);
        for (uint32_t f = 0; entry->whose == TRC_USAGE_NODE && rank->node && f < TRC_USAGE_FIELDS; f++)
            rank->node[f] += (double)entry->value[f];
    }
    for (size_t i = 0; i < rank->threads; i++) {
        struct thread *thread = rank->thread[i];
        if (!thread || !thread->counted || rank->end_ns <= rank->begin_ns)
            continue;
        if (thread->spans == SPANS)
            join_spans(thread);
        thread->span[thread->spans++] = of_process;
    }
    for (size_t i = 0; i < rank->item.n; i++) {
        const struct trc_usage *entry = &rank->item.entry[i];
        struct thread *thread =
            entry->whose >= TRC_USAGE_THREAD ? thread_of(rank, entry->whose - TRC_USAGE_THREAD) : NULL;
        if (!thread)
            continue;
        for (uint32_t f = 0; thread->spans && thread->counted && f < TRC_USAGE_FIELDS; f++)
            thread->span[thread->spans - 1].value[f] += entry->fields >> f & 1 ? (double)entry->value[f] : 0;
        thread->counted = true;
    }
}

/* Reads the item that comes next, if there is one. */
static void look_ahead(struct ana_why *why, size_t index)
{
    struct ana_usage_rank *rank = why->rank[index].usage;
    rank->ahead = trc_usage_next(rank->cursor, &rank->item) == TRC_OK;
    if (!rank->ahead)
        return;
    rank->begin_ns = ana_clock_job_time(why->clock, index, rank->item.begin);
    rank->end_ns = ana_clock_job_time(why->clock, index, rank->item.end);
}

/* Makes the threads check again at their first event that ends at or after `ns`. */
static void wake_threads(struct ana_why_rank *rank, int64_t ns)
{
    for (uint32_t i = 0; i < rank->threads; i++)
        if (rank->thread[i].spanned_ns > ns)
            rank->thread[i].spanned_ns = ns;
}

/* Shares all items that end until `ns`. */
static void share_items(struct ana_why *why, size_t index, int64_t ns)
{
    struct ana_usage_rank *rank = why->rank[index].usage;
    if (!rank->ahead)
        look_ahead(why, index);
    bool any = false;
    for (; rank->ahead && rank->end_ns <= ns; any = true) {
        find_still(rank, &why->rank[index].still);
        share_item(rank);
        look_ahead(why, index);
    }
    if (any)
        wake_threads(&why->rank[index], INT64_MIN);
}

void ana_why_usage_refresh(struct ana_why *why)
{
    for (size_t i = 0; i < why->ranks; i++) {
        struct ana_usage_rank *rank = why->rank[i].usage;
        if (!rank || rank->ahead)
            continue;
        look_ahead(why, i);
        if (rank->ahead)
            wake_threads(&why->rank[i], rank->end_ns);
    }
}

const double *ana_why_node_usage(const struct ana_why *why, size_t index)
{
    const struct ana_usage_rank *rank = why->rank[index].usage;
    return rank ? rank->node : NULL;
}

const struct ana_usage_once *ana_why_once(const struct ana_why *why, size_t index, int64_t end_ns)
{
    const struct ana_usage_rank *rank = why->rank[index].usage;
    for (size_t i = 0; rank && rank->once && i < ANA_USAGE_ONCES; i++)
        if (rank->once[i].segment && rank->once[i].end_ns == end_ns)
            return &rank->once[i];
    return NULL;
}

/* ---- segments --------------------------------------------------------------------------------------------------- */

void ana_usage_touch(struct ana_why *why, size_t index, uint32_t thread, uint32_t number)
{
    struct ana_usage_rank *rank = why->rank[index].usage;
    struct thread *of = rank && thread < rank->threads ? rank->thread[thread] : NULL;
    struct ana_segment *segment = ana_segment_at(why, number);
    segment->span = why->rank[index].thread[thread].span;
    segment->before_ns = segment->total_ns;
    if (of && of->touched < TOUCHED)
        of->segment[of->touched++] = number;
}

/* Adds to a segment its part of a span: `ns` of it, while so much of it was outside of calls. */
static void share_out(struct ana_segment *segment, const struct span *span, double ns, double outside_ns,
                      struct ana_usage_sums *once)
{
    double length = (double)(span->end_ns - span->begin_ns);
    if (!(ns > 0) || (!segment->usage && !(segment->usage = calloc(1, sizeof *segment->usage))))
        return;
    bool pure = outside_ns >= PURE * length;
    struct ana_usage_sums *to[] = {&segment->usage->all, pure ? &segment->usage->pure : NULL, once};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
        if (!to[i])
            continue;
        to[i]->covered_ns += ns;
        to[i]->outside_ns += ns * (outside_ns < length ? outside_ns / length : 1);
        add_values(to[i]->value, span->value, ns / outside_ns, ns / length);
    }
}

static double overlap_ns(int64_t begin, int64_t end, const struct span *span)
{
    int64_t from = begin > span->begin_ns ? begin : span->begin_ns, to = end < span->end_ns ? end : span->end_ns;
    return to > from ? (double)(to - from) : 0;
}

/* A thread's way from the end of its last call to the begin of this one. */
struct gap {
    int64_t begin_ns, end_ns;
    double part; /* share of the gap that is no poll */
    uint32_t segment;
};

/* Stores a time in place of the shortest that is kept. */
static bool store_once(struct ana_usage_rank *rank, const struct ana_usage_once *once)
{
    if (!rank->once && !(rank->once = calloc(ANA_USAGE_ONCES, sizeof *rank->once)))
        return false;
    struct ana_usage_once *least = rank->once;
    for (size_t i = 1; i < ANA_USAGE_ONCES; i++)
        if (rank->once[i].ns < least->ns)
            least = &rank->once[i];
    if (once->ns > least->ns)
        *least = *once;
    return true;
}

static void settle_spans(struct ana_why *why, struct ana_usage_rank *rank, struct thread *thread, const struct gap *gap,
                         int64_t ns)
{
    struct ana_segment *segment = gap->segment ? ana_segment_at(why, gap->segment) : NULL;
    struct ana_usage_sums once = {0};
    bool whole = false;
    for (uint32_t i = 0; i < thread->spans; i++) {
        const struct span *span = &thread->span[i];
        double mine = overlap_ns(gap->begin_ns, gap->end_ns, span) * gap->part, outside = mine;
        uint32_t touched = i ? 0 : thread->touched; /* segments' times ended before the gap: in the first span */
        for (uint32_t k = 0; k < touched; k++) {
            const struct ana_segment *of = ana_segment_at(why, thread->segment[k]);
            outside += (double)(of->total_ns - of->before_ns - (thread->segment[k] == gap->segment ? ns : 0));
        }
        for (uint32_t k = 0; k < touched; k++) {
            struct ana_segment *of = ana_segment_at(why, thread->segment[k]);
            double took = (double)(of->total_ns - of->before_ns - (thread->segment[k] == gap->segment ? ns : 0));
            share_out(of, span, took, outside, NULL);
        }
        if (segment)
            share_out(segment, span, mine, outside, &once);
        whole |= gap->begin_ns <= span->begin_ns && gap->end_ns >= span->end_ns;
    }
    if (whole && segment)
        why->out_of_memory |= !store_once(rank, &(struct ana_usage_once){gap->segment, gap->end_ns, ns, once});
    if (whole && segment && segment->usage && ns > segment->usage->longest_ns) {
        segment->usage->longest = once;
        segment->usage->longest_ns = ns;
    }
}

/* A call in or before which spans end. */
struct call {
    int64_t begin_ns, end_ns;
    bool sleeps; /* the process may sleep in it: MPI libraries poll in others */
};

static struct call call_of(int64_t begin_ns, int64_t end_ns, enum trc_opclass opclass)
{
    const bool sleeps = trc_opclass_category(opclass) == TRC_CAT_IO || trc_opclass_is(opclass, TRC_FACT_EDGE);
    return (struct call){begin_ns, end_ns, sleeps};
}

/* Shares the processor time of a thread's spans out between the time outside and inside calls, as far as they lie in
 * `counted`.  The first has `calls_ns` in earlier calls than `call`.  A background loop's processor time is the other
 * threads': they do the work of its rank.  Returns the part of all in `call`, in ns. */
static double account_spans(struct ana_account_usage *account, const struct thread *of, bool loops, double calls_ns,
                            const struct call *call, struct ana_span counted)
{
    double used = 0;
    for (uint32_t i = 0; i < of->spans; i++) {
        struct span part = of->span[i];
        const double whole = (double)(part.end_ns - part.begin_ns);
        part.begin_ns = part.begin_ns > counted.begin_ns ? part.begin_ns : counted.begin_ns;
        part.end_ns = part.end_ns < counted.end_ns ? part.end_ns : counted.end_ns;
        double cpu_us = part.value[TRC_USAGE_CPU];
        if (loops)
            cpu_us = fmin(fmax(part.value[ANA_USAGE_ALL_CPU] - cpu_us, 0), whole / 1e3);
        const double length = (double)(part.end_ns - part.begin_ns),
                     last = overlap_ns(call->begin_ns, call->end_ns, &part);
        ana_account_usage_add(account, &(struct ana_account_span){
                                           .length_ns = length,
                                           .cpu_ns = 1e3 * cpu_us * length / whole,
                                           .queued_ns = 1e3 * part.value[TRC_USAGE_QUEUED] * length / whole,
                                           .polling_ns = (i ? 0 : calls_ns) + (call->sleeps ? 0 : last),
                                           .sleeping_ns = call->sleeps ? last : 0,
                                           .is_whole = !call->sleeps && last >= PURE * length,
                                       });
        used += overlap_ns(call->begin_ns, call->end_ns, &of->span[i]);
    }
    return used;
}

void ana_usage_until(struct ana_why *why, int64_t ns)
{
    for (size_t i = 0; i < why->ranks; i++)
        if (why->rank[i].usage)
            share_items(why, i, ns);
}

struct ana_account_usage ana_usage_account(const struct ana_why *why, size_t index, enum trc_opclass opclass,
                                           int64_t inside_ns)
{
    const struct ana_why_rank *rank = &why->rank[index];
    struct ana_account_usage account = rank->account;
    const struct thread *of = rank->usage && rank->usage->threads ? rank->usage->thread[ANA_MAIN_THREAD] : NULL;
    if (!of || !rank->threads)
        return account;
    const struct ana_why_thread *thread = &rank->thread[ANA_MAIN_THREAD];
    const struct call open = call_of(inside_ns, INT64_MAX, opclass);
    account_spans(&account, of, thread->loops, (double)(thread->calls_ns - thread->counted_ns), &open, why->counted);
    return account;
}

void ana_usage_close(struct ana_why *why, size_t index, enum trc_opclass opclass, int64_t inside_ns)
{
    why->rank[index].account = ana_usage_account(why, index, opclass, inside_ns);
    struct ana_usage_rank *rank = why->rank[index].usage;
    if (rank && rank->threads && rank->thread[ANA_MAIN_THREAD])
        rank->thread[ANA_MAIN_THREAD]->spans = 0;
}

void ana_usage_settle(struct ana_why *why, const struct ana_event *e, uint32_t number, int64_t ns)
{
    struct ana_why_rank *rank = &why->rank[e->index];
    struct ana_why_thread *thread = &rank->thread[e->thread];
    thread->spanned_ns = INT64_MAX;
    if (!rank->usage || e->thread >= TRC_MAX_THREADS)
        return;
    share_items(why, e->index, e->end_ns);
    thread->spanned_ns = rank->usage->ahead ? rank->usage->end_ns : INT64_MAX;
    struct thread *of = rank->usage->ahead                 ? thread_of(rank->usage, e->thread)
                        : e->thread < rank->usage->threads ? rank->usage->thread[e->thread]
                                                           : NULL;
    if (!of)
        return;
    if (!of->spans) { /* nothing was counted until now */
        of->touched = 0;
        thread->span = ++why->last_span;
        thread->counted_ns = thread->calls_ns;
        return;
    }
    if (e->thread == ANA_MAIN_THREAD) {
        const struct call call = call_of(e->begin_ns, e->end_ns, (enum trc_opclass)e->use->call->opclass);
        const double calls_ns = (double)(thread->calls_ns - thread->counted_ns);
        const double used = account_spans(&rank->account, of, thread->loops, calls_ns, &call, why->counted);
        thread->counted_ns = ana_plus(thread->calls_ns, (int64_t)used);
    }
    int64_t length = e->begin_ns - thread->end_ns;
    struct gap gap = {.begin_ns = thread->end_ns,
                      .end_ns = e->begin_ns,
                      .part = number && ns > 0 && length > 0 ? (double)ns / (double)length : 0,
                      .segment = number};
    settle_spans(why, rank->usage, of, &gap, ns);
    int64_t last_ns = of->span[of->spans - 1].end_ns;
    of->spans = of->touched = 0;
    thread->span = ++why->last_span;
    if (!number || e->begin_ns <= last_ns)
        return;
    ana_usage_touch(why, e->index, e->thread, number);
    int64_t from_ns = last_ns > thread->end_ns ? last_ns : thread->end_ns;
    ana_segment_at(why, number)->before_ns -= (int64_t)((double)(e->begin_ns - from_ns) * gap.part);
}

void ana_usage_archive(struct ana_archive *archive, struct ana_why *why, size_t index)
{
    struct ana_usage_rank none = {0}, *rank = why->rank[index].usage ? why->rank[index].usage : &none;
    struct ana_why_rank *of = &why->rank[index];
    of->account.fit = (struct ana_account_fit){0}; /* no more spans come */
    ANA_ARCHIVE(archive, of->account);
    ANA_ARCHIVE(archive, of->unknown_ns);
    ANA_ARCHIVE(archive, of->still);
    uint8_t has_node = rank->node != NULL;
    ANA_ARCHIVE(archive, has_node);
    if (has_node && archive->loads && !archive->failed)
        archive->failed |= rank == &none || !(rank->node = calloc(TRC_USAGE_FIELDS, sizeof *rank->node));
    if (has_node && !archive->failed)
        ana_archive_bytes(archive, rank->node, TRC_USAGE_FIELDS * sizeof *rank->node);
    uint8_t has_once = rank->once != NULL;
    ANA_ARCHIVE(archive, has_once);
    if (has_once && archive->loads && !archive->failed)
        archive->failed |= rank == &none || !(rank->once = calloc(ANA_USAGE_ONCES, sizeof *rank->once));
    if (has_once && !archive->failed)
        ana_archive_rows(archive, rank->once, ANA_USAGE_ONCES, sizeof *rank->once, NULL);
}
