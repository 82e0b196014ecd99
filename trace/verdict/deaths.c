/* Processes that are gone, stopped or left early. */
#include "trace/verdict/verdict_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART_NS 300000000 /* ends that differ by less may be in either order: a heartbeat comes ten times a second */

static bool exited(const struct ana_case *c, size_t index)
{
    return trc_head(c->job->process[index].rank.file)->flags & TRC_HEAD_EXITED;
}

static bool crashed(const struct ana_case *c, size_t index)
{
    const struct trc_file *file = c->job->process[index].rank.file;
    for (size_t i = 0; i < trc_stacks(file); i++)
        if (trc_stack(file, i)->def.flags & TRC_STACK_CRASHED)
            return true;
    return false;
}

bool ana_case_fell(const struct ana_case *c, size_t index)
{
    return exited(c, index) || crashed(c, index);
}

/* Writes what a rank did last: "(inside MPI_Recv from rank 0, tag 7)", "(last call MPI_Send)". */
static void last_words(const struct ana_case *c, size_t index, char *out, size_t size)
{
    const struct ana_rank *r = &c->job->process[index].rank;
    const char *name = NULL;
    uint64_t end = 0;
    char call[200];
    if (!ana_case_known(c, index)) {
        snprintf(out, size, "what it did last is not known");
        return;
    }
    if (r->inside) {
        ana_inside(c->job, index, call, sizeof call);
        snprintf(out, size, "inside %s", call);
        return;
    }
    for (size_t t = 0; t < trc_threads(r->file); t++) {
        const struct trc_thread *thread = trc_thread(r->file, t);
        const struct trc_sig *sig = trc_live_sig(r->file, t, thread->last);
        if (sig && thread->last_end >= end) {
            end = thread->last_end;
            name = trc_call(r->file, sig->call)->name;
        }
    }
    snprintf(out, size, "%s%s", name ? "last call " : "outside MPI", name ? name : "");
}

bool ana_find_abort(struct ana_case *c)
{
    size_t first = SIZE_MAX, n = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (c->job->process[i].rank.state != ANA_RANK_ABORTED)
            continue;
        n++;
        ana_case_blame(c, i);
        if (first == SIZE_MAX)
            first = i;
    }
    if (first == SIZE_MAX)
        return false;
    const struct ana_process *p = &c->job->process[first];
    c->out->state = ANA_VERDICT_ABORTED;
    c->out->id = ANA_CLASS_EARLY_EXIT;
    c->out->confidence = ANA_PROVEN;
    c->out->since_ns = c->job->end_ns - p->rank.end_ns;
    ana_case_say(c, "rank %s called MPI_Abort(%d)%s", ana_rank_label(c->job, first).text,
                 trc_head(p->rank.file)->abort_code, n > 1 ? ", others too" : "");
    return true;
}

/* The rank that is gone first.  It is most likely the cause; for certain, if it ended by itself. */
static size_t first_to_go(const struct ana_case *c, bool gone_only, size_t *n)
{
    size_t first = SIZE_MAX;
    *n = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_process *p = &c->job->process[i];
        if (gone_only ? !c->gone[i] : p->rank.state != ANA_RANK_DEAD)
            continue;
        ++*n;
        bool fell = ana_case_fell(c, i), other = first != SIZE_MAX && ana_case_fell(c, first);
        if (first == SIZE_MAX || (fell && !other) ||
            (fell == other && p->rank.end_ns < c->job->process[first].rank.end_ns))
            first = i;
    }
    return first;
}

/* Whether all have come to a collective, but one of them does nothing more. */
static bool waits_inside(const struct ana_case *c, uint32_t group)
{
    for (size_t i = 0; i < c->waiting_count; i++)
        if (c->waiting[i].group == group && c->waiting[i].blocked && !c->gone[c->waiting[i].index])
            return true;
    return false;
}

