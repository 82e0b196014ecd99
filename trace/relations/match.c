/* Events to message ends and arrivals; requests lead from a completion back to its start. */
#include "trace/relations/match_impl.h"
#include <stdlib.h>
#include <string.h>

#define MAX_RANKS   (1u << 24)
#define MAX_WORLDS  (1u << 16)
#define MAX_THREADS 65536u

struct ana_match *ana_match_new(struct ana_match_sink sink)
{
    struct ana_match *match = calloc(1, sizeof *match);
    if (!match)
        return NULL;
    match->sink = sink;
    match->epoch = 1;
    ana_pool_init(&match->end_pool, sizeof(struct ana_end));
    ana_pool_init(&match->channel_pool, sizeof(struct ana_channel));
    ana_pool_init(&match->instance_pool, sizeof(struct ana_open_instance));
    ana_map_init(&match->channels, sizeof(struct ana_channel *));
    ana_map_init(&match->requests, sizeof(struct ana_open_request));
    ana_map_init(&match->instances, sizeof(struct ana_open_instance *));
    ana_map_init(&match->joining, sizeof(struct ana_coll_request));
    ana_map_init(&match->early, sizeof(struct ana_joined));
    ana_map_init(&match->begun_colls, sizeof(struct ana_begun_coll));
    ana_map_init(&match->partners, sizeof(struct ana_partner_line));
    return match;
}

void ana_match_free(struct ana_match *match)
{
    if (!match)
        return;
    ana_coll_free(match);
    ana_map_free(&match->channels);
    ana_map_free(&match->requests);
    ana_map_free(&match->instances);
    ana_map_free(&match->joining);
    ana_map_free(&match->early);
    ana_map_free(&match->begun_colls);
    ana_map_free(&match->partners);
    ana_pool_free(&match->end_pool);
    ana_pool_free(&match->channel_pool);
    ana_pool_free(&match->instance_pool);
    for (uint32_t i = 0; i < match->processes; i++) {
        if (!match->process[i])
            continue;
        free(match->process[i]->inside);
        free(match->process[i]->pending);
        free(match->process[i]);
    }
    for (uint32_t i = 0; i < match->worlds; i++)
        free(match->world[i].index);
    free(match->process);
    free(match->world);
    free(match);
}

/* ---- ranks ----------------------------------------------------------------------------------------------------- */

/* Makes an array at least `count` long; new elements are zero.  NULL: out of memory, and the array is as before. */
static void *lengthen_array(void *array, uint32_t *length, size_t count, size_t size)
{
    if (count <= *length)
        return array;
    size_t more = count + count / 2 + 4;
    void *moved = realloc(array, more * size);
    if (!moved)
        return NULL;
    memset((char *)moved + *length * size, 0, (more - *length) * size);
    *length = (uint32_t)more;
    return moved;
}

bool ana_match_set_rank(struct ana_match *match, size_t index, const struct ana_match_rank *rank)
{
    if (index >= MAX_RANKS || rank->world >= MAX_WORLDS || rank->rank >= (int32_t)MAX_RANKS)
        return false;
    void *moved = lengthen_array(match->process, &match->processes, index + 1, sizeof *match->process);
    if (!moved)
        return false;
    match->process = moved;
    moved = lengthen_array(match->world, &match->worlds, rank->world + 1, sizeof *match->world);
    if (!moved)
        return false;
    match->world = moved;
    struct ana_world *world = &match->world[rank->world];
    if (rank->rank >= 0) {
        moved = lengthen_array(world->index, &world->size, (size_t)rank->rank + 1, sizeof *world->index);
        if (!moved)
            return false;
        world->index = moved;
    }
    struct ana_match_process *process = match->process[index];
    if (!process) {
        process = calloc(1, sizeof *process);
        if (!process || !(process->pending = calloc(ANA_MATCH_FEW, sizeof *process->pending))) {
            free(process);
            return false;
        }
        process->pending_room = ANA_MATCH_FEW;
        process->gap = match->begun;
        match->process[index] = process;
    }
    process->gap = process->gap || rank->recycled;
    process->is = *rank;
    match->epoch++;
    if (rank->rank >= 0)
        world->index[rank->rank] = (uint32_t)index + 1;
    return true;
}

