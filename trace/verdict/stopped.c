/* Processes that stopped together: stopped by a signal, frozen, or silent where only a heartbeat can be seen.  deaths.c
 * judges a single one that others wait for. */
#include "trace/util/numfmt.h"
#include "trace/verdict/verdict_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOGETHER_NS 1000000000
#define TRACED_NS   1000000000
#define SILENT_NS                                                                                                      \
    10000000000 /* a heartbeat comes ten times a second, and is seen within one on network file systems                \
                 */

enum ana_stop ana_case_stop(const struct ana_case *c, size_t index)
{
    const struct ana_process *p = &c->job->process[index];
    if (p->rank.state == ANA_RANK_DONE || p->rank.state == ANA_RANK_ABORTED)
        return ANA_MOVES;
    /* A debugger or tracer stops it again and again for a short time: then its heart beats in between. */
    if (p->alive && p->stopped && (!p->traced || p->silent_ns >= TRACED_NS))
        return ANA_STOPPED;
    const struct trc_head *head = trc_head(p->rank.file);
    if (c->moved[index] || p->silent_ns < SILENT_NS || head->heartbeats == 0 || head->state == TRC_STATE_STOPPED)
        return ANA_MOVES; /* or gone */
    if (p->by_pid)
        return p->alive ? ANA_FROZEN : ANA_MOVES;
    return ANA_SILENT;
}

void ana_say_stopped(struct ana_case *c)
{
    for (size_t i = 0; i < c->out->culprits; i++) {
        size_t index = c->out->culprit[i];
        char since[ANA_TEXT];
        if (c->out->id == ANA_CLASS_DEAD || ana_case_stop(c, index) != ANA_FROZEN)
            continue;
        ana_case_evidence(c,
                          "rank %s exists, and its heartbeat has stood still for %s: its recorder is held up (dlopen?)",
                          ana_rank_label(c->job, index).text,
                          ana_spoken(since, sizeof since, (double)c->job->process[index].silent_ns));
    }
}

/* The stopped processes, of those that have not ended. */
struct crowd {
    size_t *index, n, left;
    size_t kinds[ANA_SILENT + 1];
    bool dead; /* somebody is gone for certain */
    bool one_host, whole_host;
    int64_t since_ns; /* how long all of them have */
};

/* Whether they are on one host, and all that there is on it. */
static void place(const struct ana_case *c, struct crowd *crowd)
{
    crowd->one_host = crowd->whole_host = true;
    for (size_t i = 0, k = 0; i < c->count && crowd->n; i++) {
        bool in = k < crowd->n && crowd->index[k] == i;
        bool here = strcmp(c->job->process[i].host, c->job->process[crowd->index[0]].host) == 0;
        k += in;
        crowd->one_host &= !in || here;
        crowd->whole_host &= in || !here || ana_case_ended(c, i);
    }
}

static void look(const struct ana_case *c, struct crowd *crowd)
{
    crowd->since_ns = INT64_MAX;
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_process *p = &c->job->process[i];
        if (p->rank.state == ANA_RANK_DONE || p->rank.state == ANA_RANK_ABORTED)
            continue;
        enum ana_stop stop = ana_case_stop(c, i);
        crowd->left++;
        crowd->dead |= p->by_pid && !p->alive;
        if (stop == ANA_MOVES)
            continue;
        crowd->kinds[stop]++;
        crowd->index[crowd->n++] = i;
        if (p->silent_ns < crowd->since_ns)
            crowd->since_ns = p->silent_ns;
    }
    place(c, crowd);
}

static void who(const struct ana_case *c, const struct crowd *crowd, char *out, size_t size)
{
    char ranks[128];
    ana_rank_list(c->job, crowd->index, crowd->n, ranks, sizeof ranks);
    if (crowd->n == crowd->left && crowd->n > 1)
        snprintf(out, size, "all %zu processes%s", crowd->n, crowd->left < c->count ? " that are left" : "");
    else if (crowd->n > 1 && crowd->one_host && crowd->whole_host)
        snprintf(out, size, "all %zu processes on %s (%s)", crowd->n, c->job->process[crowd->index[0]].host, ranks);
    else
        snprintf(out, size, "%s", ranks);
}

static void settle(struct ana_case *c, const struct crowd *crowd, enum ana_confidence confidence)
{
    /* Only silence is known: a busy node, file server or network may be as slow for a while. */
    bool doubt = crowd->kinds[ANA_SILENT] && crowd->since_ns < c->rules.hang_ns;
    c->out->state = doubt ? ANA_VERDICT_UNKNOWN : ANA_VERDICT_HUNG;
    c->out->id = ANA_CLASS_DEAD;
    c->out->confidence = confidence;
    c->out->since_ns = crowd->since_ns;
    for (size_t i = 0; i < crowd->n; i++)
        ana_case_blame(c, crowd->index[i]);
}