bool ana_anybody_waits(struct ana_case *c)
{
    for (size_t i = 0; i < c->waiting_count; i++)
        if (c->gone[c->waiting[i].index] && c->waiting[i].group != ANA_NO_GROUP && waits_inside(c, c->waiting[i].group))
            return true;
    for (size_t i = 0; i < c->count; i++)
        if (!ana_rank_moves(c, i) && !c->gone[i] && ana_rank_blocked(c, i))
            return true;
    return ana_gpu_anybody_waits(c);
}

static void say_gone(struct ana_case *c, size_t first, size_t n)
{
    const struct ana_process *p = &c->job->process[first];
    char last[256], more[64] = "";
    last_words(c, first, last, sizeof last);
    size_t other = first;
    for (size_t k = 0; k < c->count && n == 2; k++)
        if (k != first && (c->gone[first] ? c->gone[k] : c->job->process[k].rank.state == ANA_RANK_DEAD))
            other = k;
    if (n == 2 && other != first)
        snprintf(more, sizeof more, "; so is rank %s", ana_rank_label(c->job, other).text);
    else if (n > 2)
        snprintf(more, sizeof more, "; so are %zu others", n - 1);
    const char *how = p->traced    ? "is stopped by a debugger"
                      : p->stopped ? "is stopped by a signal"
                      : p->alive || (!p->by_pid && (c->live || p->rank.state == ANA_RANK_UNKNOWN))
                          ? "gives no sign of life"
                      : exited(c, first)  ? "left by exit() without MPI_Finalize"
                      : crashed(c, first) ? "crashed"
                                          : "is gone without MPI_Finalize";
    ana_case_say(c, "rank %s %s (%s)%s", ana_rank_label(c->job, first).text, how, last, more);
    if (p->traced)
        ana_case_next(c, "who debugs process %u on %s (TracerPid in /proc/%u/status)", p->rank.pid, p->rank.host,
                      p->rank.pid);
    else if (p->stopped)
        ana_case_next(c, "who stopped process %u on %s; kill -CONT %u lets it go on", p->rank.pid, p->rank.host,
                      p->rank.pid);
}

static int64_t last_to_go(const struct ana_case *c)
{
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < c->count; i++)
        if (c->job->process[i].rank.end_ns > last)
            last = c->job->process[i].rank.end_ns;
    return last;
}

static void fill(struct ana_case *c, size_t first, size_t n, enum ana_confidence confidence)
{
    c->out->id = exited(c, first) ? ANA_CLASS_EARLY_EXIT : ANA_CLASS_DEAD;
    c->out->confidence = confidence;
    int64_t since = c->job->end_ns - c->job->process[first].rank.end_ns;
    if (c->live && !c->job->process[first].by_pid)
        since = c->job->process[first].silent_ns;
    else if (c->job->process[first].alive)
        since = c->job->end_ns - c->job->process[first].heartbeat_ns;
    c->out->since_ns = since > 0 ? since : 0;
    ana_case_blame(c, first);
    say_gone(c, first, n);
    /* A stopped process that was killed with the others looks the same: its heartbeat ended before theirs. */
    if (!c->live && !exited(c, first) && c->gone[first] && c->job->process[first].rank.state == ANA_RANK_DEAD)
        ana_case_evidence(c,
                          "it was killed, or stopped (SIGSTOP): its heartbeat ended %.1f s before that of the others",
                          (double)since / 1e9);
    else if (!c->live && !exited(c, first) && n > 1 && last_to_go(c) - c->job->process[first].rank.end_ns < APART_NS)
        ana_case_evidence(c,
                          "all heartbeats ended together: killed then, or stopped (SIGSTOP, freezer) and killed later");
}

/* A job that hung is killed, and on a busy machine that takes seconds: then the rank that ended first is not the cause.
 * Horovod's loops hung for longer before that than there was time after it. */