uint32_t ana_match_index(const struct ana_match *match, uint32_t from, int32_t world_rank)
{
    const struct ana_world *world = &match->world[match->process[from]->is.world];
    if (world_rank < 0 || (uint32_t)world_rank >= world->size || world->index[world_rank] == 0)
        return ANA_NOBODY;
    return world->index[world_rank] - 1;
}

void ana_match_set_bridges(struct ana_match *match, const struct ana_bridges *bridges)
{
    if (!match)
        return;
    match->bridges = bridges;
    match->epoch++;
}

/* ---- signatures ------------------------------------------------------------------------------------------------ */

/* What the match does with an event, by its signature. */
enum ana_does {
    ANA_DOES_CALL = 1u << 0, /* the SUB items after it are seen by it */
    ANA_DOES_COMPLETE = 1u << 1,
    ANA_DOES_MEET = 1u << 2, /* in a collective */
    ANA_DOES_SEND = 1u << 3,
    ANA_DOES_RECEIVE = 1u << 4,
    ANA_DOES_REQUEST = 1u << 5, /* starts a request that completes what it begins */
    ANA_DOES_FOREIGN = 1u << 6, /* the source is known to be none of ours */
    ANA_DOES_NEED = 1u << 7,    /* it needs, or is needed by, particular ranks */
    ANA_DOES_NEAR = 1u << 8,    /* its source is a rank that is left out: of the same clock */
};

/* Whether a source without a rank index is known to be none of ours. */
static bool foreign_source(const struct ana_event *event)
{
    int32_t source = event->sig->source;
    if (source >= 0 || source <= TRC_PEER_REMOTE)
        return true; /* a rank, but without a file */
    return source == TRC_PEER_UNKNOWN && event->comm && event->comm->def.flags & (TRC_COMM_INTER | TRC_COMM_FOREIGN);
}

static bool any_source_or_tag(const struct trc_sig *sig)
{
    return sig->source == TRC_PEER_ANY || sig->rtag == TRC_TAG_ANY;
}

static void look_up_channels(struct ana_match *match, const struct ana_event *event, struct ana_route *route)
{
    const struct trc_sig *sig = event->sig;
    uint32_t index = (uint32_t)event->index;
    uint32_t partner = route->does & ANA_DOES_SEND ? ana_match_partner(match, event, sig->peer) : ANA_NOBODY;
    if (partner != ANA_NOBODY)
        route->send = ana_channel_of(match, route->identity, index, partner, sig->tag);
    if (route->does & ANA_DOES_RECEIVE && route->source != ANA_NOBODY && !any_source_or_tag(sig))
        route->receive = ana_channel_of(match, route->identity, route->source, index, sig->rtag);
}

