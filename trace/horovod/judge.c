/* The judgement of a set of loops, by the signatures of its states. */
#include "trace/horovod/judge.h"
#include "trace/util/trouble.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENOUGH_STEPS 20u  /* before anybody is called a straggler */
#define STRAGGLES    0.67 /* of the steps it comes last in: of two ranks one always does in half of them */
#define DEVIATIONS   3.0  /* and so many standard deviations more than chance between two would have it */
#define LATE_CYCLES  2.5  /* after the first: one cycle is as close as two can be told apart */
#define COSTS        0.1  /* of a step: what would be gained if it came as early as the next slowest */
#define LONG_STEPS   10   /* so many usual steps are long */

const char *ana_hvd_class_name(enum ana_hvd_class id)
{
    static const char *const name[] = {"healthy",          "not-submitted", "name-mismatch", "loop-dead",
                                       "inside-operation", "straggler",     "early-exit",    "wait-cycle"};
    return name[id];
}

static double milliseconds(int64_t ns)
{
    return (double)ns / 1e6;
}

/* ---- hung loops ------------------------------------------------------------------------------------------------- */

/* Ranks wait in a cycle or in an operation while others have not come to it. */
static bool loops_hang(struct hvd_judge *j)
{
    const struct ana_hvd_set *set = j->set;
    size_t waiting = 0, operating = 0, outside = 0, silent = 0, seen = 0;
    int64_t since = INT64_MIN, operation_since = INT64_MIN;
    const struct ana_hvd_rank *in_operation = NULL;
    for (size_t m = 0; m < set->ranks; m++) {
        const struct ana_hvd_rank *r = &set->rank[m];
        if (!j->work->member[m].file)
            continue;
        seen++;
        if (r->phase == ANA_HVD_ENDED)
            return false;
        bool operation = r->phase == ANA_HVD_OPERATION;
        bool inside = r->phase == ANA_HVD_ROUND || r->phase == ANA_HVD_NEGOTIATING || operation;
        if (inside && !hvd_is_silent(j, m)) {
            /* The latest begin of a wait: from then on all waited. */
            if (r->inside_since_ns > since)
                since = r->inside_since_ns;
            if (operation && r->inside_since_ns > operation_since)
                operation_since = r->inside_since_ns;
            in_operation = operation ? r : in_operation;
            operating += operation;
            waiting += !operation;
            continue;
        }
        outside++;
        silent += inside;
        j->culprit[m] = 1;
    }
    int64_t lasted = set->now_ns - since;
    bool everybody = operating == seen && seen > 1;
    if (waiting + operating == 0 || lasted < j->notable_ns || (outside == 0 && !everybody))
        return false;
    char who[160];
    hvd_names(j, j->culprit, 1, who, sizeof who);
    if (operating) {
        snprintf(j->out->summary, sizeof j->out->summary, "%zu of %zu ranks are inside %s (%llu bytes)%s%s", operating,
                 set->ranks, in_operation->inside, (unsigned long long)in_operation->inside_bytes,
                 outside ? ", which " : ", and it does not end", outside ? who : "");
        if (outside)
            strncat(j->out->summary, " never entered", sizeof j->out->summary - strlen(j->out->summary) - 1);
        hvd_say(j->out, "the operation was agreed on at cycle %llu: what is missing is not a tensor",
                (unsigned long long)set->cycles);
        since = operation_since;
    } else {
        snprintf(j->out->summary, sizeof j->out->summary,
                 "Horovod's loop of %s stands still%s; %zu rank%s wait for it in cycle %llu", who,
                 silent ? "" : " outside MPI", waiting, waiting == 1 ? "" : "s", (unsigned long long)set->cycles);
    }
    for (size_t m = 0; m < set->ranks; m++)
        if (j->culprit[m])
            hvd_say_where(j, m);
    hvd_say(j->out, "Horovod's own stall inspector is silent here: its coordinator is %s",
            operating ? "inside the operation" : "waiting in the cycle, or stopped");
    snprintf(j->out->next, sizeof j->out->next, "%s",
             outside ? "that process: stopped (SIGSTOP), killed, swapping, or a thread of it holds the GIL"
                     : "the transport: all ranks are inside and nothing moves");
    hvd_finish(j, operating ? ANA_HVD_INSIDE_OPERATION : ANA_HVD_LOOP_DEAD, since);
    return true;
}