bool ana_hung_before(const struct ana_case *c, int64_t first_end_ns)
{
    struct ana_hvd_finding f;
    const struct ana_hvd *hvd = c->live ? NULL : ana_job_horovod(c->job);
    return hvd && hvd->sets > 0 && ana_hvd_judge(c->job, hvd, c->rules.hang_ns, &f) && f.hung &&
           first_end_ns - f.since_ns > c->job->end_ns - first_end_ns;
}

/* Whether other ranks of its host are heard: then neither the host nor the network to it is slow. */
static bool others_there_are_heard(const struct ana_case *c, size_t index)
{
    for (size_t i = 0; i < c->count; i++)
        if (i != index && c->job->process[i].alive && strcmp(c->job->process[i].host, c->job->process[index].host) == 0)
            return true;
    return false;
}

static void say_silent(struct ana_case *c, size_t index)
{
    char since[ANA_TEXT];
    const struct ana_process *p = &c->job->process[index];
    ana_case_evidence(
        c,
        "its process cannot be seen from here, and its last heartbeat came %s ago: it is killed, stopped or "
        "frozen, or its host, the network or the file system is slow",
        ana_spoken(since, sizeof since, (double)p->silent_ns));
    if (others_there_are_heard(c, index))
        ana_case_evidence(c, "other ranks on %s are heard", p->host);
    ana_case_next(c, "whether process %u still exists on %s, and its state there (ps)", p->rank.pid, p->rank.host);
}

bool ana_find_gone(struct ana_case *c)
{
    size_t n, first = first_to_go(c, true, &n);
    if (first == SIZE_MAX)
        return false;
    const struct ana_process *p = &c->job->process[first];
    if (ana_hung_before(c, p->rank.end_ns))
        return false;
    bool waits = ana_anybody_waits(c);
    bool silent = c->live && !p->by_pid && p->rank.state != ANA_RANK_ABORTED; /* all that is known of it */
    bool doubt = silent && p->rank.state == ANA_RANK_UNKNOWN;
    /* Suspended or silent for a short time, and nobody waits for it. */
    if ((p->alive || doubt) && !waits)
        return false;
    c->out->state = !waits                                     ? ANA_VERDICT_ABORTED
                    : doubt && p->silent_ns < c->rules.hang_ns ? ANA_VERDICT_UNKNOWN
                                                               : ANA_VERDICT_HUNG;
    fill(c, first, n,
         !silent                                      ? (p->alive ? ANA_LIKELY : ANA_PROVEN)
         : doubt && !others_there_are_heard(c, first) ? ANA_POSSIBLE
                                                      : ANA_LIKELY);
    if (silent)
        say_silent(c, first);
    return true;
}

/* A rank that is not blocked itself and that others wait for. */
static size_t waited_for(struct ana_case *c)
{
    size_t found = SIZE_MAX, n = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->first_waiting[i] == c->first_waiting[i + 1] && c->job->process[i].rank.state == ANA_RANK_DEAD) {
            found = i;
            n++;
        }
    return n == 1 && c->count > 1 ? found : SIZE_MAX;
}

static int64_t second_to_go(const struct ana_case *c, size_t first)
{
    int64_t second = INT64_MAX;
    for (size_t i = 0; i < c->count; i++)
        if (i != first && c->job->process[i].rank.end_ns < second)
            second = c->job->process[i].rank.end_ns;
    return second;
}

bool ana_died_first(const struct ana_case *c)
{
    size_t n, first = c->live ? SIZE_MAX : first_to_go(c, false, &n);
    if (first == SIZE_MAX)
        return false;
    int64_t end = c->job->process[first].rank.end_ns;
    return second_to_go(c, first) - end >= APART_NS && !ana_hung_before(c, end);
}

static bool any_unknown(const struct ana_case *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (!ana_case_known(c, i))
            return true;
    return false;
}

