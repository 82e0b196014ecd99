#include "trace/why/reason.h"
#include <math.h>

#define COVERED    0.5         /* least share of its time that is covered */
#define OUTSIDE    0.5         /* least share of its spans outside calls: else their counts are the calls' */
#define LEAST_NS   250000000.0 /* least covered time: some heartbeats */
#define EXPLAINS   0.5         /* share of the difference */
#define NOTABLE    0.05        /* share of the time */
#define ALONE      0.25        /* share of the time, where no rank is there to compare with */
#define BESIDE     0.5         /* share of its time: other threads that compute meanwhile matter */
#define SAME       0.12        /* numbers that differ by less are alike */
#define MORE_BYTES 1048576.0   /* read or written more than usual, for it to be worth a word */
#define MORE_TIMES 2.0         /* factor over the usual bytes or faults */
#define OTHER_WORK 100.0       /* factor over the usual processor time: the others do something else there */
#define FAULT_NS   1000000.0   /* most kernel time per fault, for faults to be its cause: of 2 MB */

/* Parts of one time of a segment, in ns; numbers of one time. */
struct parts {
    double cpu, queued, blocked, system, faults, read, written;
    double thread_pool; /* processor time of other threads */
};

/* Whether the counts cover its time (without processor time the kernel does not count that), and it had at least
 * `outside` of the spans that it lies in. */
static bool is_known(const struct ana_reason_side *side, double outside)
{
    const struct ana_usage_sums *sums = side->sums;
    return sums && sums->value[TRC_USAGE_CPU] > 0 && sums->covered_ns >= LEAST_NS &&
           sums->covered_ns >= COVERED * side->total_ns && sums->outside_ns >= outside * sums->covered_ns;
}

static struct parts parts_of(const struct ana_reason_side *side)
{
    const double *value = side->sums->value;
    double each = side->ns / side->sums->covered_ns;
    struct parts p = {.cpu = fmin(value[TRC_USAGE_CPU] * 1e3 * each, side->ns),
                      .queued = value[TRC_USAGE_QUEUED] * 1e3 * each,
                      .system = value[TRC_USAGE_SYSTEM] * 1e3 * each,
                      .faults = (value[TRC_USAGE_MINOR] + value[TRC_USAGE_MAJOR]) * each,
                      .read = value[TRC_USAGE_READ] * each,
                      .written = value[TRC_USAGE_WRITTEN] * each};
    p.thread_pool = fmax(value[ANA_USAGE_ALL_CPU] * 1e3 * each - p.cpu, 0);
    p.queued = fmin(p.queued, side->ns - p.cpu);
    p.blocked = side->ns - p.cpu - p.queued;
    return p;
}

/* A sum as a whole number; files may say anything. */
static uint64_t whole(double sum)
{
    return sum >= 0x1p63 ? UINT64_C(1) << 63 : sum > 0 ? (uint64_t)sum : 0;
}

/* Returns the reason for time off the processor: storage, if it reads or writes more than usual, else unknown. */
static struct ana_reason off_processor(const struct ana_reason_side *own, const struct parts *p, const struct parts *u)
{
    double times = own->total_ns / own->ns;
    struct ana_reason reason = {.kind = ANA_REASON_BLOCKED, .share = p->blocked / own->ns};
    bool reads = p->read >= MORE_TIMES * u->read && (p->read - u->read) * times >= MORE_BYTES;
    bool writes = p->written >= MORE_TIMES * u->written && (p->written - u->written) * times >= MORE_BYTES;
    if (reads && p->read >= p->written)
        reason = (struct ana_reason){ANA_REASON_READS, 0, reason.share, whole(p->read * times)};
    else if (writes)
        reason = (struct ana_reason){ANA_REASON_WRITES, 0, reason.share, whole(p->written * times)};
    else if (p->thread_pool >= BESIDE * p->blocked)
        reason = (struct ana_reason){0}; /* it waits for threads of its own, which are not counted one by one */
    return reason;
}

/* Instructions and cycles of one time of a segment; 0: not known.  Only of spans without calls: one that waits by
 * polling runs as many as the program. */
struct hardware {
    double instructions, cycles;
};

static struct hardware hardware_of(const struct ana_reason_side *side)
{
    const struct ana_usage_sums *pure = side->pure;
    if (!pure || pure->covered_ns < LEAST_NS || !(pure->value[TRC_USAGE_CYCLES] > 0))
        return (struct hardware){0};
    double each = side->ns / pure->covered_ns;
    return (struct hardware){pure->value[TRC_USAGE_INSTRUCTIONS] * each, pure->value[TRC_USAGE_CYCLES] * each};
}