static __attribute__((noinline)) void look_up(struct ana_match *match, const struct ana_event *event,
                                              struct ana_route *route)
{
    const struct trc_sig *sig = event->sig;
    uint32_t flags = sig->flags;
    *route = (struct ana_route){.source = ANA_NOBODY};
    if (!(flags & TRC_SIG_NESTED)) {
        route->identity = event->comm ? ana_match_identity(match, event) : 0;
        route->source = ana_match_partner(match, event, sig->source);
        bool completes = flags & TRC_SIG_COMPLETE;
        bool near = ana_match_near(match, (uint32_t)event->index, route->source);
        bool sends = flags & TRC_SIG_P2P_OUT && sig->peer != TRC_PEER_NULL &&
                     !ana_match_near(match, (uint32_t)event->index, ana_match_partner(match, event, sig->peer));
        bool receives = flags & TRC_SIG_P2P_IN && sig->source != TRC_PEER_NULL && !near;
        bool meets = flags & TRC_SIG_COLL && !(flags & TRC_SIG_CONTROL); /* trace/horovod matches control rounds */
        bool foreign = route->source == ANA_NOBODY && foreign_source(event);
        route->does = (flags & TRC_SIG_SUB ? 0 : ANA_DOES_CALL) | (flags & TRC_SIG_START ? ANA_DOES_REQUEST : 0) |
                      (completes ? ANA_DOES_COMPLETE : 0) | (meets && !completes ? ANA_DOES_MEET : 0) |
                      (sends && !completes ? ANA_DOES_SEND : 0) | (receives && !completes ? ANA_DOES_RECEIVE : 0) |
                      (foreign ? ANA_DOES_FOREIGN : 0) | (near ? ANA_DOES_NEAR : 0) |
                      (match->sink.on_need && ana_has_partners(event) ? ANA_DOES_NEED : 0);
    }
    while (event->comm && route->epoch != match->epoch) { /* making one channel may sweep another away */
        route->epoch = match->epoch;
        look_up_channels(match, event, route);
    }
    route->epoch = match->epoch;
}

/* ---- requests -------------------------------------------------------------------------------------------------- */

/* The call that an item belongs to: for a SUB item, that of the event before. */
static inline const struct trc_call *call_of(const struct ana_match_process *process, const struct ana_event *event,
                                             const struct ana_route *route)
{
    bool sub = !(route->does & ANA_DOES_CALL);
    return sub && event->thread < process->threads && process->inside[event->thread] ? process->inside[event->thread]
                                                                                     : event->call;
}

static void keep_request(struct ana_match *match, uint32_t index, const struct ana_pending *pending)
{
    struct ana_open_request *request = ana_map_add(&match->requests, index, pending->thread, pending->number);
    bool fresh = request && !request->send && !request->receive;
    if (fresh)
        *request = (struct ana_open_request){pending->send, pending->receive};
    else /* Out of memory, or a damaged file: it will never be seen to complete, so nothing after it is certain. */
        ana_p2p_gap(match, index);
}

static inline struct ana_pending *pending_at(struct ana_match *match, const struct ana_event *event)
{
    const struct ana_match_process *process = match->process[event->index];
    return &process->pending[event->request & (process->pending_room - 1)];
}

static inline bool is_open(const struct ana_pending *pending)
{
    return pending->send || pending->receive;
}

/* Doubles the room for a rank's requests.  False: it has as much as it may have, or there is no memory. */
static bool widen_pending(struct ana_match_process *process)
{
    uint32_t room = process->pending_room * 2;
    struct ana_pending *wider = room <= ANA_MATCH_PENDING ? calloc(room, sizeof *wider) : NULL;
    if (!wider)
        return false;
    for (uint32_t i = 0; i < process->pending_room; i++)
        if (is_open(&process->pending[i]))
            wider[process->pending[i].number & (room - 1)] = process->pending[i];
    free(process->pending);
    process->pending = wider;
    process->pending_room = room;
    return true;
}

static void remember_request(struct ana_match *match, const struct ana_event *event, struct ana_end *send,
                             struct ana_end *receive)
{
    struct ana_pending *pending = pending_at(match, event);
    while (__builtin_expect(is_open(pending), 0) && widen_pending(match->process[event->index]))
        pending = pending_at(match, event);
    if (__builtin_expect(is_open(pending), 0))
        keep_request(match, (uint32_t)event->index, pending);
    *pending = (struct ana_pending){event->request, event->request_thread, send, receive};
}