/* Whether a rank did nothing more for a while before its end. */
static bool stood_still(const struct ana_case *c, size_t index)
{
    const struct ana_process *p = &c->job->process[index];
    int64_t last = p->last_end_ns > p->rank.begin_ns ? p->last_end_ns : p->rank.begin_ns;
    return ana_rank_blocked(c, index) || (!p->rank.inside && p->rank.end_ns - last >= c->rules.proof_ns);
}

static bool all_stood_still(const struct ana_case *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->job->process[i].rank.state == ANA_RANK_DEAD && !stood_still(c, i))
            return false;
    return true;
}

/* All ended at about the same time, and nothing hung before: one of them took the others along, or all were killed. */
bool ana_find_killed(struct ana_case *c)
{
    size_t n, first = first_to_go(c, false, &n);
    if (first == SIZE_MAX)
        return false;
    enum ana_confidence confidence = ana_case_fell(c, first) ? ANA_PROVEN : ANA_LIKELY;
    if (confidence != ANA_PROVEN && n > 1 && second_to_go(c, first) - c->job->process[first].rank.end_ns < APART_NS) {
        /* The heartbeats do not tell who ended first. */
        if (any_unknown(c))
            return false; /* it may have hung before */
        /* The rank that others had just begun to wait for has probably died, and the launcher ended the others. */
        bool stood = all_stood_still(c);
        first = stood ? SIZE_MAX : waited_for(c);
        if (first == SIZE_MAX) {
            ana_say_killed(c, n, stood ? ANA_LIKELY : ANA_POSSIBLE);
            return true;
        }
    }
    c->out->state = ANA_VERDICT_ABORTED;
    fill(c, first, n, confidence);
    return true;
}

/* ---- somebody has left ------------------------------------------------------------------------------------------ */

static bool finalizes(const struct ana_case *c, size_t index)
{
    for (size_t i = c->first_waiting[index]; i < c->first_waiting[index + 1]; i++)
        if (c->waiting[i].kind == ANA_WAITING_FINALIZE)
            return true;
    return ana_case_ended(c, index);
}

bool ana_find_early_exit(struct ana_case *c)
{
    size_t *edges = calloc(c->count + 1, sizeof *edges), waiters = 0, waiter = 0;
    struct ana_waiting *what = NULL;
    int64_t lasted = INT64_MAX;
    for (size_t i = 0; edges && i < c->waiting_count; i++) {
        struct ana_waiting *p = &c->waiting[i];
        if (!p->blocked || !ana_rank_knot(c, p->index) || p->kind == ANA_WAITING_FINALIZE)
            continue;
        size_t n = ana_waiting_for(c, p, edges, c->count), left = 0;
        for (size_t k = 0; k < n; k++)
            left += finalizes(c, edges[k]);
        for (size_t k = 0; k < n && left; k++)
            if (finalizes(c, edges[k]))
                ana_case_blame(c, edges[k]);
        if (left && waiters++ == 0) {
            waiter = p->index;
            what = p;
        }
        if (left && p->lasted_ns < lasted)
            lasted = p->lasted_ns;
    }
    free(edges);
    if (!what)
        return false;
    size_t both[] = {waiter};
    if (!ana_case_settle(c, ANA_CLASS_EARLY_EXIT, ana_case_certainty(c, both, 1), lasted)) {
        c->out->culprits = 0;
        return false;
    }
    char who[128], call[256], more[48] = "";
    ana_rank_list(c->job, c->out->culprit, c->out->culprits, who, sizeof who);
    ana_waiting_words(c, what, call, sizeof call);
    if (waiters > 1)
        snprintf(more, sizeof more, " and %zu more", waiters - 1);
    ana_case_say(c, "%s %s while rank %s%s still wait%s in %s", who,
                 ana_case_ended(c, c->out->culprit[0]) ? "finished"
                 : c->out->culprits == 1               ? "is in MPI_Finalize"
                                                       : "are in MPI_Finalize",
                 ana_rank_label(c->job, waiter).text, more, waiters == 1 ? "s" : "", call);
    return true;
}