/* Whether the last stall lasted until the job ended.  A launcher that ends a job wakes stopped processes first: the
 * loops turn once more, and the stall ends just before the job. */
static bool stalled_to_the_end(struct hvd_judge *j)
{
    const struct ana_hvd_set *set = j->set;
    if (!j->over || set->stall.begin_ns == ANA_HVD_NEVER || set->now_ns - set->stall.end_ns > HVD_NOTABLE_NS ||
        set->stall.end_ns - set->stall.begin_ns < j->notable_ns)
        return false;
    j->culprit[set->stall.member] = 1;
    snprintf(j->out->summary, sizeof j->out->summary,
             "Horovod's loop of rank %zu stood still outside MPI in cycle %llu until the job was ended",
             set->stall.member, (unsigned long long)set->stall.cycle);
    hvd_say(j->out, "rank %zu: came to that cycle %.1f s after the first, and %.1f s before the end", set->stall.member,
            (double)(set->stall.end_ns - set->stall.begin_ns) / 1e9, (double)(set->now_ns - set->stall.end_ns) / 1e9);
    hvd_say(j->out, "Horovod's own stall inspector is silent here: its coordinator waits in the cycle, or is stopped");
    snprintf(j->out->next, sizeof j->out->next,
             "why that process stood still: stopped (SIGSTOP), swapping, or its host");
    hvd_finish(j, ANA_HVD_LOOP_DEAD, set->stall.begin_ns);
    return true;
}

/* ---- the end, and the slow -------------------------------------------------------------------------------------- */

static bool early_exit(struct hvd_judge *j)
{
    const struct ana_hvd_set *set = j->set;
    uint64_t first = UINT64_MAX;
    int64_t since = 0;
    for (size_t m = 0; m < set->ranks; m++)
        if (set->rank[m].wants_shutdown && set->rank[m].shutdown_cycle < first) {
            first = set->rank[m].shutdown_cycle;
            since = set->rank[m].shutdown_ns;
        }
    const struct ana_hvd_tensor *t = hvd_pending(j);
    if (first == UINT64_MAX || (!t && (!j->work->member[0].uncached_open || j->work->member[0].maybe_joined)))
        return false;
    bool innocent = false;
    for (size_t m = 0; m < set->ranks; m++) {
        j->culprit[m] = set->rank[m].wants_shutdown && set->rank[m].shutdown_cycle == first;
        innocent |= !j->culprit[m];
    }
    if (!innocent)
        return false;
    char who[160];
    hvd_names(j, j->culprit, 1, who, sizeof who);
    if (t)
        snprintf(j->out->tensor, sizeof j->out->tensor, "%s", t->name);
    j->out->tensors = j->work->pending;
    char under_way[64] = "rank 0 waited for a tensor whose name is on no wire";
    if (j->work->pending)
        snprintf(under_way, sizeof under_way, "others had %zu tensor%s under way", j->work->pending,
                 j->work->pending == 1 ? "" : "s");
    snprintf(j->out->summary, sizeof j->out->summary, "%s asked for shutdown at cycle %llu, after step %llu, while %s",
             who, (unsigned long long)first, (unsigned long long)set->steps, under_way);
    hvd_say_tensors(j);
    snprintf(j->out->next, sizeof j->out->next,
             "the output of that rank: an exception or an exit; the errors of the others follow from it");
    hvd_finish(j, ANA_HVD_EARLY_EXIT, since);
    j->out->hung = false;
    return true;
}