/* Returns the kernel time of the usual side, without the kernel time of calls, which may poll through the kernel: as
 * much for each fault as in `p`, and no less than the rest if the calls were in the kernel all the time. */
static double kernel_of(const struct ana_reason_side *usual, const struct parts *u, const struct parts *p)
{
    const struct ana_usage_sums *sums = usual->sums;
    double calls = sums->covered_ns - sums->outside_ns, left = sums->value[TRC_USAGE_SYSTEM] * 1e3 - calls;
    return fmax(p->system * u->faults / p->faults, left > 0 ? usual->ns * left / sums->outside_ns : 0);
}

/* Returns the reason for more of the processor's time. */
static struct ana_reason on_processor(const struct ana_reason_side *own, const struct ana_reason_side *usual,
                                      const struct parts *p, const struct parts *u)
{
    double times = own->total_ns / own->ns;
    if (is_known(usual, 0) && p->faults > 0 && p->faults >= MORE_TIMES * u->faults) {
        double in_kernel = p->system - kernel_of(usual, u, p);
        if (in_kernel >= EXPLAINS * (p->cpu - u->cpu) && in_kernel <= FAULT_NS * (p->faults - u->faults))
            return (struct ana_reason){ANA_REASON_FAULTS, 0, p->system / own->ns, whole(p->faults * times)};
    }
    struct hardware own_has = hardware_of(own), usual_has = hardware_of(usual);
    if (p->thread_pool < BESIDE * p->cpu && own_has.instructions > 0 && usual_has.instructions > 0) {
        double work = own_has.instructions / usual_has.instructions, cycles = own_has.cycles / usual_has.cycles;
        if (work >= 1 + SAME)
            return (struct ana_reason){.kind = ANA_REASON_WORK, .factor = work};
        if (cycles >= 1 + SAME)
            return (struct ana_reason){.kind = ANA_REASON_MEMORY, .factor = cycles};
        return (struct ana_reason){.kind = ANA_REASON_CLOCK, .factor = own->ns / usual->ns};
    }
    if (p->thread_pool >= BESIDE * p->cpu)
        return (struct ana_reason){0}; /* it may only spin until they come */
    if (!(u->cpu > 0) || p->cpu >= OTHER_WORK * u->cpu)
        return (struct ana_reason){0};
    return (struct ana_reason){.kind = ANA_REASON_TIME, .factor = p->cpu / u->cpu};
}

/* Nobody to compare with: only what takes a good part of the time is named. */
static struct ana_reason alone(const struct ana_reason_side *own, const struct parts *p)
{
    static const struct parts nothing;
    if (p->queued >= ALONE * own->ns && p->queued >= p->blocked)
        return (struct ana_reason){.kind = ANA_REASON_QUEUED, .share = p->queued / own->ns};
    if (p->blocked >= ALONE * own->ns)
        return off_processor(own, p, &nothing);
    return (struct ana_reason){0};
}

struct ana_reason ana_reason_of(struct ana_reason_side own, struct ana_reason_side usual)
{
    if (!(own.ns > 0) || !is_known(&own, OUTSIDE))
        return (struct ana_reason){0};
    struct parts p = parts_of(&own), u = {.cpu = usual.ns};
    if (isnan(usual.ns))
        return alone(&own, &p);
    if (is_known(&usual, 0))
        u = parts_of(&usual);
    bool counted = is_known(&usual, OUTSIDE);
    if (!counted) { /* mostly in calls: its computing time and waits for a processor are only roughly known */
        double share = u.cpu > 0 ? u.cpu / (u.cpu + u.queued) : 1;
        u.cpu = usual.ns * share;
        u.queued = usual.ns - u.cpu;
        u.blocked = 0;
    }
    double more = own.ns - usual.ns, queued = p.queued - u.queued, blocked = p.blocked - u.blocked, cpu = p.cpu - u.cpu;
    double most = fmax(queued, fmax(blocked, cpu));
    if (more < NOTABLE * own.ns || most < EXPLAINS * more)
        return (struct ana_reason){0};
    if (most == queued) {
        bool same = counted && fabs(cpu) <= SAME * p.cpu;
        return (struct ana_reason){
            .kind = ANA_REASON_QUEUED, .factor = same ? own.ns / usual.ns : 0, .share = p.queued / own.ns};
    }
    return most == blocked ? off_processor(&own, &p, &u) : on_processor(&own, &usual, &p, &u);
}

double ana_on_processor(struct ana_reason_side side)
{
    return side.ns > 0 && is_known(&side, OUTSIDE) ? parts_of(&side).cpu / side.ns : NAN;
}
