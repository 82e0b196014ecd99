/* Signs of life of a rank that others wait for: time on a processor, of its threads outside MPI or of its child
 * processes, bytes, and threads that sleep and wake up.  The recorder counts them in the file (format_usage.h), so that
 * they are known of other hosts and after the end, too; of a process of this host /proc tells of the last second. */
#include "trace/reader/usage.h"
#include "trace/verdict/life.h"
#include "trace/verdict/verdict_impl.h"
#include <string.h>

#define BUSY_SHARE 0.05   /* share of a core that is no overhead of the recorder (with more ranks than cores) */
#define LEAST_CPU  0.01   /* share that a thread uses which waits for a core again and again: less for Python's lock */
#define BUSY_BYTES 4096.0 /* a second, without the recorder's own */
#define WAKES      3      /* switches that are no single wait */
#define DUE_NS     INT64_C(5000000000) /* limit of the delay of stacks that are due */
#define PAST_TIMES 2                   /* a wait shorter than this multiple of the longest one that ended is no hang */

/* Counts since some time, of threads outside calls. */
struct counts {
    double cpu_us, queued_us, child_us, span_us;
    uint64_t wakes;
};

/* Whether these shares of a core, used and waited for, are those of work. */
static bool is_busy(double cpu, double queued)
{
    return cpu >= BUSY_SHARE || (cpu >= LEAST_CPU && queued >= BUSY_SHARE);
}

/* Whether a thread turns in Horovod's loop, which does so whatever its rank does. */
static bool is_loop(const struct ana_case *c, size_t index, uint32_t thread)
{
    return trc_live_controls(ana_case_file(c, index), thread);
}

/* Whether a thread was inside one call from `begin_ns` on, or in vain ones: what it uses there is no sign of life. */
static bool is_inside(const struct ana_case *c, size_t index, uint32_t thread, int64_t begin_ns)
{
    if (is_loop(c, index, thread))
        return true;
    for (const struct ana_waiting *p = ana_waits(c, index); p < ana_waits(c, index + 1); p++)
        if (p->thread == thread && p->since_ns <= begin_ns)
            return true;
    return false;
}

static void add_item(const struct ana_case *c, size_t index, const struct trc_usage_item *item, int64_t begin_ns,
                     struct counts *sum)
{
    for (size_t i = 0; i < item->n; i++) {
        const struct trc_usage *e = &item->entry[i];
        if (e->whose == TRC_USAGE_PROCESS) {
            sum->cpu_us += (double)e->value[TRC_USAGE_CPU];
            sum->child_us += (double)e->value[TRC_USAGE_CHILDREN];
            sum->queued_us += (double)e->value[TRC_USAGE_QUEUED]; /* the recorder's: the machine is busy */
        } else if (e->whose >= TRC_USAGE_THREAD && is_inside(c, index, e->whose - TRC_USAGE_THREAD, begin_ns)) {
            sum->cpu_us -= (double)e->value[TRC_USAGE_CPU];
        } else if (e->whose >= TRC_USAGE_THREAD) {
            sum->queued_us += (double)e->value[TRC_USAGE_QUEUED];
            sum->wakes += e->value[TRC_USAGE_VOLUNTARY];
        }
    }
}

/* The sign that the file has for the time since `from_ns`, or for the second in which that lies. */
static enum ana_life sign_in_file(const struct ana_case *c, size_t index, int64_t from_ns)
{
    const struct ana_clock *clock = c->members->clock;
    struct trc_usage_cursor *cursor = trc_usage_open(ana_case_file(c, index));
    struct trc_usage_item item;
    struct counts sum = {0}, before = {0};
    bool counted = false;
    if (cursor)
        trc_usage_seek(cursor, ana_clock_ticks(clock, index, ana_time_within(from_ns)));
    while (cursor && trc_usage_next(cursor, &item) == TRC_OK) {
        int64_t begin = ana_clock_job_time(clock, index, item.begin), end = ana_clock_job_time(clock, index, item.end);
        if (begin >= ana_case_end(c, index))
            break;
        counted = true;
        if (end <= from_ns || end <= begin)
            continue;
        struct counts *to = begin < from_ns ? &before : &sum;
        to->span_us += (double)(end - begin) / 1e3;
        add_item(c, index, &item, begin, to);
    }
    trc_usage_close(cursor);
    sum = sum.span_us > 0 ? sum : before;
    if (sum.span_us <= 0) /* no counts for so long: the recorder itself did not run */
        return counted && c->live ? ANA_LIFE_UNCOUNTED : ANA_LIFE_UNKNOWN;
    bool device = ana_rank_is_in(c, index, ANA_WAITING_DEVICE); /* the driver spins, and threads of NCCL poll */
    return !device && is_busy(sum.cpu_us / sum.span_us, sum.queued_us / sum.span_us) ? ANA_LIFE_COMPUTES
           : is_busy(sum.child_us / sum.span_us, sum.queued_us / sum.span_us)        ? ANA_LIFE_CHILD
           : !device && sum.wakes >= WAKES                                           ? ANA_LIFE_WAKES
                                                                                     : ANA_LIFE_NONE;
}

