/* Events to message ends and arrivals. */
#include "trace/relations/match_ends.h"
#include "trace/util/grow.h"
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
    ana_pool_init(&match->process_pool, sizeof(struct ana_match_process));
    ana_pool_init(&match->end_pool, sizeof(struct ana_end));
    ana_pool_init(&match->channel_pool, sizeof(struct ana_channel));
    ana_pool_init(&match->instance_pool, sizeof(struct ana_open_instance));
    ana_map_init(&match->channels, sizeof(struct ana_channel *));
    ana_map_init(&match->requests, sizeof(struct ana_open_request));
    ana_map_init(&match->instances, sizeof(struct ana_open_instance *));
    ana_map_init(&match->operations, sizeof(uint32_t));
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
    ana_map_free(&match->operations);
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
        if (match->process[i]->inside != &match->process[i]->inside_first)
            free(match->process[i]->inside);
        free(match->process[i]->pending);
    }
    ana_pool_free(&match->process_pool);
    for (uint32_t i = 0; i < match->worlds; i++)
        free(match->world[i].index);
    free(match->process);
    free(match->world);
    free(match);
}

/* ---- ranks ----------------------------------------------------------------------------------------------------- */

/* Returns a new process, not yet seen; NULL: out of memory. */
static struct ana_match_process *make_process(struct ana_match *match)
{
    struct ana_pending *pending = calloc(ANA_MATCH_FEW, sizeof *pending);
    struct ana_match_process *process = pending ? ana_pool_alloc(&match->process_pool) : NULL;
    if (!process) {
        free(pending);
        return NULL;
    }
    *process = (struct ana_match_process){
        .pending = pending, .pending_mask = ANA_MATCH_FEW - 1, .threads = 1, .gap = match->begun};
    process->inside = &process->inside_first;
    return process;
}

