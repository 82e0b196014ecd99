/* A rank outside MPI is waited for; or all ranks are inside, and nothing moves. */
#include "trace/verdict/verdict_impl.h"
#include <stdio.h>

#define BUSY_SHARE    0.05   /* of a core: a rank outside MPI that does something (with more ranks than cores) */
#define STARVED_SHARE 0.3    /* of the time: a rank that is ready to run and seldom gets a processor */
#define BUSY_BYTES    4096.0 /* a second: a rank that reads or writes files, or whatever else it is that moves */
#define BUSY_TIMES    10     /* it is slow, not hung, for so many times hang_ns */

/* ---- somebody outside MPI is waited for ------------------------------------------------------------------------- */

/* Ranks that compute, read or write are slow for a long while before they count as hung. */
bool ana_case_settle_by_time(struct ana_case *c, enum ana_verdict_class id, int64_t lasted)
{
    if (!ana_case_settle(c, id, ANA_LIKELY, lasted))
        return false;
    bool busy = c->out->culprits > 0;
    double bytes = 0;
    for (size_t i = 0; i < c->out->culprits; i++) {
        bool computes = ana_samples_cpu(c, c->out->culprit[i]) >= BUSY_SHARE;
        double moves = ana_samples_io(c, c->out->culprit[i]);
        bytes = moves >= BUSY_BYTES && !computes ? moves : bytes;
        busy &= computes || moves >= BUSY_BYTES;
    }
    if (busy && lasted / BUSY_TIMES < c->rules.hang_ns) {
        char amount[ANA_TEXT];
        c->out->state = ANA_VERDICT_SLOW;
        c->out->confidence = ANA_POSSIBLE;
        if (bytes > 0)
            ana_case_evidence(c, "it reads or writes %s/s", ana_number(amount, sizeof amount, ANA_BYTES, bytes, false));
        else
            ana_case_evidence(c, "it uses a processor: it computes, or spins");
    }
    return true;
}

/* For how long, in ns, a rank outside MPI has done nothing that is seen; -1: it does something, or is inside. */
static int64_t stands_outside(struct ana_case *c, size_t index)
{
    const struct ana_waiting *waiting = ana_rank_waiting(c, index);
    bool in_call =
        waiting && waiting->kind != ANA_WAITING_DEVICE; /* whether the host waits for its device is not sure */
    if (!ana_rank_moves(c, index) || in_call || c->moved[index] || !ana_case_known(c, index))
        return -1;
    const struct ana_last_events *last_events = ana_case_last_events(c, index);
    int64_t last = INT64_MIN;
    for (size_t t = 0; t < TRC_MAX_THREADS; t++)
        last = last_events->progress_ns[t] > last ? last_events->progress_ns[t] : last;
    const struct ana_rank *r = &c->job->process[index].rank;
    if (!ana_case_events_known(c, index) && c->job->process[index].last_end_ns > last)
        last = c->job->process[index].last_end_ns;
    return last == INT64_MIN || last < r->begin_ns ? r->end_ns - r->begin_ns : r->end_ns > last ? r->end_ns - last : 0;
}

/* Whether the missing rank still makes progress elsewhere.  That is no trouble for long: those who wait may have
 * nothing else to do.  When most of the communicator has waited many times as long as for a hang, it is worth a word.
 */
static bool elsewhere(struct ana_case *c, const struct ana_group *g, int64_t lasted)
{
    size_t members = (size_t)(g->comm->def.size + g->comm->def.remote_size);
    if (!c->live || lasted == INT64_MAX || lasted / BUSY_TIMES < c->rules.hang_ns || g->inside * 2 <= members)
        return false;
    bool free = false;
    for (size_t i = 0; i < g->missing_count; i++)
        free |= ana_rank_moves(c, g->missing[i]) && ana_case_known(c, g->missing[i]);
    if (!free || !ana_case_settle(c, ANA_CLASS_MISSING, ANA_POSSIBLE, lasted))
        return false;
    for (size_t i = 0; i < g->missing_count; i++)
        if (ana_rank_moves(c, g->missing[i]) && ana_case_known(c, g->missing[i]))
            ana_case_blame(c, g->missing[i]);
    c->out->state = ANA_VERDICT_SLOW;
    return true;
}

