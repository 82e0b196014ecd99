/* A rank outside MPI is waited for; or all ranks are inside, and nothing moves. */
#include "trace/verdict/epochs.h"
#include "trace/verdict/life.h"
#include "trace/verdict/verdict_impl.h"
#include <string.h>

#define STARVED_SHARE 0.3 /* share of the time: a rank that is ready to run and seldom gets a processor */
#define STARVED_NS    1e9 /* processor time in a collective after which it does not take that long */
#define COPY_NS       20u /* time that a byte may take in a collective */
#define COPIED_MOST   (UINT64_C(1) << 50)
#define BUSY_TIMES    10 /* multiple of hang_ns for ranks that get on elsewhere, or get no processor */

/* ---- somebody outside MPI is waited for ------------------------------------------------------------------------- */

/* For how long, in ns, a rank outside MPI has done nothing that is seen; -1: it does something, or is inside.
 * `listens`: threads of it may wait for messages from any source. */
static int64_t stands_outside(struct ana_case *c, size_t index, bool listens)
{
    const struct ana_waiting *waiting = ana_rank_waiting(c, index);
    bool in_call =
        waiting && waiting->kind != ANA_WAITING_DEVICE && !c->rank[index].lives; /* for its device: not sure */
    if (((!ana_rank_moves(c, index) || in_call) && !(listens && ana_only_listens(c, index))) || c->rank[index].moved ||
        !ana_case_known(c, index))
        return -1;
    const struct ana_last_events *last_events = ana_case_last_events(c, index);
    int64_t last = INT64_MIN;
    for (size_t t = 0; t < TRC_MAX_THREADS; t++)
        last = last_events->progress_ns[t] > last ? last_events->progress_ns[t] : last;
    int64_t begin = c->members->process[index].rank.begin_ns, end = ana_case_end(c, index);
    if (!ana_case_events_known(c, index) && c->members->process[index].last_end_ns > last)
        last = c->members->process[index].last_end_ns;
    last = last < begin ? begin : last;
    return end > last ? end - last : 0;
}

/* A fact about a collective in which some wait. */
static struct ana_fact fact_of(const struct ana_group *g, enum ana_sentence id)
{
    return (struct ana_fact){id,
                             .who = ANA_CULPRITS,
                             .call = {.name = g->call.name},
                             .comm = g->comm,
                             .count = (int64_t)g->inside,
                             .of = (int64_t)g->comm->def.size + g->comm->def.remote_size};
}

/* Blames the missing ranks that still make progress elsewhere. That is no trouble for long: the waiting ranks may have
 * nothing else to do. When most of the communicator has waited many times as long as for a hang, it is worth a word. */
static bool elsewhere(struct ana_case *c, const struct ana_group *g, int64_t lasted)
{
    size_t members = (size_t)(g->comm->def.size + g->comm->def.remote_size);
    if (!c->live || lasted == INT64_MAX || lasted / BUSY_TIMES < c->rules.hang_ns || g->inside * 2 <= members)
        return false;
    for (size_t i = 0; i < g->missing_count; i++)
        if (ana_rank_moves(c, g->missing[i]) && ana_case_known(c, g->missing[i]))
            ana_case_blame(c, g->missing[i]);
    if (!c->out->culprits || !ana_case_settle(c, ANA_CLASS_MISSING, ANA_POSSIBLE, lasted))
        return false;
    c->out->state = ANA_VERDICT_WAITING;
    return true;
}

static bool group_misses(struct ana_case *c, const struct ana_group *g)
{
    int64_t lasted = g->lasted_ns;
    for (int listens = 0; listens < 2 && !c->out->culprits; listens++)
        for (size_t i = 0; i < g->missing_count; i++) {
            int64_t stood = stands_outside(c, g->missing[i], listens);
            if (stood < c->rules.hang_ns)
                continue;
            ana_case_blame(c, g->missing[i]);
            lasted = stood < lasted ? stood : lasted;
        }
    bool unknown = !c->out->culprits && ana_remote_unknown(c->job, g->call.index, g->comm);
    for (size_t i = 0; i < c->count && unknown; i++) /* the files of the other side are not known */
        if (c->members->process[i].rank.world != c->members->process[g->call.index].rank.world &&
            stands_outside(c, i, false) >= c->rules.hang_ns)
            ana_case_blame(c, i);
    bool slow = c->out->culprits == 0 && g->nowhere == 0 && elsewhere(c, g, lasted);
    if (!slow && ((c->out->culprits == 0 && g->nowhere == 0) || lasted == INT64_MAX ||
                  !ana_case_settle_by_time(c, ANA_CLASS_MISSING, lasted))) {
        c->out->culprits = 0;
        return false;
    }
    for (size_t i = 0; i < c->out->culprits; i++)
        ana_tell_outside(c, c->out->culprit[i]);
    const bool world = !c->out->culprits && !unknown && g->comm->def.flags & TRC_COMM_WORLD;
    const size_t absent = world ? ana_blame_absent(c) : 0;
    c->out->summary = fact_of(g, c->out->culprits ? ANA_SENTENCE_NOT_COME
                                 : unknown        ? ANA_SENTENCE_NOT_COME_WORLD
                                                  : ANA_SENTENCE_NOT_COME_NO_FILE);
    if (absent)
        ana_explain_absent(c, absent, g->call.name, g->inside);
    if (g->call.sig->flags & TRC_SIG_CONTROL) /* Horovod's background loop stands still */
        c->out->id = ANA_CLASS_LOOP_DEAD;
    if (unknown)
        c->out->confidence = ANA_POSSIBLE;
    ANA_FACT(c, ANA_SENTENCE_COLLECTIVE_NUMBER, .number = (int64_t)g->sequence + 1, .comm = g->comm, .time = lasted);
    if (slow)
        ANA_FACT(c, ANA_SENTENCE_OTHERS_GET_ON);
    return true;
}