bool ana_match_set_rank(struct ana_match *match, size_t index, const struct ana_match_rank *rank)
{
    if (index >= MAX_RANKS || rank->world >= MAX_WORLDS || rank->rank >= (int32_t)MAX_RANKS)
        return false;
    match->processes = (uint32_t)ana_lengthen(&match->process, match->processes, index + 1, sizeof *match->process);
    match->worlds = (uint32_t)ana_lengthen(&match->world, match->worlds, rank->world + 1, sizeof *match->world);
    if (index >= match->processes || rank->world >= match->worlds)
        return false;
    struct ana_world *world = &match->world[rank->world];
    world->size = (uint32_t)ana_lengthen(&world->index, world->size, (size_t)(rank->rank + 1), sizeof *world->index);
    if (rank->rank >= (int64_t)world->size)
        return false;
    struct ana_match_process *process = match->process[index];
    if (!process && !(process = match->process[index] = make_process(match)))
        return false;
    process->gap = process->gap || rank->recycled;
    match->any_gap = match->any_gap || process->gap;
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

/* Whether a source without a rank index is known to be none of ours. */
static bool foreign_source(const struct ana_event *event)
{
    int32_t source = event->sig->source;
    if (source >= 0 || source <= TRC_PEER_REMOTE)
        return true; /* a rank, but without a file */
    return source == TRC_PEER_UNKNOWN && event->use->comm &&
           event->use->comm->def.flags & (TRC_COMM_INTER | TRC_COMM_FOREIGN);
}

/* Returns whether a signature sends, or receives, a message that is not left out. */
static bool sends_far(const struct ana_match *match, const struct ana_event *event)
{
    return event->sig->flags & TRC_SIG_P2P_OUT && event->sig->peer != TRC_PEER_NULL &&
           !ana_match_near(match, (uint32_t)event->index, ana_match_partner(match, event, event->sig->peer));
}
static bool receives_far(const struct ana_match *match, const struct ana_event *event)
{
    return event->sig->flags & TRC_SIG_P2P_IN && event->sig->source != TRC_PEER_NULL &&
           !ana_match_near(match, (uint32_t)event->index, ana_match_partner(match, event, event->sig->source));
}

/* Whether a collective is one of several clocks in which all wait for all. */
static bool meets_clocks(const struct ana_match *match, const struct ana_event *event)
{
    const struct trc_comm *comm = event->use->comm;
    uint32_t nonblocking = TRC_SIG_START | TRC_SIG_SUB | TRC_SIG_ENQUEUE, index = (uint32_t)event->index;
    if (!comm || !event->use->call || event->sig->flags & nonblocking ||
        trc_opclass_shape(event->use->call->opclass) != TRC_SHAPE_ALL)
        return false;
    if (comm->def.flags & (TRC_COMM_INTER | TRC_COMM_FOREIGN) || comm->def.size > (int64_t)match->processes)
        return true;
    for (int32_t r = 0; r < comm->def.size; r++) {
        uint32_t member = ana_match_index(match, index, trc_comm_world_rank(comm, r, false));
        if (member != ANA_NOBODY && match->process[member]->is.clock != match->process[index]->is.clock)
            return true;
    }
    return false;
}

/* Wild are a wildcard, which may find a source that is near, and MPI_Request_free, which must not be taken for the
 * call of a later completion (ana_call_of). */
enum ana_wanted ana_match_wants(const void *user, const struct ana_event *event)
{
    const struct ana_match *match = user;
    const uint32_t flags = event->sig->flags, message = TRC_SIG_P2P_IN | TRC_SIG_P2P_OUT;
    if (event->index >= match->processes || !match->process[event->index])
        return ANA_WANTED;
    if (flags & TRC_SIG_NESTED)
        return ANA_UNWANTED;
    bool frees = !(flags & TRC_SIG_SUB) && event->use->call && event->use->call->opclass == TRC_OP_REQUEST;
    if (frees || event->sig->source == TRC_PEER_ANY)
        return ANA_WANTED_WILD;
    if (sends_far(match, event) || receives_far(match, event))
        return ANA_WANTED;
    if (flags & TRC_SIG_COLL)
        return !(flags & TRC_SIG_CONTROL) && meets_clocks(match, event) ? ANA_WANTED : ANA_UNWANTED;
    if (flags & TRC_SIG_COMPLETE && !(flags & message))
        return ANA_WANTED; /* kind of operation is unknown */
    bool finds = flags & TRC_SIG_COMPLETE && flags & TRC_SIG_P2P_IN;
    return finds || !(flags & (message | TRC_SIG_START | TRC_SIG_SUB)) ? ANA_UNWANTED_TAME : ANA_UNWANTED;
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

/* Whether there is a short way for such events, once their channels were looked up. */
static enum ana_route_kind way_of(const struct ana_route *route, uint32_t flags)
{
    const uint32_t all = ANA_DOES_COMPLETE | ANA_DOES_MEET | ANA_DOES_SEND | ANA_DOES_RECEIVE | ANA_DOES_NEED;
    uint32_t does = route->does;
    bool request = does & ANA_DOES_REQUEST, over = !request && does & ANA_DOES_CALL;
    bool known = (route->send || !(does & ANA_DOES_SEND)) && (route->receive || !(does & ANA_DOES_RECEIVE));
    if (does & (ANA_DOES_SEND | ANA_DOES_RECEIVE) && !(known && (request || over)))
        return ANA_ROUTE_ANY;
    switch (does & all) {
    case 0:
        return ANA_ROUTE_NONE;
    case ANA_DOES_SEND:
        return over ? ANA_ROUTE_SEND : ANA_ROUTE_ISEND;
    case ANA_DOES_RECEIVE:
        return over ? ANA_ROUTE_RECEIVE : ANA_ROUTE_IRECEIVE;
    case ANA_DOES_SEND | ANA_DOES_RECEIVE:
        return over ? ANA_ROUTE_EXCHANGE : ANA_ROUTE_ANY;
    case ANA_DOES_COMPLETE:
        return flags & TRC_SIG_CANCELLED ? ANA_ROUTE_ANY : ANA_ROUTE_COMPLETE;
    case ANA_DOES_MEET:
        return ANA_ROUTE_MEET;
    default:
        return ANA_ROUTE_ANY;
    }
}

static __attribute__((noinline)) void look_up(struct ana_match *match, const struct ana_event *event,
                                              struct ana_route *route)
{
    const struct trc_sig *sig = event->sig;
    uint32_t flags = sig->flags;
    *route = (struct ana_route){.source = ANA_NOBODY};
    if (!(flags & TRC_SIG_NESTED)) {
        route->identity = event->use->comm ? ana_match_identity(match, event) : 0;
        route->source = ana_match_partner(match, event, sig->source);
        bool completes = flags & TRC_SIG_COMPLETE;
        bool near = ana_match_near(match, (uint32_t)event->index, route->source);
        bool sends = sends_far(match, event), receives = receives_far(match, event);
        bool meets = flags & TRC_SIG_COLL && !(flags & TRC_SIG_CONTROL) && /* trace/horovod matches control rounds */
                     event->use->comm && event->use->comm->def.size > 0 &&
                     (!match->sink.between_clocks || meets_clocks(match, event));
        bool foreign = route->source == ANA_NOBODY && foreign_source(event);
        route->does = (flags & TRC_SIG_SUB ? 0 : ANA_DOES_CALL) | (flags & TRC_SIG_START ? ANA_DOES_REQUEST : 0) |
                      (completes ? ANA_DOES_COMPLETE : 0) | (meets && !completes ? ANA_DOES_MEET : 0) |
                      (sends && !completes ? ANA_DOES_SEND : 0) | (receives && !completes ? ANA_DOES_RECEIVE : 0) |
                      (flags & TRC_SIG_SYNC ? ANA_DOES_SYNC : 0) |
                      (flags & (TRC_SIG_START | TRC_SIG_SUB | TRC_SIG_ENQUEUE) ? ANA_DOES_LATER : 0) |
                      (foreign ? ANA_DOES_FOREIGN : 0) | (near ? ANA_DOES_NEAR : 0) |
                      (match->sink.on_need && ana_has_partners(event) ? ANA_DOES_NEED : 0);
    }
    while (event->use->comm && route->epoch != match->epoch) { /* making one channel may sweep another away */
        route->epoch = match->epoch;
        look_up_channels(match, event, route);
    }
    route->epoch = match->epoch;
    enum ana_route_kind way = way_of(route, flags);
    route->does |= (uint32_t)way << ANA_ROUTE_SHIFT;
    if (way == ANA_ROUTE_MEET)
        route->meeting = ana_coll_look_up(match, event);
}

/* ---- point to point -------------------------------------------------------------------------------------------- */

/* A place for the message end that begins with an event: open if the event starts a request, else complete.  NULL: out
 * of memory. */
static inline struct ana_end *place_of(struct ana_match *match, const struct ana_event *event,
                                       const struct ana_route *route, uint64_t bytes, uint32_t flags)
{
    struct ana_end *end = ana_pool_alloc(&match->end_pool);
    if (!end)
        return NULL;
    ana_half_begin(match, match->process[event->index], event, route->does, &end->half);
    end->half.bytes = bytes;
    end->half.flags = flags | (route->does & ANA_DOES_REQUEST ? ANA_END_REQUEST : ANA_END_COMPLETE);
    return end;
}

/* Counts a send without a channel. */
static struct ana_end *send_without_channel(struct ana_match *match, const struct ana_event *event)
{
    if (!event->use->comm || ana_match_partner(match, event, event->sig->peer) == ANA_NOBODY)
        match->counts.unknown_peers++;
    else
        ana_end_lost(match, (uint32_t)event->index);
    return NULL;
}

static inline struct ana_end *send_begins(struct ana_match *match, const struct ana_event *event,
                                          const struct ana_route *route)
{
    if (!route->send)
        return send_without_channel(match, event);
    uint32_t sync = route->does & ANA_DOES_SYNC ? ANA_END_SYNC : 0;
    struct ana_end *end = place_of(match, event, route, event->sig->sent, sync);
    if (end)
        return ana_end_begin(match, route->send, end);
    ana_end_lost(match, (uint32_t)event->index);
    return NULL;
}

/* Begins a receive whose channel is not known: a wildcard, or one that is not known. */
static struct ana_end *receive_without_channel(struct ana_match *match, const struct ana_event *event,
                                               const struct ana_route *route)
{
    const struct trc_sig *sig = event->sig;
    uint32_t index = (uint32_t)event->index;
    bool request = route->does & ANA_DOES_REQUEST, foreign = route->does & ANA_DOES_FOREIGN;
    bool nobody = route->source == ANA_NOBODY;
    if (!event->use->comm || (sig->source != TRC_PEER_ANY && nobody && (request || foreign))) {
        match->counts.unknown_peers++;
    } else if (!nobody && !any_source_or_tag(sig)) {
        ana_end_lost(match, index);
    } else if (!request) {
        ana_end_unresolved(match, index, foreign);
    } else {
        struct ana_asked asked = {route->identity, route->source, sig->rtag, index};
        struct ana_end *end = place_of(match, event, route, sig->received, ANA_END_RECEIVE);
        if (end)
            ana_end_begin_wildcard(match, &asked, end);
        else
            ana_end_lost(match, index);
        return end;
    }
    return NULL;
}

static inline struct ana_end *receive_begins(struct ana_match *match, const struct ana_event *event,
                                             const struct ana_route *route)
{
    if (!route->receive)
        return receive_without_channel(match, event, route);
    struct ana_end *end = place_of(match, event, route, event->sig->received, ANA_END_RECEIVE);
    if (end)
        return ana_end_begin(match, route->receive, end);
    ana_end_lost(match, (uint32_t)event->index);
    return NULL;
}

void ana_message_begin(struct ana_match *match, const struct ana_event *event, const struct ana_route *route,
                       uint32_t ends)
{
    struct ana_end *send = ends & ANA_DOES_SEND ? send_begins(match, event, route) : NULL;
    struct ana_end *receive = ends & ANA_DOES_RECEIVE ? receive_begins(match, event, route) : NULL;
    if (send || receive)
        ana_request_open(match, event, send ? send : receive, send ? receive : NULL);
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

static void remember_call(struct ana_match_process *process, const struct ana_event *event)
{
    if (event->thread >= process->threads) {
        if (event->thread >= MAX_THREADS)
            return;
        bool first = process->inside == &process->inside_first;
        const struct trc_call **inside = first ? NULL : process->inside;
        size_t threads = ana_lengthen(&inside, first ? 0 : process->threads, event->thread + 1, sizeof *inside);
        if (event->thread >= threads)
            return;
        inside[0] = first ? process->inside_first : inside[0];
        process->inside = inside;
        process->threads = (uint32_t)threads;
    }
    process->inside[event->thread] = event->use->call;
}

static bool is_known(const struct ana_match *match, const struct ana_event *event)
{
    return !match->flushed && event->index < match->processes && match->process[event->index];
}

static __attribute__((noinline)) void match_event(struct ana_match *match, const struct ana_event *event,
                                                  const struct ana_route *route)
{
    uint32_t does = route->does;
    if (does & ANA_DOES_CALL)
        remember_call(match->process[event->index], event);
    if (does & ANA_DOES_MEET) {
        struct ana_route_meeting meeting = ana_coll_look_up(match, event);
        ana_coll_arrive(match, event, route, &meeting);
    }
    if (does & ANA_DOES_NEED)
        ana_partners_event(match, event, route->identity);
    if (does & (ANA_DOES_SEND | ANA_DOES_RECEIVE))
        ana_message_begin(match, event, route, does & (ANA_DOES_SEND | ANA_DOES_RECEIVE));
    else if (does & ANA_DOES_COMPLETE)
        ana_request_complete(match, event, route);
}

/* Matches an event whose signature is looked up first, or a loss. */
static __attribute__((noinline)) void match_first(struct ana_match *match, const struct ana_event *event)
{
    if (!is_known(match, event))
        return;
    match->begun = true;
    if (event->kind == TRC_RECORD_LOST)
        ana_p2p_gap(match, event->index);
    if (event->kind != TRC_RECORD_EVENT)
        return;
    look_up(match, event, &event->use->route);
    match_event(match, event, &event->use->route);
}

static void do_nothing(struct ana_match *match, const struct ana_event *event, const struct ana_route *route)
{
    (void)match, (void)event, (void)route;
}

static void meet(struct ana_match *match, const struct ana_event *event, const struct ana_route *route)
{
    ana_coll_arrive(match, event, route, &route->meeting);
}

/* Most calls and requests end in one of the short ways: a tail call, so that this function keeps nothing. */
void ana_match_event(struct ana_match *match, const struct ana_event *event)
{
    static void (*const way[])(struct ana_match *, const struct ana_event *,
                               const struct ana_route *) = {[ANA_ROUTE_ANY] = match_event,
                                                            [ANA_ROUTE_NONE] = do_nothing,
                                                            [ANA_ROUTE_SEND] = ana_usual_send,
                                                            [ANA_ROUTE_RECEIVE] = ana_usual_receive,
                                                            [ANA_ROUTE_EXCHANGE] = ana_usual_exchange,
                                                            [ANA_ROUTE_ISEND] = ana_usual_isend,
                                                            [ANA_ROUTE_IRECEIVE] = ana_usual_ireceive,
                                                            [ANA_ROUTE_COMPLETE] = ana_usual_complete,
                                                            [ANA_ROUTE_MEET] = meet};
    const struct ana_use *use = event->use;
    if (__builtin_expect(event->kind != TRC_RECORD_EVENT || use->route.epoch != match->epoch, 0)) {
        match_first(match, event);
        return;
    }
    const struct ana_route *route = &use->route;
    enum ana_route_kind number = (enum ana_route_kind)(route->does >> ANA_ROUTE_SHIFT);
    if (route->does & ANA_DOES_CALL) {
        struct ana_match_process *process = match->process[event->index];
        if (__builtin_expect(event->thread < process->threads, 1))
            process->inside[event->thread] = event->use->call;
        else
            number = ANA_ROUTE_ANY;
    }
    way[number](match, event, route);
}

void ana_match_flush(struct ana_match *match)
{
    if (!match->flushed)
        ana_p2p_flush(match);
    if (match->end_pool.taken == 0)
        ana_pool_free(&match->end_pool); /* summaries that come now need the memory */
    match->flushed = true;
    match->epoch++; /* makes every event be looked up again, and refused */
}

void ana_match_stop(struct ana_match *match)
{
    ana_coll_free(match);
    match->queued_sends = match->open_receives = 0;
    match->flushed = true;
    match->epoch++;
}

struct ana_match_counts ana_match_counts(const struct ana_match *match)
{
    struct ana_match_counts counts = match->counts;
    counts.unmatched_sends += match->queued_sends;
    counts.unmatched_receives += match->open_receives;
    counts.incomplete += match->instances.count;
    return counts;
}