static bool group_misses(struct ana_case *c, const struct ana_group *g)
{
    int64_t lasted = g->lasted_ns;
    for (size_t i = 0; i < g->missing_count; i++) {
        int64_t is_stopped = stands_outside(c, g->missing[i]);
        if (is_stopped < c->rules.hang_ns)
            continue;
        ana_case_blame(c, g->missing[i]);
        lasted = is_stopped < lasted ? is_stopped : lasted;
    }
    bool slow = c->out->culprits == 0 && g->nowhere == 0 && elsewhere(c, g, lasted);
    if (!slow && ((c->out->culprits == 0 && g->nowhere == 0) || lasted == INT64_MAX ||
                  !ana_case_settle_by_time(c, ANA_CLASS_MISSING, lasted))) {
        c->out->culprits = 0;
        return false;
    }
    char who[128] = "a rank without a trace file", comm[128];
    if (g->call.sig->flags & TRC_SIG_CONTROL) /* its background loop stands still */
        c->out->id = ANA_CLASS_LOOP_DEAD;
    if (c->out->culprits) {
        ana_rank_list(c->job, c->out->culprit, c->out->culprits, who, sizeof who);
    } else if (ana_remote_unknown(c->job, g->call.index, g->comm)) { /* it has a file: which one is not known */
        snprintf(who, sizeof who, "a rank of another world, which cannot be told from its siblings,");
        c->out->confidence = ANA_POSSIBLE;
    }
    ana_comm_words(c->job, g->comm, comm, sizeof comm);
    ana_case_say(c, "%s %s not come to %s on %s, where %zu of %d wait", who, c->out->culprits > 1 ? "have" : "has",
                 g->call.name, comm, g->inside, g->comm->def.size + g->comm->def.remote_size);
    ana_case_evidence(c, "it is collective %llu on that %s; the last to come came %.1f s ago",
                      (unsigned long long)g->sequence + 1, ana_comm_kind(g->comm), (double)lasted / 1e9);
    if (slow)
        ana_case_evidence(c, "meanwhile other calls of MPI get on there");
    return true;
}

static void say_locked(struct ana_case *c, const struct ana_waiting *p, const struct ana_dependency *w, size_t holder)
{
    char comm[128];
    ana_comm_words(c->job, w->comm, comm, sizeof comm);
    ana_case_say(c, "rank %s is in %s: rank %s has locked the window of rank %d and is outside MPI",
                 ana_rank_label(c->job, p->index).text, p->call->name, ana_rank_label(c->job, holder).text, w->target);
    ana_case_evidence(c, "rank %s called MPI_Win_lock (%s) on %s for rank %d, and not MPI_Win_unlock",
                      ana_rank_label(c->job, holder).text, w->shared ? "shared" : "exclusive", comm, w->target);
    ana_case_next(c, "why that rank does not come to its MPI_Win_unlock");
}

/* Finds a message that is waited for from a rank outside MPI. */
static bool message_misses(struct ana_case *c, struct ana_waiting *p)
{
    ana_waiting_dependencies(c, p);
    for (uint32_t i = 0; i < p->dependencies; i++) {
        struct ana_dependency *w = &c->dependency[p->first_dependency + i];
        size_t partner = ana_dependency_partner(c, w);
        int64_t is_stopped =
            w->kind == ANA_DEPENDENCY_COLLECTIVE || partner == SIZE_MAX ? -1 : stands_outside(c, partner);
        if (is_stopped < c->rules.hang_ns)
            continue; /* a server, or a worker that is idle, waits for as long as the others have no need of it */
        ana_dependency_check(c, p, w, partner);
        if (w->met > 0)
            continue;
        ana_case_blame(c, partner);
        if (!ana_case_settle_by_time(c, w->kind == ANA_DEPENDENCY_MESSAGE ? ANA_CLASS_UNMATCHED : ANA_CLASS_CYCLE,
                                     is_stopped < p->lasted_ns ? is_stopped : p->lasted_ns)) {
            c->out->culprits = 0;
            continue;
        }
        if (w->kind == ANA_DEPENDENCY_LOCK) {
            say_locked(c, p, w, partner);
            return true;
        }
        if (w->near_messages || w->taken)
            ana_case_blame(c, p->index);
        char wanted[256], call[256];
        ana_dependency_words(c, w, wanted, sizeof wanted);
        ana_waiting_words(c, p, call, sizeof call);
        if (w->near_messages || w->taken)
            ana_say_near(c, p, w, partner);
        else if (w->kind == ANA_DEPENDENCY_MESSAGE)
            ana_case_say(c, "rank %s waits for %s, which has not sent it; it is outside MPI",
                         ana_rank_label(c->job, p->index).text, wanted);
        else
            ana_case_say(c, "rank %s is in %s, which rank %s does not receive; it is outside MPI",
                         ana_rank_label(c->job, p->index).text, call, ana_rank_label(c->job, partner).text);
        return true;
    }
    return false;
}

