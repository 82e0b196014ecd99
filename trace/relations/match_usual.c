/* The usual end of a message: its channel is known, and it is the last of its queue.  These are the short ways through
 * match_p2p.c and match_requests.c, whatever the call; all else goes through those. */
#include "trace/relations/match_ends.h"

/* Whether both ends of a channel belong together as soon as they are there: no loss and no wildcard lies between. */
static inline bool is_certain(const struct ana_match *match, const struct ana_channel *channel)
{
    return !ana_is_kept(match, channel) && !(match->wildcards && ana_channel_to(match, channel)->wildcards.head);
}

/* Whether an end does not belong behind the last of a queue, or has no room there. */
static inline bool is_late_or_crowded(const struct ana_match *match, const struct ana_event *event,
                                      const struct ana_ends *queue)
{
    return event->begin_ns < queue->tail->half.begin_ns || queue->count >= ANA_MATCH_KEPT ||
           match->end_pool.taken >= ANA_MATCH_ENDS;
}

/* Describes an end that begins; `open`: a request completes it. */
static inline void describe(struct ana_match *match, const struct ana_event *event, const struct ana_route *route,
                            bool receive, bool open, struct ana_half *half)
{
    uint32_t does = open ? route->does | ANA_DOES_REQUEST : ANA_DOES_CALL; /* constant: no test at run time */
    ana_half_begin(match, match->process[event->index], event, does, half);
    half->bytes = receive ? event->sig->received : event->sig->sent;
    half->flags = (open ? ANA_END_REQUEST : ANA_END_COMPLETE) | (receive                       ? ANA_END_RECEIVE
                                                                 : route->does & ANA_DOES_SYNC ? ANA_END_SYNC
                                                                                               : 0);
}

/* Reports an end that needs no place: it is complete, and the first of the others is its other end. */
static inline __attribute__((always_inline)) void pair(struct ana_match *match, const struct ana_event *event,
                                                       const struct ana_route *route, bool receive)
{
    struct ana_channel *channel = receive ? route->receive : route->send;
    struct ana_end *other = ana_ends_pop(receive ? &channel->sends : &channel->receives);
    struct ana_half half;
    describe(match, event, route, receive, false, &half);
    match->queued_sends -= receive;
    ana_pair_report(match, channel, receive ? &other->half : &half, receive ? &half : &other->half);
    ana_pool_free_item(&match->end_pool, other);
}

static __attribute__((noinline)) void pair_send(struct ana_match *match, const struct ana_event *event,
                                                const struct ana_route *route)
{
    pair(match, event, route, false);
}

static __attribute__((noinline)) void pair_receive(struct ana_match *match, const struct ana_event *event,
                                                   const struct ana_route *route)
{
    pair(match, event, route, true);
}

/* Begins an end; `receive` and `open` are constants in each copy. */
static inline __attribute__((always_inline)) void begin(struct ana_match *match, const struct ana_event *event,
                                                        const struct ana_route *route, bool receive, bool open)
{
    struct ana_pending *pending = open ? ana_pending_at(match->process[event->index], event) : NULL;
    struct ana_channel *channel = receive ? route->receive : route->send;
    struct ana_ends *queue = receive ? &channel->receives : &channel->sends;
    struct ana_end *last = queue->tail, *other = receive ? channel->sends.head : channel->receives.head;
    bool met = other && other->half.flags & ANA_END_COMPLETE;
    if (!open && met && !last && is_certain(match, channel)) {
        (receive ? pair_receive : pair_send)(match, event, route);
        return;
    }
    if (__builtin_expect((last && is_late_or_crowded(match, event, queue)) || (open && ana_is_open(pending)) ||
                             !match->end_pool.free,
                         0)) {
        ana_message_begin(match, event, route, receive ? ANA_DOES_RECEIVE : ANA_DOES_SEND);
        return;
    }
    struct ana_end *end = ana_pool_alloc(&match->end_pool);
    describe(match, event, route, receive, open, &end->half);
    end->channel = channel;
    end->partner = NULL;
    ana_ends_append(queue, end);
    match->queued_sends += !receive;
    match->open_receives += receive && open;
    if (open)
        *pending = (struct ana_pending){event->request, event->request_thread, end, NULL};
    if (receive ? !open && other : met)
        ana_channel_pump(match, channel);
}

void ana_usual_send(struct ana_match *match, const struct ana_event *event, const struct ana_route *route)
{
    begin(match, event, route, false, false);
}

void ana_usual_receive(struct ana_match *match, const struct ana_event *event, const struct ana_route *route)
{
    begin(match, event, route, true, false);
}

void ana_usual_exchange(struct ana_match *match, const struct ana_event *event, const struct ana_route *route)
{
    ana_usual_send(match, event, route);
    ana_usual_receive(match, event, route);
}

void ana_usual_isend(struct ana_match *match, const struct ana_event *event, const struct ana_route *route)
{
    begin(match, event, route, false, true);
}

void ana_usual_ireceive(struct ana_match *match, const struct ana_event *event, const struct ana_route *route)
{
    begin(match, event, route, true, true);
}

void ana_usual_complete(struct ana_match *match, const struct ana_event *event, const struct ana_route *route)
{
    struct ana_match_process *process = match->process[event->index];
    struct ana_pending *pending = ana_pending_at(process, event);
    struct ana_end *end = pending->end;
    const struct trc_call *call = ana_call_of(process, event, route->does);
    bool usual = end && pending->number == event->request && pending->thread == event->request_thread &&
                 !pending->also && !(end->half.flags & (ANA_END_WILD | ANA_END_ABANDONED)) &&
                 call->opclass != TRC_OP_REQUEST;
    bool receive = usual && ana_is_receive(&end->half);
    if (__builtin_expect(!usual || (receive && !(event->sig->flags & TRC_SIG_P2P_IN)), 0)) {
        ana_request_complete(match, event, route);
        return;
    }
    struct ana_channel *channel = end->channel;
    pending->end = NULL;
    end->half.flags ^= ANA_END_REQUEST | ANA_END_COMPLETE;
    ana_half_finish(&end->half, call, event);
    if (receive) {
        end->half.bytes = event->sig->received;
        match->open_receives--;
        if (channel->receives.head == end && channel->sends.head)
            ana_channel_pump(match, channel);
    } else if (end->partner) {
        ana_waiting_deliver(match, end);
    }
}