static bool straggler(struct hvd_judge *j)
{
    const struct ana_hvd_set *set = j->set;
    if (set->steps < ENOUGH_STEPS || set->kept_steps < 2)
        return false;
    size_t worst = 0;
    for (size_t m = 1; m < set->ranks; m++)
        if (set->rank[m].last > set->rank[worst].last)
            worst = m;
    const struct ana_hvd_rank *r = &set->rank[worst];
    double steps = (double)set->steps, next_late = 0;
    double step_ms =
        milliseconds(set->step[set->kept_steps - 1].end_ns - set->step[0].begin_ns) / (double)set->kept_steps;
    for (size_t m = 0; m < set->ranks; m++)
        if (m != worst && set->rank[m].late_ms > next_late)
            next_late = set->rank[m].late_ms;
    double gain = r->late_ms - next_late, chance = steps / 2 + DEVIATIONS * sqrt(steps) / 2;
    if ((double)r->last < STRAGGLES * steps || (double)r->last < chance || r->last_cycles < LATE_CYCLES ||
        step_ms <= 0 || gain < COSTS * step_ms || steps * step_ms * 1e6 < SLOW_RUN_NS ||
        steps * gain * 1e6 < SLOW_LOST_NS)
        return false;
    j->culprit[worst] = 1;
    snprintf(j->out->summary, sizeof j->out->summary,
             "rank %zu comes last in %llu of %llu steps, %.1f cycles or %.1f ms after the first; it costs all %.0f%%",
             worst, (unsigned long long)r->last, (unsigned long long)set->steps, r->last_cycles, r->last_ms,
             100 * fmin(gain / step_ms, 1));
    for (size_t m = 0; m < set->ranks && m < 4; m++)
        hvd_say(j->out, "rank %zu: last in %llu steps, %.1f cycles or %.1f ms late on average", m,
                (unsigned long long)set->rank[m].last, set->rank[m].late_cycles, set->rank[m].late_ms);
    snprintf(j->out->next, sizeof j->out->next, "what rank %zu computes or reads between steps", worst);
    hvd_finish(j, ANA_HVD_STRAGGLER, set->step[0].begin_ns);
    j->out->hung = false;
    return true;
}

static int64_t usual_step_ns(const struct ana_hvd_set *set)
{
    if (set->kept_steps < 2)
        return 0;
    return (set->step[set->kept_steps - 1].end_ns - set->step[0].end_ns) / (int64_t)(set->kept_steps - 1);
}

bool ana_hvd_judge(const struct ana_job *job, const struct ana_hvd *hvd, int64_t hang_ns, struct ana_hvd_finding *out)
{
    bool (*const rule[])(struct hvd_judge *) = {early_exit, loops_hang, stalled_to_the_end, hvd_not_submitted,
                                                straggler};
    for (size_t k = 0; k < sizeof rule / sizeof *rule; k++)
        for (size_t s = 0; s < hvd->sets; s++) {
            struct hvd_judge j = {.job = job,
                                  .set = &hvd->set[s],
                                  .work = &job->horovod->work[s],
                                  .out = out,
                                  .hang_ns = hang_ns,
                                  .over = true,
                                  .culprit = calloc(hvd->set[s].ranks, 1)};
            *out = (struct ana_hvd_finding){.set = s};
            for (size_t m = 0; m < j.set->ranks; m++)
                j.over &= !j.set->rank[m].alive;
            j.notable_ns = LONG_STEPS * usual_step_ns(j.set);
            if (j.notable_ns < HVD_NOTABLE_NS)
                j.notable_ns = HVD_NOTABLE_NS;
            if (j.notable_ns > hang_ns)
                j.notable_ns = hang_ns;
            if (j.over && hang_ns > j.notable_ns)
                j.hang_ns = j.notable_ns; /* nothing will move any more */
            bool found = j.culprit && rule[k](&j);
            free(j.culprit);
            if (found) {
                out->usual_ns = usual_step_ns(&hvd->set[s]);
                return true;
            }
        }
    *out = (struct ana_hvd_finding){.id = ANA_HVD_FINE};
    return false;
}