bool ana_find_missing(struct ana_case *c)
{
    /* The fullest group first: where most ranks wait, the missing rank is missing; the others may have gone on. */
    for (size_t below = SIZE_MAX, most = 1; most > 0; below = most) {
        most = 0;
        for (size_t i = 0; i < c->groups.count; i++) {
            const struct ana_group *g = ana_group_at(c, i);
            most = g->blocked && g->looked && g->inside < below && g->inside > most ? g->inside : most;
        }
        for (size_t i = 0; i < c->groups.count && most; i++) {
            const struct ana_group *g = ana_group_at(c, i);
            if (g->blocked && g->looked && g->inside == most && group_misses(c, g))
                return true;
        }
    }
    for (size_t i = 0; i < c->waiting_count; i++) {
        struct ana_waiting *p = &c->waiting[i];
        if (p->blocked && p->kind == ANA_WAITING_MESSAGES && message_misses(c, p))
            return true;
    }
    return false;
}

/* ---- all are there, and nothing moves --------------------------------------------------------------------------- */

/* Whether ranks inside a collective poll and get no processor, because others have it: then it takes as much longer. */
static bool starved(const struct ana_case *c, const struct ana_group *g, int64_t lasted)
{
    for (size_t i = 0; i < c->waiting_count && lasted / BUSY_TIMES < c->rules.hang_ns; i++) {
        const struct ana_waiting *p = &c->waiting[i];
        if (p->kind == ANA_WAITING_COLLECTIVE && ana_group_at(c, p->group) == g &&
            ana_samples_queued(c, p->index) >= STARVED_SHARE)
            return true;
    }
    return false;
}

bool ana_find_inside(struct ana_case *c)
{
    for (size_t i = 0; i < c->groups.count; i++) {
        const struct ana_group *g = ana_group_at(c, i);
        int64_t lasted = g->lasted_ns;
        if (!g->blocked || !g->looked || g->missing_count || g->nowhere || starved(c, g, lasted) ||
            !ana_case_settle(c, ANA_CLASS_INSIDE, ANA_LIKELY, lasted))
            continue;
        char comm[128], bytes[ANA_TEXT];
        ana_comm_words(c->job, g->comm, comm, sizeof comm);
        uint64_t most = g->call.sig->sent > g->call.sig->received ? g->call.sig->sent : g->call.sig->received;
        ana_case_say(c, "all %d ranks have come to %s on %s (%s), and %zu do not come out of it",
                     g->comm->def.size + g->comm->def.remote_size, g->call.name, comm,
                     ana_number(bytes, sizeof bytes, ANA_BYTES, (double)most, false), g->inside);
        return true;
    }
    return false;
}

static void blame_partner(struct ana_case *c, const struct ana_dependency *w)
{
    size_t partner = w->kind == ANA_DEPENDENCY_MESSAGE ? ana_dependency_partner(c, w) : SIZE_MAX;
    if (partner == SIZE_MAX)
        return;
    ana_case_blame(c, partner);
    c->out->id = ANA_CLASS_UNMATCHED;
}