/* Takes out the ends that a completed request leads to.  False: there are none. */
static bool take_request(struct ana_match *match, const struct ana_event *event, struct ana_pending *out)
{
    if (event->request == UINT64_MAX)
        return false;
    struct ana_pending *pending = pending_at(match, event);
    if (is_open(pending) && pending->number == event->request && pending->thread == event->request_thread) {
        *out = *pending;
        pending->send = pending->receive = NULL;
        return true;
    }
    struct ana_open_request *request =
        ana_map_find(&match->requests, event->index, event->request_thread, event->request);
    if (!request)
        return false;
    *out = (struct ana_pending){event->request, event->request_thread, request->send, request->receive};
    ana_map_remove(&match->requests, request);
    return true;
}

/* ---- point to point -------------------------------------------------------------------------------------------- */

/* Describes the message end that begins with an event: open if the event starts a request, else complete. */
static inline struct ana_half half_of(struct ana_match *match, const struct ana_event *event,
                                      const struct ana_route *route)
{
    const struct ana_match_process *process = match->process[event->index];
    bool request = route->does & ANA_DOES_REQUEST;
    const struct trc_call *call = call_of(process, event, route);
    return (struct ana_half){
        .begin_ns = event->begin_ns,
        .end_ns = event->end_ns,
        .wait_begin_ns = request ? INT64_MIN : event->begin_ns,
        .complete_ns = request ? INT64_MIN : event->end_ns,
        .call = call,
        .wait_call = request ? NULL : call,
        .serial = ++match->serial,
        .flags = request ? ANA_END_REQUEST : ANA_END_COMPLETE,
        .gaps = process->gaps,
        .step = event->step,
        .wait_step = request ? 0 : event->step,
    };
}

static struct ana_end *send_begins(struct ana_match *match, const struct ana_event *event,
                                   const struct ana_route *route)
{
    const struct trc_sig *sig = event->sig;
    if (!route->send) {
        if (!event->comm || ana_match_partner(match, event, sig->peer) == ANA_NOBODY)
            match->counts.unknown_peers++;
        else
            ana_end_lost(match, (uint32_t)event->index);
        return NULL;
    }
    struct ana_half half = half_of(match, event, route);
    half.bytes = sig->sent;
    half.flags |= sig->flags & TRC_SIG_SYNC ? ANA_END_SYNC : 0;
    return ana_end_begin(match, route->send, &half);
}

/* Begins a receive whose channel is not known: a wildcard, or one that cannot be told. */
static struct ana_end *receive_without_channel(struct ana_match *match, const struct ana_event *event,
                                               const struct ana_route *route)
{
    const struct trc_sig *sig = event->sig;
    uint32_t index = (uint32_t)event->index;
    bool request = route->does & ANA_DOES_REQUEST, foreign = route->does & ANA_DOES_FOREIGN;
    bool nobody = route->source == ANA_NOBODY;
    if (!event->comm || (sig->source != TRC_PEER_ANY && nobody && (request || foreign))) {
        match->counts.unknown_peers++;
    } else if (!nobody && !any_source_or_tag(sig)) {
        ana_end_lost(match, index);
    } else if (!request) {
        ana_end_unresolved(match, index, foreign);
    } else {
        struct ana_half half = half_of(match, event, route);
        half.bytes = sig->received;
        half.flags |= ANA_END_RECEIVE;
        struct ana_asked asked = {route->identity, route->source, sig->rtag, index};
        return ana_end_begin_wildcard(match, &asked, &half);
    }
    return NULL;
}

static struct ana_end *receive_begins(struct ana_match *match, const struct ana_event *event,
                                      const struct ana_route *route)
{
    if (!route->receive)
        return receive_without_channel(match, event, route);
    struct ana_half half = half_of(match, event, route);
    half.bytes = event->sig->received;
    half.flags |= ANA_END_RECEIVE;
    return ana_end_begin(match, route->receive, &half);
}