bool ana_life_inside(const struct ana_case *c, const struct ana_waiting *p, double *used_ns, double *queued)
{
    const struct ana_clock *clock = c->members->clock;
    struct trc_usage_cursor *cursor = trc_usage_open(ana_case_file(c, p->index));
    struct trc_usage_item item;
    double cpu_us = 0, queued_us = 0, span_us = 0;
    if (cursor)
        trc_usage_seek(cursor, ana_clock_ticks(clock, p->index, ana_time_within(p->since_ns)));
    while (cursor && trc_usage_next(cursor, &item) == TRC_OK) {
        int64_t begin = ana_clock_job_time(clock, p->index, item.begin);
        if (begin < p->since_ns)
            continue;
        span_us += (double)(ana_clock_job_time(clock, p->index, item.end) - begin) / 1e3;
        for (size_t i = 0; i < item.n; i++)
            if (item.entry[i].whose == TRC_USAGE_THREAD + p->thread) {
                cpu_us += (double)item.entry[i].value[TRC_USAGE_CPU];
                queued_us += (double)item.entry[i].value[TRC_USAGE_QUEUED];
            }
    }
    trc_usage_close(cursor);
    *used_ns = cpu_us * 1e3;
    *queued = span_us > 0 ? queued_us / span_us : 0;
    return span_us > 0;
}

/* Returns whether the main thread slept in the kernel in stacks from after `from_ns`, or another thread did while the
 * main one waited for it. */
static bool sleeps(struct ana_case *c, size_t index, int64_t from_ns)
{
    const struct ana_stacks *stacks = ana_case_stacks(c);
    const struct ana_stack *main = ana_stack_of(stacks, index);
    bool others = main && strncmp(main->on, "futex", 5) == 0, asleep = false;
    for (const struct ana_stack *s = stacks->stack; s < stacks->stack + stacks->count; s++)
        asleep |= s->index == index && (others || s == main) && strncmp(s->on, "sleep", 5) == 0 &&
                  ana_clock_job_time(c->members->clock, index, s->ticks) >= from_ns;
    return asleep;
}

bool ana_is_unseen(struct ana_case *c, size_t index, int64_t from_ns)
{
    const struct ana_stack *main = ana_stack_of(ana_case_stacks(c), index);
    return c->live && ana_case_head(c, index)->end.watched &&
           ana_case_end(c, index) - from_ns < c->rules.hang_ns + DUE_NS &&
           (!main || ana_clock_job_time(c->members->clock, index, main->ticks) < from_ns);
}

enum ana_life ana_life_of(struct ana_case *c, size_t index, double *bytes)
{
    bool calls = false, turns = false;
    for (const struct ana_waiting *p = ana_waits(c, index); p < ana_waits(c, index + 1); p++)
        calls |= !is_loop(c, index, p->thread);
    for (uint32_t t = 0; t < trc_threads(ana_case_file(c, index)); t++)
        turns |= is_loop(c, index, t);
    int64_t from = ana_case_end(c, index) - c->rules.hang_ns, last = c->members->process[index].last_end_ns;
    last = turns ? c->loops_since_ns : last; /* Horovod's loop makes calls at all times */
    from = !calls && last > from ? last : from;
    enum ana_life sign = sign_in_file(c, index, from);
    *bytes = ana_samples_io(c, index);
    if (sign > ANA_LIFE_READS || (calls && !ana_only_listens(c, index)))
        return sign;
    if (!calls && is_busy(ana_samples_cpu(c, index), ana_samples_queued(c, index)))
        return ANA_LIFE_COMPUTES;
    if (!calls && *bytes >= BUSY_BYTES) /* /proc does not tell its threads apart */
        return ANA_LIFE_READS;
    if (sign > ANA_LIFE_NONE)
        return sign;
    bool unseen = c->rules.by_past && ana_is_unseen(c, index, last);
    return sleeps(c, index, last) ? ANA_LIFE_SLEEPS : unseen ? ANA_LIFE_UNSEEN : sign;
}

