/* Whether what a rank waits for is under way: which messages between two ranks were sent and never taken. */
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>
#include <string.h>

#define SCANS_MAX   16u     /* pairs of ranks whose streams are read in full for one verdict, however long they are, */
#define RECORDS_MAX 400000u /* .. and more while both ends have had fewer records than this together */

/* Messages of one communicator and tag; by (thread, request, OPEN) a receive that is later, or from any source or of
 * any tag. */
struct flow {
    int64_t sent;
    struct ana_taken by; /* receives that took some */
    int64_t later;       /* taken by receives posted after the one that waits */
    uint64_t next;       /* bytes of the message for the receive that waits, if all posted before it have completed */
};
enum { OPEN = 1 };

/* ---- by counters ------------------------------------------------------------------------------------------------ */

int64_t ana_messages(const struct ana_case *c, size_t from, size_t to, bool received)
{
    const struct ana_rank *mine = &c->members->process[received ? to : from].rank;
    const struct ana_rank *far = &c->members->process[received ? from : to].rank;
    int32_t other = far->rank;
    int64_t sum = 0;
    if (!mine->counted || mine->world != far->world)
        return -1; /* the counters know partners of their own world only */
    for (size_t t = 0, n; t < trc_threads(mine->file); t++) {
        const struct trc_peer *peer = trc_peers(mine->file, t, &n);
        if (trc_thread(mine->file, t)->peer_overflow)
            return -1;
        for (size_t k = 0; k < n; k++)
            if (peer[k].rank_plus_1 == (uint32_t)other + 1)
                sum += (int64_t)(received ? peer[k].received_messages : peer[k].sent_messages);
    }
    return sum;
}

/* Whether a thread of `from` is inside a send to `to` now, which is not counted yet. */
static bool sends_now(const struct ana_case *c, size_t from, size_t to)
{
    for (const struct ana_waiting *p = ana_waits(c, from); p < ana_waits(c, from + 1); p++) {
        const struct trc_sig *sig = p->sig;
        if (sig->flags & TRC_SIG_P2P_OUT && ana_partner(c->job, from, p->comm, sig->peer) == to)
            return true;
    }
    return false;
}

/* ---- by events -------------------------------------------------------------------------------------------------- */

static struct flow *flow_of(struct ana_case *c, struct ana_map *flows, size_t index, const struct trc_sig *sig,
                            int32_t tag)
{
    const struct trc_comm *comm = trc_comm(ana_case_file(c, index), sig->comm);
    struct flow *flow = ana_map_add(flows, ana_comm_identity(c->job, index, comm), (uint32_t)tag, 0);
    c->memory |= !flow;
    return flow;
}

static bool is_of(const struct ana_case *c, size_t index, const struct trc_sig *sig, int32_t peer, size_t other)
{
    return ana_partner(c->job, index, trc_comm(ana_case_file(c, index), sig->comm), peer) == other;
}

/* Whether a receive of rank `index` takes messages of rank `from`. */
static bool receives_from(const struct ana_case *c, size_t index, const struct trc_comm *comm, int32_t source,
                          size_t from)
{
    return source == TRC_PEER_ANY || ana_partner(c->job, index, comm, source) == from;
}

static void count_sent(struct ana_case *c, struct ana_map *flows, size_t index, size_t other,
                       const struct trc_record *rec)
{
    const struct trc_sig *sig = rec->sig;
    const bool back = sig->flags & TRC_SIG_CANCELLED && sig->flags & TRC_SIG_COMPLETE;
    if (!(sig->flags & TRC_SIG_P2P_OUT) || !is_of(c, index, sig, sig->peer, other) ||
        (sig->flags & TRC_SIG_COMPLETE && !back))
        return;
    struct flow *flow = flow_of(c, flows, index, sig, sig->tag);
    if (flow)
        flow->sent += back ? -1 : 1;
    if (flow && !back && flow->sent == flow->by.all - flow->later + 1)
        flow->next = sig->sent;
}