static void complete_request(struct ana_match *match, const struct ana_event *event, const struct ana_route *route)
{
    uint32_t index = (uint32_t)event->index, flags = event->sig->flags;
    struct ana_end_finish finish = {.call = call_of(match->process[index], event, route),
                                    .begin_ns = event->begin_ns,
                                    .end_ns = event->end_ns,
                                    .source = route->source,
                                    .tag = event->sig->rtag,
                                    .bytes = event->sig->received,
                                    .step = event->step,
                                    .foreign = route->does & ANA_DOES_FOREIGN};
    struct ana_pending request;
    if (!take_request(match, event, &request)) {
        ana_coll_complete(match, event, finish.call);
        /* Started before the first event that is left, or its start was not kept; or not a message of ours at all. */
        bool lost = event->request == UINT64_MAX || match->process[index]->gap;
        if (flags & TRC_SIG_P2P_IN && !(flags & TRC_SIG_CANCELLED) && event->comm && lost &&
            !(route->does & ANA_DOES_NEAR))
            ana_end_complete_unknown(match, index, route->identity, &finish);
        return;
    }
    if (flags & TRC_SIG_CANCELLED) {
        if (request.send)
            ana_end_cancel(match, request.send);
        if (request.receive)
            ana_end_cancel(match, request.receive);
        return;
    }
    bool freed =
        finish.call && finish.call->opclass == TRC_OP_REQUEST; /* MPI_Request_free: when it completes is not known */
    finish.silent = freed;
    if (request.send)
        ana_end_complete(match, request.send, &finish);
    if (request.receive) {
        finish.silent = freed || !(flags & TRC_SIG_P2P_IN);
        ana_end_complete(match, request.receive, &finish);
    }
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

static void remember_call(struct ana_match_process *process, const struct ana_event *event)
{
    if (event->thread >= process->threads) {
        if (event->thread >= MAX_THREADS)
            return;
        void *moved = lengthen_array(process->inside, &process->threads, event->thread + 1, sizeof *process->inside);
        if (!moved)
            return;
        process->inside = moved;
    }
    process->inside[event->thread] = event->call;
}

static bool is_known(const struct ana_match *match, const struct ana_event *event)
{
    return !match->flushed && event->index < match->processes && match->process[event->index];
}

void ana_match_event(struct ana_match *match, const struct ana_event *event)
{
    struct ana_route by_hand, *route = event->use ? &event->use->route : &by_hand;
    bool is_event = event->kind == TRC_RECORD_EVENT;
    if (!is_event || !event->use || route->epoch != match->epoch) {
        if (!is_known(match, event))
            return;
        match->begun = true;
        if (event->kind == TRC_RECORD_LOST)
            ana_p2p_gap(match, (uint32_t)event->index);
        if (!is_event)
            return;
        look_up(match, event, route);
    }
    uint32_t does = route->does;
    if (does & ANA_DOES_CALL)
        remember_call(match->process[event->index], event);
    if (does & ANA_DOES_MEET)
        ana_coll_arrive(match, event, route->identity);
    if (does & ANA_DOES_NEED)
        ana_partners_event(match, event, route->identity);
    if (does & (ANA_DOES_SEND | ANA_DOES_RECEIVE)) {
        struct ana_end *send = does & ANA_DOES_SEND ? send_begins(match, event, route) : NULL;
        struct ana_end *receive = does & ANA_DOES_RECEIVE ? receive_begins(match, event, route) : NULL;
        if (send || receive)
            remember_request(match, event, send, receive);
    } else if (does & ANA_DOES_COMPLETE) {
        complete_request(match, event, route);
    }
}

void ana_match_flush(struct ana_match *match)
{
    if (!match->flushed)
        ana_p2p_flush(match);
    if (match->end_pool.taken == 0)
        ana_pool_free(&match->end_pool); /* what comes now, as summaries, needs the memory */
    match->flushed = true;
    match->epoch++; /* so that every event is looked up again, and refused */
}

struct ana_match_counts ana_match_counts(const struct ana_match *match)
{
    struct ana_match_counts counts = match->counts;
    counts.unmatched_sends += match->queued_sends;
    counts.unmatched_receives += match->open_receives;
    counts.incomplete += match->instances.count;
    return counts;
}