static void say(struct ana_case *c, const struct crowd *crowd)
{
    char subject[256], since[ANA_TEXT];
    const char *are = crowd->n == 1 ? "is" : "are", *they = crowd->n == 1 ? "it" : "they";
    const struct ana_process *first = &c->job->process[crowd->index[0]];
    who(c, crowd, subject, sizeof subject);
    ana_spoken(since, sizeof since, (double)crowd->since_ns);
    if (crowd->kinds[ANA_STOPPED] == crowd->n) {
        bool traced = true;
        for (size_t i = 0; i < crowd->n; i++)
            traced &= c->job->process[crowd->index[i]].traced;
        settle(c, crowd, ANA_LIKELY); /* what exists may go on */
        ana_case_say(c, "%s %s stopped by a %s", subject, are, traced ? "debugger" : "signal");
        ana_case_next(c,
                      "who stopped them: Ctrl-Z, the batch system, a debugger; kill -CONT lets process %u on %s go on",
                      first->rank.pid, first->rank.host);
    } else if (crowd->kinds[ANA_SILENT]) {
        settle(c, crowd, crowd->n < crowd->left ? ANA_LIKELY : ANA_POSSIBLE);
        ana_case_say(c, "%s %s no sign of life: stopped, frozen or killed, or the host or its network is down", subject,
                     crowd->n == 1 ? "gives" : "give");
        ana_case_evidence(c, "their processes cannot be seen from here; the last heartbeat came %s ago", since);
        ana_case_next(c, "whether process %u still exists on %s, and its state there (ps)", first->rank.pid,
                      first->rank.host);
    } else {
        settle(c, crowd, ANA_LIKELY);
        ana_case_say(c, "%s %s still: %s exist%s and %s frozen", subject, crowd->n == 1 ? "stands" : "stand", they,
                     crowd->n == 1 ? "s" : "", are);
        ana_case_evidence(c, "they exist; the last heartbeat came %s ago, ten a second are usual", since);
        ana_case_next(
            c, "what froze them: the batch system's suspend, a paused container or virtual machine, a disk that hangs");
    }
}

bool ana_find_stopped(struct ana_case *c)
{
    struct crowd crowd = {.index = calloc(c->count + 1, sizeof *crowd.index)};
    bool found = false;
    c->memory |= !crowd.index;
    if (c->live && crowd.index) {
        look(c, &crowd);
        bool all = crowd.n == crowd.left;
        found = crowd.n && !crowd.dead && crowd.since_ns >= c->rules.proof_ns &&
                (all || (crowd.n > 1 && ana_anybody_waits(c)));
        if (found)
            say(c, &crowd);
    }
    free(crowd.index);
    return found;
}

/* A host failed, or its ranks were stopped: afterwards the files tell no difference. */
bool ana_find_host(struct ana_case *c)
{
    struct crowd crowd = {.index = calloc(c->count + 1, sizeof *crowd.index)};
    int64_t first = INT64_MAX, last = INT64_MIN;
    c->memory |= !crowd.index;
    for (size_t i = 0; !c->live && crowd.index && i < c->count; i++) {
        int64_t end = c->job->process[i].rank.end_ns;
        crowd.left += !ana_case_ended(c, i);
        if (!c->gone[i])
            continue;
        crowd.index[crowd.n++] = i;
        first = end < first ? end : first;
        last = end > last ? end : last;
    }
    place(c, &crowd);
    bool found = crowd.n > 1 && crowd.n < crowd.left && crowd.one_host && crowd.whole_host &&
                 last - first < TOGETHER_NS && ana_anybody_waits(c) && !ana_hung_before(c, first);
    if (found) {
        char subject[256];
        crowd.since_ns = c->job->end_ns - last;
        who(c, &crowd, subject, sizeof subject);
        ana_case_say(c, "%s are gone without MPI_Finalize", subject);
        ana_case_evidence(
            c, "killed, stopped or frozen, or their host failed: their heartbeats ended %.1f s before the others'",
            (double)crowd.since_ns / 1e9);
        settle(c, &crowd, ANA_PROVEN);
    }
    free(crowd.index);
    return found;
}

/* Processes of other hosts fell silent together: it cannot be told whether they still exist.  After a minute they count
 * as gone (process.c). */
bool ana_find_silent(struct ana_case *c)
{
    struct crowd crowd = {.index = calloc(c->count + 1, sizeof *crowd.index)};
    bool found = false, unknown = false;
    c->memory |= !crowd.index;
    for (size_t i = 0; i < c->count; i++)
        unknown |= c->job->process[i].rank.state == ANA_RANK_UNKNOWN;
    if (!c->live && unknown && crowd.index) {
        look(c, &crowd);
        found = crowd.n && crowd.n == crowd.left;
        if (found)
            say(c, &crowd);
    }
    free(crowd.index);
    return found;
}