/* Counts receives that were given up while active.  One that was cancelled before has taken nothing. */
static void count_freed(struct ana_case *c, struct ana_map *flows, size_t index, size_t other,
                        const struct trc_record *rec, const struct trc_sig *parent)
{
    const struct trc_sig *sig = rec->sig;
    const char *name = trc_call(ana_case_file(c, index), parent->call)->name;
    const bool frees = sig->flags & TRC_SIG_SUB && strcmp(name, "MPI_Request_free") == 0,
               cancels = !(sig->flags & TRC_SIG_SUB) && strcmp(name, "MPI_Cancel") == 0;
    struct flow *flow = (frees || cancels) && sig->comm && is_of(c, index, sig, sig->source, other)
                            ? flow_of(c, flows, index, sig, sig->rtag)
                            : NULL;
    if (flow)
        flow->by.freed += frees ? 1 : -1;
    if (flow && frees)
        flow->by.freed_site = sig->site;
}

/* `parent`: the call whose record this is or belongs to. */
static void count_received(struct ana_case *c, struct ana_map *flows, size_t index, size_t other, int64_t posted_ns,
                           const struct trc_record *rec, const struct trc_sig *parent)
{
    const struct trc_sig *sig = rec->sig;
    const bool starts = sig->flags & TRC_SIG_START, any = sig->source == TRC_PEER_ANY || sig->rtag == TRC_TAG_ANY;
    count_freed(c, flows, index, other, rec, parent);
    if (!(sig->flags & TRC_SIG_P2P_IN) || sig->flags & TRC_SIG_CANCELLED)
        return;
    const bool later = ana_time_within(ana_clock_job_time(c->members->clock, index, rec->begin)) > posted_ns;
    struct flow *open = starts && (any || later) && rec->request != UINT64_MAX
                            ? ana_map_add(flows, rec->request_thread, rec->request, OPEN)
                            : NULL;
    if (open)
        *open = (struct flow){.by = {.site = sig->site, .any = any}, .later = later};
    if (starts || !is_of(c, index, sig, sig->source, other))
        return;
    open = sig->flags & TRC_SIG_COMPLETE ? ana_map_find(flows, rec->request_thread, rec->request, OPEN) : NULL;
    const bool by_any = (open && open->by.any) || sig->flags & (TRC_SIG_ANY_SOURCE | TRC_SIG_ANY_TAG);
    const int64_t after = sig->flags & TRC_SIG_COMPLETE ? (open ? open->later : 0) : later;
    const uint64_t site = open && open->by.any ? open->by.site : sig->site;
    struct flow *flow = flow_of(c, flows, index, sig, sig->rtag);
    if (!flow)
        return;
    flow->by.all++;
    flow->later += after;
    flow->by.any += by_any;
    flow->by.site = by_any || !flow->by.any ? site : flow->by.site;
    if (parent->flags & TRC_SIG_FAILED)
        flow->by.failed = *parent;
}

/* Adds what rank `index` sent to (or took from) rank `other`; receives posted after `posted_ns` are later ones.  False:
 * some of it is no longer in the file. */
static bool count_events(struct ana_case *c, struct ana_map *flows, size_t index, size_t other, bool sender,
                         int64_t posted_ns)
{
    struct trc_file *file = ana_case_file(c, index);
    const struct trc_head *head = trc_head(file);
    for (size_t t = 0; t < trc_threads(file); t++) {
        struct trc_cursor *cursor = trc_cursor_open(file, t);
        if (!cursor)
            return false;
        struct trc_sig parent = {0};
        for (struct trc_record rec; trc_next(cursor, &rec) == TRC_OK;) {
            if (rec.kind != TRC_RECORD_EVENT || !rec.sig || rec.sig->flags & (TRC_SIG_NESTED | TRC_SIG_POLL))
                continue;
            if (!(rec.sig->flags & TRC_SIG_SUB))
                parent = *rec.sig;
            if (sender)
                count_sent(c, flows, index, other, &rec);
            else
                count_received(c, flows, index, other, posted_ns, &rec, &parent);
        }
        trc_cursor_close(cursor);
    }
    for (const struct ana_waiting *p = ana_waits(c, index); sender && p < ana_waits(c, index + 1); p++) {
        const struct trc_sig *sig = p->sig;
        struct flow *flow;
        if (sig->flags & TRC_SIG_P2P_OUT && is_of(c, index, sig, sig->peer, other) &&
            (flow = flow_of(c, flows, index, sig, sig->tag)) && flow->sent++ == flow->by.all - flow->later)
            flow->next = sig->sent;
    }
    return !trc_misses_events(head);
}