static void explain_outside(struct ana_case *c, const struct ana_waiting *p, const struct ana_dependency *w,
                            size_t partner)
{
    if (w->kind == ANA_DEPENDENCY_EPOCH) {
        ana_explain_epoch(c, p, w, 1);
        return;
    }
    static const enum ana_sentence says[ANA_DEPENDENCY_EPOCH + 1] = {
        [ANA_DEPENDENCY_MESSAGE] = ANA_SENTENCE_SENDER_OUTSIDE,
        [ANA_DEPENDENCY_RECEIVER] = ANA_SENTENCE_RECEIVER_OUTSIDE,
        [ANA_DEPENDENCY_LOCK] = ANA_SENTENCE_LOCKED};
    ANA_SUMMARY(c, says[w->kind], .who = ana_one_rank(p->index), .message = w, .call = ana_waiting_call(p),
                .others = ana_one_rank(partner), .number = w->target);
    if (w->kind == ANA_DEPENDENCY_LOCK)
        ana_explain_lock(c, w);
}

/* Finds a message that is waited for from a rank outside MPI. */
static bool message_misses(struct ana_case *c, struct ana_waiting *p)
{
    ana_waiting_dependencies(c, p);
    for (struct ana_dependency *w = ana_need(c, p, 0); w < ana_need(c, p, p->dependencies); w++) {
        size_t partner = ana_dependency_partner(c, w);
        int64_t stood = w->kind == ANA_DEPENDENCY_COLLECTIVE || partner == SIZE_MAX
                            ? -1
                            : stands_outside(c, partner, false); /* a thread that listens may answer */
        if (stood < c->rules.hang_ns)
            continue; /* a server, or a worker that is idle, waits for as long as the others have no need of it */
        ana_dependency_check(c, p, w, partner);
        if (w->met > 0)
            continue;
        ana_case_blame(c, partner);
        if (!ana_case_settle_by_time(c, w->kind == ANA_DEPENDENCY_MESSAGE ? ANA_CLASS_UNMATCHED : ANA_CLASS_CYCLE,
                                     stood < p->lasted_ns ? stood : p->lasted_ns)) {
            c->out->culprits = 0;
            continue;
        }
        if (w->near_messages || w->taken) {
            ana_case_blame(c, p->index);
            ana_explain_near(c, w, partner);
        } else {
            explain_outside(c, p, w, partner);
        }
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
    for (struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++) {
        if (p->blocked && p->kind == ANA_WAITING_MESSAGES && message_misses(c, p))
            return true;
    }
    return false;
}

/* ---- all are there, and nothing moves --------------------------------------------------------------------------- */

/* Whether a rank inside a collective got little processor time there, because others have it. */
static bool is_starved(const struct ana_case *c, const struct ana_group *g, int64_t lasted)
{
    for (const struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count) && lasted / BUSY_TIMES < c->rules.hang_ns;
         p++) {
        double used_ns, queued;
        if (p->kind == ANA_WAITING_COLLECTIVE && ana_group_at(c, p->group) == g &&
            ana_life_inside(c, p, &used_ns, &queued) && queued >= STARVED_SHARE && used_ns < STARVED_NS)
            return true;
    }
    return false;
}

/* Whether a reduction may call an operation of the program's own, which computes for as long as it likes. */
static bool may_compute(const struct ana_case *c, const struct ana_call *call)
{
    bool reduces = strstr(call->name, "educe") || strstr(call->name, "can") || trc_opclass_is_one_sided(call->opclass);
    for (size_t i = 0; i < c->count && reduces; i++) {
        const struct trc_file *file = ana_case_file(c, i);
        for (size_t t = 0, n; t < trc_threads(file); t++) {
            const struct trc_counter *row = trc_rows(file, t, &n);
            for (size_t k = 0; k < n; k++)
                if (row[k].call_plus_1 &&
                    strncmp(trc_call(file, row[k].call_plus_1 - 1u)->name, "MPI_Op_create", 13) == 0)
                    return true;
        }
    }
    return false;
}

