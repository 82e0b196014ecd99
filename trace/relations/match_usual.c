/* The usual message: begun and completed by requests, on a channel that is known.  These are the short ways through
 * match_p2p.c and match_requests.c; whatever is unusual goes through those. */
#include "trace/relations/match_ends.h"

/* Begins an end; `receive` is a constant in each copy. */
static inline __attribute__((always_inline)) void begin(struct ana_match *match, const struct ana_event *event,
                                                        const struct ana_route *route, bool receive)
{
    struct ana_match_process *process = match->process[event->index];
    struct ana_pending *pending = ana_pending_at(process, event);
    struct ana_channel *channel = receive ? route->receive : route->send;
    struct ana_ends *queue = receive ? &channel->receives : &channel->sends;
    bool late = queue->tail && event->begin_ns < queue->tail->half.begin_ns;
    bool crowded = queue->count >= ANA_MATCH_KEPT || match->end_pool.taken >= ANA_MATCH_ENDS;
    if (__builtin_expect(ana_is_open(pending) || late || crowded || !match->end_pool.free, 0)) {
        ana_message_begin(match, event, route);
        return;
    }
    struct ana_end *end = ana_pool_take(&match->end_pool);
    ana_half_begin(match, process, event, route->does | ANA_DOES_REQUEST, &end->half);
    end->half.bytes = receive ? event->sig->received : event->sig->sent;
    uint32_t sync = event->sig->flags & TRC_SIG_SYNC ? ANA_END_SYNC : 0;
    end->half.flags = ANA_END_REQUEST | (receive ? ANA_END_RECEIVE : sync);
    end->channel = channel;
    end->partner = NULL;
    ana_ends_append(queue, end);
    match->queued_sends += !receive;
    match->open_receives += receive;
    *pending = (struct ana_pending){event->request, event->request_thread, receive ? NULL : end, receive ? end : NULL};
    if (!receive && ana_channel_can_pair(channel))
        ana_channel_pump(match, channel);
}

void ana_usual_send(struct ana_match *match, const struct ana_event *event, const struct ana_route *route)
{
    begin(match, event, route, false);
}

void ana_usual_receive(struct ana_match *match, const struct ana_event *event, const struct ana_route *route)
{
    begin(match, event, route, true);
}

static inline void complete_send(struct ana_match *match, const struct ana_event *event, const struct trc_call *call,
                                 struct ana_end *send)
{
    send->half.flags ^= ANA_END_REQUEST | ANA_END_COMPLETE;
    ana_half_finish(&send->half, call, event);
    if (!send->partner)
        return;
    ana_ends_unlink(send);
    send->channel->pairs--;
    ana_pair_deliver(match, send->channel, send, send->partner);
}

static inline void complete_receive(struct ana_match *match, const struct ana_event *event, const struct trc_call *call,
                                    struct ana_end *receive)
{
    struct ana_channel *channel = receive->channel;
    receive->half.flags ^= ANA_END_REQUEST | ANA_END_COMPLETE;
    receive->half.bytes = event->sig->received;
    ana_half_finish(&receive->half, call, event);
    match->open_receives--;
    if (channel->receives.head != receive || !channel->sends.head)
        return;
    if (match->any_gap || match->wildcards || channel->kept) {
        ana_channel_pump(match, channel);
        return;
    }
    ana_pair_heads(match, channel);
    if (__builtin_expect(ana_channel_can_pair(channel), 0))
        ana_channel_pump(match, channel);
}

void ana_usual_complete(struct ana_match *match, const struct ana_event *event, const struct ana_route *route)
{
    struct ana_match_process *process = match->process[event->index];
    struct ana_pending *pending = ana_pending_at(process, event);
    struct ana_end *send = pending->send, *receive = pending->receive, *end = send ? send : receive;
    const struct trc_call *call = ana_call_of(process, event, route->does);
    bool usual = end && pending->number == event->request && pending->thread == event->request_thread &&
                 !(send && receive) && end->channel && call && call->opclass != TRC_OP_REQUEST;
    if (__builtin_expect(!usual || (receive && !(event->sig->flags & TRC_SIG_P2P_IN)), 0)) {
        ana_request_complete(match, event, route);
        return;
    }
    pending->send = pending->receive = NULL;
    if (send)
        complete_send(match, event, call, send);
    else
        complete_receive(match, event, call, receive);
}