/* Counts the messages that fit a dependency, by the receiver's events and, with `sends`, the sender's.  False: some of
 * the events are no longer in the files. */
static bool find_flow(struct ana_case *c, const struct ana_dependency *d, size_t receiver, size_t sender, bool sends,
                      struct flow *out)
{
    struct ana_map flows;
    ana_map_init(&flows, sizeof(struct flow));
    bool complete = count_events(c, &flows, receiver, sender, false, INT64_MAX);
    complete = (!sends || count_events(c, &flows, sender, receiver, true, INT64_MAX)) && complete;
    const struct flow *found = ana_map_find(&flows, d->identity, (uint32_t)d->tag, 0);
    *out = found ? *found : (struct flow){0};
    ana_map_free(&flows);
    return complete;
}

/* Number of open receives of `index`, posted before `before_ns`, that take such a message; `tag` may be any.
 * `complete`: only if they complete with it, unlike MPI_Mprobe. */
static int64_t open_receives(struct ana_case *c, size_t index, size_t source, uint64_t identity, int32_t tag,
                             int64_t before_ns, bool complete)
{
    struct ana_last_events *last_events = ana_case_last_events(c, index);
    int64_t n = 0;
    for (size_t i = 0; i < last_events->opens; i++) {
        const struct ana_open_request *r = &last_events->open[i];
        const struct trc_comm *comm = trc_comm(ana_case_file(c, index), r->sig.comm);
        n += r->sig.flags & TRC_SIG_P2P_IN && r->begin_ns < before_ns && comm &&
             ana_comm_identity(c->job, index, comm) == identity &&
             receives_from(c, index, comm, r->sig.source, source) &&
             (r->sig.rtag == TRC_TAG_ANY || tag == TRC_TAG_ANY || r->sig.rtag == tag) &&
             !(complete && r->call->opclass == TRC_OP_MPROBE);
    }
    return n;
}

/* Whether a message may have been meant for this receive.  One that differs in communicator and tag has its own receive
 * to come; a wrong tag is the more likely mistake. */
static bool is_near(const struct ana_dependency *d, uint64_t identity, int32_t tag)
{
    bool better = d->near_messages == 0 || d->near_identity != d->identity;
    bool same_tag = d->tag == TRC_TAG_ANY || tag == d->tag;
    return identity == d->identity || (same_tag && better);
}

/* Finds whether a message fits and, if not, the message that came instead. */
static void compare(struct ana_case *c, size_t receiver, size_t sender, struct ana_dependency *d)
{
    struct ana_map flows;
    ana_map_init(&flows, sizeof(struct flow));
    bool complete = count_events(c, &flows, receiver, sender, false, d->begin_ns);
    complete = count_events(c, &flows, sender, receiver, true, d->begin_ns) && complete;
    int64_t fits = 0, given_up = 0;
    bool any = false;
    for (size_t i = 0; i < flows.count; i++) {
        const struct flow *flow = ana_map_value(&flows, i);
        const uint64_t *key = ana_map_key(&flows, i);
        int64_t left = flow->sent - flow->by.all, freed = flow->by.freed > 0 ? flow->by.freed : 0;
        any |= flow->sent || flow->by.all; /* neither is of a receive */
        if (left <= 0)
            continue;
        if (key[0] == d->identity && (d->tag == TRC_TAG_ANY || (uint32_t)d->tag == key[1])) {
            fits += left;
            given_up += freed;
            d->came = left > 0 && complete ? flow->next : 0;
        } else if (is_near(d, key[0], (int32_t)key[1]) &&
                   left - freed > open_receives(c, receiver, sender, key[0], (int32_t)key[1], INT64_MAX, false)) {
            d->near_identity = key[0];
            d->near_tag = (int32_t)key[1];
            d->near_messages = (uint64_t)left;
        }
    }
    int64_t earlier = open_receives(c, receiver, sender, d->identity, d->tag, d->begin_ns, false) + given_up;
    if (earlier > 0)
        d->came = 0; /* an earlier receive takes it */
    d->taken = fits > 0 && earlier >= fits;
    d->met = fits > earlier || (!complete && fits >= 0 && !any);
    ana_map_free(&flows);
}

