/* Horovod's loops wait for each other: one stands still between two calls, or has not come to an operation. */
#include "trace/members/members.h"
#include "trace/verdict/horovod_impl.h"
#include <string.h>

#define GAP_BEATS 10         /* a second */
#define ENDING_NS 5000000000 /* a launcher on a busy machine takes so long to end its processes */

/* Number of heartbeats a process missed; the process with the most a second tells how many there should be. */
static double missed_beats(const struct loops *l, size_t m)
{
    double best = 0, own = 0, beats = 0;
    for (size_t i = 0; i < l->set->ranks; i++) {
        if (!hvd_has_file(l, i))
            continue;
        const struct ana_process *p = &l->c->members->process[l->set->rank[i].index];
        double life = (double)(l->set->now_ns - p->rank.begin_ns) / 1e9, n = (double)trc_head(p->rank.file)->heartbeats;
        if (life > 0 && n / life > best)
            best = n / life;
        if (i == m) {
            own = life;
            beats = n;
        }
    }
    return best * own - beats;
}

/* Heartbeats of the rank have ended while other heartbeats went on: it is stopped, or was, wherever its loop was
 * then. A launcher that ends a job wakes it once more: then there is a gap. */
bool hvd_is_silent(const struct loops *l, size_t m)
{
    const struct ana_process *p = &l->c->members->process[l->set->rank[m].index];
    if (l->set->now_ns - p->heartbeat_ns >= (l->over ? ENDING_NS : HVD_NOTABLE_NS) &&
        trc_head(p->rank.file)->heartbeats > 0)
        return true;
    double others = 0, missed = l->over ? missed_beats(l, m) : 0;
    if (missed < GAP_BEATS)
        return false;
    for (size_t i = 0; i < l->set->ranks; i++)
        if (i != m && hvd_has_file(l, i) && missed_beats(l, i) > others)
            others = missed_beats(l, i);
    return missed > 3 * others;
}

/* Places of the loops of a set. */
struct places {
    size_t waiting, operating, outside, silent, seen;
    int64_t since, operation_since; /* the latest begin of a wait: from then on all waited */
    const struct ana_hvd_rank *in_operation;
    bool ended;
};

static struct places look_around(struct loops *l)
{
    struct places p = {.since = INT64_MIN, .operation_since = INT64_MIN};
    for (size_t m = 0; m < l->set->ranks; m++) {
        const struct ana_hvd_rank *r = &l->set->rank[m];
        if (!hvd_has_file(l, m))
            continue;
        bool operation = r->phase == ANA_HVD_OPERATION, silent = hvd_is_silent(l, m);
        bool inside = r->phase == ANA_HVD_ROUND || r->phase == ANA_HVD_NEGOTIATING || operation;
        p.seen++;
        p.ended |= r->phase == ANA_HVD_ENDED;
        if (r->phase == ANA_HVD_OTHER_SET && !silent)
            continue; /* it waits there: that set tells for whom */
        if (!inside || silent) {
            p.outside++;
            p.silent += inside;
            l->mark[m] = 1;
            continue;
        }
        p.since = r->inside_since_ns > p.since ? r->inside_since_ns : p.since;
        if (operation && r->inside_since_ns > p.operation_since)
            p.operation_since = r->inside_since_ns;
        p.in_operation = operation ? r : p.in_operation;
        p.operating += operation;
        p.waiting += !operation;
    }
    return p;
}

bool hvd_loops_hang(struct loops *l)
{
    const struct places p = look_around(l);
    bool everybody = p.operating == p.seen && p.seen > 1;
    if (p.ended || p.waiting + p.operating == 0 || l->set->now_ns - p.since < l->notable_ns ||
        (p.outside == 0 && !everybody))
        return false;
    int64_t cycle = (int64_t)l->set->cycles;
    l->c->out->summary =
        p.operating ? (struct ana_fact){ANA_SENTENCE_HVD_INSIDE,
                                        .count = (int64_t)p.operating,
                                        .of = (int64_t)l->set->ranks,
                                        .call.name = p.in_operation->inside,
                                        .size = p.in_operation->inside_bytes,
                                        .who = ANA_CULPRITS}
                    : (struct ana_fact){ANA_SENTENCE_HVD_STANDS, .who = ANA_CULPRITS, .more = (int64_t)p.silent,
                                        .count = (int64_t)p.waiting, .number = cycle};
    if (p.operating)
        ANA_FACT(l->c, ANA_SENTENCE_HVD_AGREED, .number = cycle, .who = hvd_of_set(l));
    for (size_t m = 0; m < l->set->ranks; m++)
        if (l->mark[m])
            hvd_where(l, m);
    ANA_FACT(l->c, ANA_SENTENCE_HVD_INSPECTOR_SILENT, .count = (int64_t)p.operating);
    l->c->out->next.id = p.outside ? ANA_SENTENCE_HVD_NEXT_PROCESS : ANA_SENTENCE_HVD_NEXT_TRANSPORT;
    hvd_settle(l, p.operating ? ANA_CLASS_INSIDE : ANA_CLASS_LOOP_DEAD, ANA_LIKELY,
               p.operating ? p.operation_since : p.since);
    if (everybody) /* nobody's fault, as far as is known */
        l->c->out->confidence = ANA_POSSIBLE;
    return true;
}

/* A launcher that ends a job wakes stopped processes first: the loops turn once more, and the stall ends just before
 * the job. */
bool hvd_stalled_to_the_end(struct loops *l)
{
    const struct ana_hvd_set *set = l->set;
    if (!l->over || set->stall.begin_ns == ANA_HVD_NEVER || set->now_ns - set->stall.end_ns > HVD_NOTABLE_NS ||
        set->stall.end_ns - set->stall.begin_ns < l->notable_ns)
        return false;
    l->mark[set->stall.member] = 1;
    ANA_SUMMARY(l->c, ANA_SENTENCE_HVD_STOOD, .who = ANA_CULPRITS, .number = (int64_t)set->stall.cycle);
    ANA_FACT(l->c, ANA_SENTENCE_HVD_CAME_LATE, .who = ANA_CULPRITS, .time = set->stall.end_ns - set->stall.begin_ns,
             .other_time = set->now_ns - set->stall.end_ns);
    ANA_FACT(l->c, ANA_SENTENCE_HVD_INSPECTOR_SILENT);
    l->c->out->next.id = ANA_SENTENCE_HVD_NEXT_STOOD;
    hvd_settle(l, ANA_CLASS_LOOP_DEAD, ANA_LIKELY, set->stall.begin_ns);
    return true;
}