/* Whether the ranks' arguments of a collective were compared (mismatch.c): each rank's counts of a vector variant are
 * not recorded. */
static bool is_compared(const struct ana_call *call)
{
    size_t length = strcspn(call->name + strlen("MPI_"), "_") + strlen("MPI_");
    if (strncmp(call->name, "MPI_Neighbor", 12) == 0 || strstr(call->name, "educe_scatter"))
        return false;
    bool vector = call->name[length - 1] == 'v' || call->name[length - 1] == 'w';
    return call->opclass == TRC_OP_BARRIER || (trc_opclass_agreed(call->opclass) != TRC_AGREED_NOTHING && !vector);
}

/* The root of a collective, if it has come out of it though another rank waits for its data; else SIZE_MAX. */
static size_t root_outside(struct ana_case *c, const struct ana_group *g)
{
    size_t root = trc_opclass_shape(g->call.opclass) == TRC_SHAPE_FROM_ROOT
                      ? ana_partner(c->job, g->call.index, g->comm, g->call.sig->peer)
                      : SIZE_MAX;
    const struct ana_waiting *p = root == SIZE_MAX ? NULL : ana_rank_waiting(c, root);
    return p && p->group != ANA_NO_GROUP && ana_group_at(c, p->group) == g ? SIZE_MAX : root;
}

bool ana_blame_callbacks(struct ana_case *c, const struct ana_group *g)
{
    const struct ana_stacks *stacks = ana_case_stacks(c);
    char place[200], line[512];
    bool stuck = false;
    for (const struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++)
        for (const struct ana_stack *s = stacks->stack; s < stacks->stack + stacks->count; s++) {
            bool there = g ? p->kind == ANA_WAITING_COLLECTIVE && ana_group_at(c, p->group) == g
                           : p->kind == ANA_WAITING_FINALIZE;
            if (!there || p->nested || s->index != p->index ||
                s->tid != trc_thread(ana_case_file(c, p->index), p->thread)->tid || !ana_stack_in_callback(s) ||
                ana_clock_job_time(c->members->clock, p->index, s->ticks) < p->since_ns)
                continue;
            ana_case_blame(c, p->index);
            ana_stack_place_words(c->job, s, place, sizeof place);
            ana_stack_line_at(s, place, line, sizeof line);
            bool runs = s->state == 'R';
            ANA_FACT(c, ANA_SENTENCE_IN_OPERATION, .who = ana_one_rank(p->index), .call = {.name = p->call->name},
                     .name = ana_case_text(c, runs ? place : line), .count = runs);
            stuck |= strncmp(s->on, "futex", 5) == 0 || strncmp(s->on, "pause", 5) == 0;
        }
    return stuck;
}