/* Returns whether the main thread ran in its stack from after `from_ns`. */
static bool main_runs(struct ana_case *c, size_t index, int64_t from_ns)
{
    const struct ana_stack *main = ana_stack_of(ana_case_stacks(c), index);
    return main && strcmp(main->on, "running") == 0 &&
           ana_clock_job_time(c->members->clock, index, main->ticks) >= from_ns;
}

bool ana_is_busy_aside(struct ana_case *c, size_t index)
{
    double bytes;
    enum ana_life life = ana_life_of(c, index, &bytes);
    return life == ANA_LIFE_UNSEEN || life == ANA_LIFE_READS || life == ANA_LIFE_CHILD ||
           (life == ANA_LIFE_COMPUTES && main_runs(c, index, c->loops_since_ns)) || sleeps(c, index, c->loops_since_ns);
}

bool ana_has_living_threads(struct ana_case *c, size_t index)
{
    double bytes;
    return ana_rank_blocked(c, index) && !c->rank[index].sure && ana_life_of(c, index, &bytes) >= ANA_LIFE_CHILD;
}

/* Explains what ranks do that show this sign of life. */
static void explain_life(struct ana_case *c, enum ana_life sign, const enum ana_life *of, double bytes)
{
    static const enum ana_sentence says[ANA_LIVES] = {
        [ANA_LIFE_UNKNOWN] = ANA_SENTENCE_NOTHING,     [ANA_LIFE_NONE] = ANA_SENTENCE_NOTHING,
        [ANA_LIFE_UNCOUNTED] = ANA_SENTENCE_UNCOUNTED, [ANA_LIFE_UNSEEN] = ANA_SENTENCE_UNSEEN_STACKS,
        [ANA_LIFE_SLEEPS] = ANA_SENTENCE_SLEEPS,       [ANA_LIFE_WAKES] = ANA_SENTENCE_WAKES,
        [ANA_LIFE_READS] = ANA_SENTENCE_READS,         [ANA_LIFE_CHILD] = ANA_SENTENCE_CHILD,
        [ANA_LIFE_COMPUTES] = ANA_SENTENCE_COMPUTES};
    size_t *index = ana_case_room(c), n = 0;
    for (size_t i = 0; index && i < c->out->culprits; i++)
        if (of[i] == sign)
            index[n++] = c->out->culprit[i];
    if (!n)
        return;
    int64_t longest = n == 1 ? ana_longest_outside_ns(c, index[0]) : INT64_MAX;
    ANA_FACT(c, says[sign], .who = ana_ranks_at(index, n), .size = (uint64_t)bytes,
             .time = longest == INT64_MAX ? 0 : longest);
}

/* Returns whether a rank is outside MPI, or was when all ranks of the job were killed. */
static bool is_outside(struct ana_case *c, size_t index, int64_t last_ns)
{
    const enum ana_rank_state state = c->members->process[index].rank.state;
    const bool killed = !c->live && state == ANA_RANK_DEAD && ana_case_end(c, index) >= last_ns - c->rules.hang_ns;
    return (state == ANA_RANK_RUN || killed) && !ana_rank_waiting(c, index);
}

/* Whether a thread of the program waits for a socket, which another rank may write to. */
static bool listens(struct ana_case *c, size_t index)
{
    static const char *const calls[] = {"accept", "epoll", "poll", "recv", "select"};
    const struct ana_stacks *stacks = ana_case_stacks(c);
    for (const struct ana_stack *s = stacks->stack; s < stacks->stack + stacks->count; s++)
        for (size_t i = 0; i < sizeof calls / sizeof *calls && s->index == index && ana_stack_is_own(s); i++)
            if (strncmp(s->on, calls[i], strlen(calls[i])) == 0 || strstr(s->on, "socket:["))
                return true;
    return false;
}