/* Writes about ranks that collectives wait for, and whose own calls wait for something unknown. */
static bool say_unknown(struct ana_case *c)
{
    for (size_t i = 0; i < c->groups.count; i++) {
        const struct ana_group *g = ana_group_at(c, i);
        const struct ana_waiting *odd = NULL;
        for (size_t k = 0; k < g->missing_count && g->blocked; k++) {
            const struct ana_waiting *waiting = ana_rank_waiting(c, g->missing[k]);
            if (!waiting || waiting->kind == ANA_WAITING_COLLECTIVE || waiting->kind == ANA_WAITING_FINALIZE)
                continue;
            odd = odd ? odd : waiting;
            ana_case_blame(c, g->missing[k]);
        }
        if (!odd)
            continue;
        char who[128], call[256], comm[128];
        ana_rank_list(c->job, c->out->culprit, c->out->culprits, who, sizeof who);
        ana_waiting_words(c, odd, call, sizeof call);
        ana_comm_words(c->job, g->comm, comm, sizeof comm);
        bool many = c->out->culprits > 1;
        c->out->id = ANA_CLASS_MISSING;
        if (c->out->culprits == 1 &&
            odd->dependencies == 1) /* a message that was begun and does not come, as of partitions */
            blame_partner(c, &c->dependency[odd->first_dependency]);
        ana_case_say(c, "%s %s not come out of %s, and %zu of %d wait in %s on %s", who, many ? "do" : "does", call,
                     g->inside, g->comm->def.size + g->comm->def.remote_size, g->call.name, comm);
        ana_case_next(c, "who has to do its part there, and whether it came to that");
        return true;
    }
    return false;
}

static bool needs_message(struct ana_case *c, struct ana_waiting *p)
{
    ana_waiting_dependencies(c, p);
    for (uint32_t i = 0; i < p->dependencies; i++)
        if (c->dependency[p->first_dependency + i].kind <= ANA_DEPENDENCY_RECEIVER)
            return true;
    return false;
}

/* Nothing else fits, but nobody has completed a call for long, and somebody is in one.  A rank in MPI_Finalize waits
 * for all. */
bool ana_find_no_progress(struct ana_case *c)
{
    size_t inside = 0, outside = 0, leaving = 0, connecting = 0, messages = 0, others = 0;
    const struct ana_waiting *connect = NULL;
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_process *p = &c->job->process[i];
        struct ana_waiting *waiting = ana_rank_waiting(c, i);
        int64_t end = waiting && (waiting->kind == ANA_WAITING_POLL || waiting->since_ns > p->last_end_ns)
                          ? waiting->since_ns
                          : p->last_end_ns;
        if (ana_case_ended(c, i))
            continue;
        bool device = waiting && waiting->kind == ANA_WAITING_DEVICE; /* it may compute there */
        if (device || !ana_case_known(c, i)) {
            c->out->culprits = 0;
            return false;
        }
        last = end > last ? end : last;
        inside += waiting != NULL;
        leaving += waiting && waiting->kind == ANA_WAITING_FINALIZE;
        others += waiting && waiting->kind == ANA_WAITING_OTHER;
        messages += waiting && needs_message(c, waiting);
        if (waiting && waiting->call->opclass == TRC_OP_SPAWN && ++connecting)
            connect = waiting;
        if (!waiting && ++outside)
            ana_case_blame(c, i);
    }
    bool at_end = leaving == inside && outside, at_connect = connecting == inside;
    enum ana_verdict_class id = at_end               ? ANA_CLASS_MISSING
                                : others || !outside ? ANA_CLASS_NONE
                                : messages           ? ANA_CLASS_UNMATCHED
                                                     : ANA_CLASS_MISSING;
    char who[128];
    ana_rank_list(c->job, c->out->culprit, c->out->culprits, who, sizeof who);
    if (!inside || ana_case_starting(c) || !ana_case_settle_by_time(c, id, c->job->end_ns - last)) {
        c->out->culprits = 0;
        return false;
    }
    if (others) /* whose part it is to come there is not known */
        c->out->culprits = 0;
    if (at_end) {
        ana_case_say(c, "%s %s not come to MPI_Finalize, where %zu wait", who, outside == 1 ? "has" : "have", inside);
        return true;
    }
    c->out->confidence = ANA_POSSIBLE;
    if (at_connect) /* MPI_Comm_accept, MPI_Comm_connect .. */
        ana_case_say(c, "%zu rank%s in %s, and nobody meets %s there", inside, inside == 1 ? " waits" : "s wait",
                     connect->call->name, inside == 1 ? "it" : "them");
    else if (outside)
        ana_case_say(c, "nothing moves: %s %s outside MPI, %zu inside", who, outside == 1 ? "is" : "are", inside);
    else
        ana_case_say(c, "nothing moves: %s inside MPI", inside == 1 ? "the rank is" : "all ranks are");
    if (!outside && leaving != inside && say_unknown(c))
        c->out->confidence = ANA_LIKELY;
    return true;
}