bool ana_dependency_taken(struct ana_case *c, const struct ana_dependency *d, size_t sender, struct ana_taken *out)
{
    *out = (struct ana_taken){0};
    if (d->kind != ANA_DEPENDENCY_MESSAGE || d->peer < 0 || d->tag < 0 || c->scans++ >= SCANS_MAX)
        return false;
    struct flow flow;
    if (!find_flow(c, d, d->index, sender, false, &flow))
        return false;
    *out = flow.by;
    return true;
}

static uint64_t count_records(const struct ana_case *c, size_t index)
{
    const struct trc_file *file = ana_case_file(c, index);
    uint64_t records = 0;
    for (size_t i = 0; i < trc_event_chunks(file); i++)
        records += trc_event_chunk(file, i).records;
    return records;
}

static bool may_scan(struct ana_case *c, size_t a, size_t b)
{
    bool may = c->scans < SCANS_MAX || c->scanned < RECORDS_MAX;
    c->scans += may;
    c->scanned += may ? count_records(c, a) + count_records(c, b) : 0;
    return may;
}

int64_t ana_dependency_strayed(struct ana_case *c, const struct ana_dependency *d, size_t sender, size_t other)
{
    if (d->kind != ANA_DEPENDENCY_MESSAGE || d->tag < 0 || !ana_message_left(c, sender, other) ||
        !may_scan(c, other, sender))
        return 0;
    struct flow flow;
    const bool never = find_flow(c, d, other, sender, true, &flow) && !flow.by.all &&
                       !open_receives(c, other, sender, d->identity, d->tag, INT64_MAX, false);
    return never ? flow.sent : 0;
}

static void look_for_message(struct ana_case *c, size_t receiver, struct ana_dependency *d, size_t sender)
{
    int64_t sent = ana_messages(c, sender, receiver, false), taken = ana_messages(c, sender, receiver, true);
    if (sent >= 0 && sent == taken && !sends_now(c, sender, receiver)) {
        d->met = 0;
        return;
    }
    d->unsure = !may_scan(c, receiver, sender);
    if (d->unsure)
        d->met = 0;
    else
        compare(c, receiver, sender, d);
}

/* Whether the message of a started send was taken already. */
static bool was_received(struct ana_case *c, size_t sender, const struct ana_dependency *d, size_t receiver)
{
    int64_t sent = ana_messages(c, sender, receiver, false), taken = ana_messages(c, sender, receiver, true);
    if (sent >= 0 && sent + d->half == taken)
        return true;
    if (taken <= 0 || c->send_scans++ >= SCANS_MAX)
        return false;
    struct flow flow;
    return find_flow(c, d, receiver, sender, true, &flow) && (flow.sent || flow.by.all) && flow.sent <= flow.by.all;
}

/* Finds whether the receiver of a send has a receive that takes it. */
static void look_for_receiver(struct ana_case *c, size_t sender, struct ana_dependency *d, size_t receiver)
{
    d->met = 0;
    for (const struct ana_waiting *p = ana_waits(c, receiver); p < ana_waits(c, receiver + 1); p++) {
        const struct trc_sig *sig = p->sig;
        bool receives = sig->flags & TRC_SIG_P2P_IN || p->call->opclass == TRC_OP_RECV;
        if (receives && p->identity == d->identity && receives_from(c, receiver, p->comm, sig->source, sender) &&
            (sig->rtag == d->tag || sig->rtag == TRC_TAG_ANY))
            d->met = 1;
    }
    if (open_receives(c, receiver, sender, d->identity, d->tag, INT64_MAX, true) > 0)
        d->met = 1;
    d->probed = open_receives(c, receiver, sender, d->identity, d->tag, INT64_MAX, false) > 0;
    if (!d->met && (d->started || d->half))
        d->met = was_received(c, sender, d, receiver);
}

bool ana_message_left(const struct ana_case *c, size_t sender, size_t receiver)
{
    return ana_messages(c, sender, receiver, false) > ana_messages(c, sender, receiver, true);
}

void ana_dependency_check(struct ana_case *c, const struct ana_waiting *waiting, struct ana_dependency *d,
                          size_t partner)
{
    if (d->kind >= ANA_DEPENDENCY_LOCK)
        d->met = 0;
    if (d->met >= 0 || d->kind == ANA_DEPENDENCY_COLLECTIVE)
        return;
    if (d->kind == ANA_DEPENDENCY_RECEIVER)
        look_for_receiver(c, waiting->index, d, partner);
    else
        look_for_message(c, waiting->index, d, partner);
}