bool ana_find_inside(struct ana_case *c)
{
    for (size_t i = 0; i < c->groups.count; i++) {
        const struct ana_group *g = ana_group_at(c, i);
        const struct trc_sig *sig = g->call.sig;
        uint64_t most = sig->sent > sig->received ? sig->sent : sig->received;
        int64_t lasted = g->lasted_ns, copies = most < COPIED_MOST ? (int64_t)(most * COPY_NS) : 0;
        if (!g->blocked || !g->looked || g->missing_count || g->nowhere || lasted - copies < c->rules.hang_ns ||
            !ana_case_settle(c, ANA_CLASS_INSIDE, ANA_LIKELY, lasted))
            continue;
        c->out->summary = fact_of(g, ANA_SENTENCE_ALL_HAVE_COME);
        bool own = may_compute(c, &g->call), stuck = own && ana_blame_callbacks(c, g);
        if (!stuck && (own || is_starved(c, g, lasted))) {
            ana_case_set(c, ANA_VERDICT_WAITING, ANA_CLASS_INSIDE, ANA_POSSIBLE);
            ANA_FACT(c, own ? ANA_SENTENCE_OWN_OPERATION : ANA_SENTENCE_STARVED);
        }
        if (own)
            c->out->next.id = ANA_SENTENCE_NEXT_OPERATION;
        else if (!is_compared(&g->call)) {
            c->out->next.id = ANA_SENTENCE_NEXT_NOT_COMPARED;
            ana_case_blame(c, root_outside(c, g));
        }
        c->out->summary.size = most == TRC_BYTES_UNKNOWN ? 0 : most;
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

/* The receiver of a partitioned message that one of the blamed waits to end, where both of its ends are started: only
 * MPI_Pready is lacking.  *sender: that one.  NULL: none. */
static const struct ana_dependency *find_unready(struct ana_case *c, size_t *sender)
{
    for (size_t i = 0; i < c->out->culprits; i++) {
        *sender = c->out->culprit[i];
        const struct ana_waiting *p = ana_rank_waiting(c, *sender);
        const struct ana_last_events *events = ana_case_last_events(c, *sender);
        for (const struct ana_dependency *d = ana_need(c, p, 0); d < ana_need(c, p, p->dependencies); d++)
            for (size_t k = 0; k < events->opens && d->kind == ANA_DEPENDENCY_RECEIVER && d->met > 0; k++)
                if (strncmp(events->open[k].call->name, "MPI_Psend", 9) == 0 && events->open[k].sig.peer == d->peer &&
                    events->open[k].sig.tag == d->tag)
                    return d;
    }
    return NULL;
}

/* Explains the ranks that collectives wait for, and whose own calls wait for something unknown. */
static bool explain_unknown(struct ana_case *c)
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
        c->out->id = ANA_CLASS_MISSING;
        size_t sender;
        const struct ana_dependency *unready = find_unready(c, &sender);
        if (unready) {
            c->out->id = ANA_CLASS_UNMATCHED;
            c->out->culprits = 0;
            ana_case_blame(c, sender);
            ANA_SUMMARY(c, ANA_SENTENCE_NOT_READY, .who = ANA_CULPRITS,
                        .call = ana_waiting_call(ana_rank_waiting(c, sender)),
                        .others = ana_one_rank(ana_dependency_partner(c, unready)));
            c->out->next.id = ANA_SENTENCE_NEXT_READY;
            return true;
        }
        struct ana_fact fact = fact_of(g, ANA_SENTENCE_NOT_OUT);
        fact.who = ana_case_ranks(c, c->out->culprit, c->out->culprits);
        fact.other_call = fact.call;
        fact.call = ana_waiting_call(odd);
        c->out->summary = fact;
        c->out->next.id = ANA_SENTENCE_NEXT_PART;
        if (fact.who.n == 1 &&
            odd->dependencies == 1) /* a message that was begun and does not come, as of partitions */
            blame_partner(c, &c->dependency[odd->first_dependency]);
        return true;
    }
    return false;
}

static bool needs_message(struct ana_case *c, struct ana_waiting *p)
{
    ana_waiting_dependencies(c, p);
    for (const struct ana_dependency *d = ana_need(c, p, 0); d < ana_need(c, p, p->dependencies); d++)
        if (d->kind <= ANA_DEPENDENCY_RECEIVER)
            return true;
    return false;
}

/* Nothing else fits, but nobody has completed a call for long, and somebody is in one.  A rank in MPI_Finalize waits
 * for all. */
bool ana_find_no_progress(struct ana_case *c)
{
    size_t inside = 0, outside = 0, leaving = 0, connecting = 0, messages = 0, others = 0;
    const struct ana_waiting *connect = NULL;
    int64_t last = INT64_MIN, now = c->members->end_ns < c->until_ns ? c->members->end_ns : c->until_ns;
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_process *p = &c->members->process[i];
        struct ana_waiting *waiting = c->rank[i].lives ? NULL : ana_rank_waiting(c, i);
        int64_t end = waiting && (waiting->kind == ANA_WAITING_POLL || waiting->since_ns > p->last_end_ns)
                          ? waiting->since_ns
                          : p->last_end_ns;
        if (ana_case_ended(c, i))
            continue;
        bool device = waiting && waiting->kind == ANA_WAITING_DEVICE; /* it may compute there */
        if (device || !ana_case_known(c, i) || p->rank.off) {
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
    struct ana_fact fact = {ANA_SENTENCE_NOTHING_MOVES, .who = ana_case_ranks(c, c->out->culprit, outside),
                            .count = (int64_t)inside};
    if (!inside || ana_case_starting(c) || !ana_case_settle_by_time(c, id, now - last)) {
        c->out->culprits = 0;
        return false;
    }
    if (others) /* the ranks whose part it is to come there are not known */
        c->out->culprits = 0;
    if (at_end) {
        fact.id = ANA_SENTENCE_NOT_COME_FINALIZE;
    } else if (at_connect) { /* MPI_Comm_accept, MPI_Comm_connect .. */
        fact.id = ANA_SENTENCE_NOBODY_MEETS;
        fact.call.name = connect->call->name;
    }
    if (c->out->state == ANA_VERDICT_WAITING)
        fact.id = ANA_SENTENCE_WORKS_OUTSIDE;
    c->out->summary = fact;
    if (!at_end)
        c->out->confidence = ANA_POSSIBLE;
    if (!outside && leaving != inside && explain_unknown(c))
        c->out->confidence = ANA_LIKELY;
    return true;
}