/* Returns a rank at work outside MPI: the idle ranks there may wait for it by shared memory, a socket or a file.
 * SIZE_MAX: none, or the user has set a limit, which holds for such waits, too, unless they all listen to a socket. */
static size_t find_at_work(struct ana_case *c, struct ana_ranks idle)
{
    double bytes;
    int64_t last_ns = INT64_MIN;
    bool may = true;
    for (size_t i = 0; i < idle.n && may && !c->rules.by_past; i++)
        may = listens(c, idle.index[i]);
    for (size_t i = 0; i < c->count; i++)
        last_ns = ana_case_end(c, i) > last_ns ? ana_case_end(c, i) : last_ns;
    for (size_t i = 0; i < c->count && may; i++)
        if (is_outside(c, i, last_ns) && ana_life_of(c, i, &bytes) >= ANA_LIFE_READS)
            return i;
    return SIZE_MAX;
}

bool ana_case_settle_by_time(struct ana_case *c, enum ana_verdict_class id, int64_t lasted)
{
    struct ana_finding *f = c->out;
    enum ana_life *of = ana_case_alloc(c, (f->culprits + 1) * sizeof *of);
    double bytes = 0;
    size_t stand = 0, at_work = SIZE_MAX, *idle = ana_case_room(c);
    if (!of || !idle || !ana_case_settle(c, id, ANA_LIKELY, lasted))
        return false;
    for (size_t i = 0; i < f->culprits; i++) {
        of[i] = ana_life_of(c, f->culprit[i], &bytes);
        if (of[i] <= ANA_LIFE_NONE)
            idle[stand++] = f->culprit[i];
    }
    if (stand)
        at_work = find_at_work(c, ana_ranks_at(idle, stand));
    if (at_work == SIZE_MAX && (stand || !f->culprits)) {
        f->culprits = stand;
        memcpy(f->culprit, idle, stand * sizeof *idle);
        return true;
    }
    f->state = ANA_VERDICT_WAITING;
    f->confidence = ANA_POSSIBLE;
    if (!c->live && c->until_ns == INT64_MAX) { /* nobody waits any more */
        f->state = ANA_VERDICT_HEALTHY;
        f->culprits = 0;
        return false;
    }
    for (enum ana_life sign = ANA_LIFE_UNCOUNTED; sign < ANA_LIVES; sign++)
        explain_life(c, sign, of, bytes);
    if (stand)
        ANA_FACT(c, ANA_SENTENCE_MAY_WAIT, .who = ana_ranks_at(idle, stand), .others = ana_one_rank(at_work));
    return true;
}

/* ---- patience --------------------------------------------------------------------------------------------------- */

/* The longest call of this kind that a rank has come out of, in ns. */
static int64_t longest_ns(const struct trc_file *file, const struct trc_sig *sig)
{
    uint64_t ticks = 0;
    for (size_t t = 0, n; t < trc_threads(file); t++) {
        const struct trc_counter *row = trc_rows(file, t, &n);
        for (size_t k = 0; k < n; k++)
            if (row[k].call_plus_1 == sig->call + 1 && row[k].max_ticks > ticks)
                ticks = row[k].max_ticks;
    }
    double ns = (double)ticks * trc_ns_per_tick(file);
    return ns < (double)ANA_TIME_LIMIT ? (int64_t)ns : ANA_TIME_LIMIT;
}

int64_t ana_patience(const struct ana_case *c)
{
    int64_t least = INT64_MAX;
    for (const struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++) {
        if (!p->blocked || (p->kind != ANA_WAITING_COLLECTIVE && p->kind != ANA_WAITING_MESSAGES) ||
            least <= c->rules.hang_ns / PAST_TIMES)
            continue;
        int64_t ns = longest_ns(ana_case_file(c, p->index), p->sig);
        least = ns < least ? ns : least;
    }
    bool past = least != INT64_MAX && least > c->rules.hang_ns / PAST_TIMES;
    return past ? least * PAST_TIMES : c->rules.hang_ns;
}
