/* Ends of messages in their lists.  Each message takes several steps, so they are inline. */
#pragma once

#include "trace/relations/match_impl.h"

/* match_p2p.c */
/* Whether a wildcard posted before `receive` is still open that could have taken its message. */
bool ana_end_held_back(const struct ana_match *match, const struct ana_channel *channel,
                       const struct ana_half *receive);
/* Removes an end from all lists; it is freed when no request leads to it. */
void ana_end_remove(struct ana_match *match, struct ana_end *end);
/* Removes an end, and counts it as uncertain. */
void ana_end_drop(struct ana_match *match, struct ana_end *end);
/* Pairs the heads of both queues while it can: both are in order, so their heads belong together. */
void ana_channel_pump(struct ana_match *match, struct ana_channel *channel);
/* Reports a send that waited to be completed, and its receive. */
void ana_waiting_deliver(struct ana_match *match, struct ana_end *send);

/* The rank that sends on a channel. */
static inline const struct ana_match_process *ana_channel_from(const struct ana_match *match,
                                                               const struct ana_channel *channel)
{
    return match->process[channel->source];
}
/* The rank that receives on it. */
static inline const struct ana_match_process *ana_channel_to(const struct ana_match *match,
                                                             const struct ana_channel *channel)
{
    return match->process[channel->destination];
}

/* Whether an end comes before another in the order of begins. */
static inline bool ana_begins_before(const struct ana_half *a, const struct ana_half *b)
{
    return a->begin_ns < b->begin_ns || (a->begin_ns == b->begin_ns && a->serial < b->serial);
}

/* Whether an end is a receive. */
static inline bool ana_is_receive(const struct ana_half *half)
{
    return half->flags & ANA_END_RECEIVE;
}

/* Whether an end is a wildcard receive without a channel. */
static inline bool ana_is_wild(const struct ana_half *half)
{
    return half->flags & ANA_END_WILD;
}

/* Puts an end behind `place` of a list; NULL: in front. */
static inline void ana_ends_link(struct ana_ends *list, struct ana_end *place, struct ana_end *end)
{
    end->list = list;
    end->prev = place;
    end->next = place ? place->next : list->head;
    *(end->next ? &end->next->prev : &list->tail) = end;
    *(place ? &place->next : &list->head) = end;
    list->count++;
}

/* Puts an end last. */
static inline void ana_ends_append(struct ana_ends *list, struct ana_end *end)
{
    end->list = list;
    end->prev = list->tail;
    end->next = NULL;
    *(list->tail ? &list->tail->next : &list->head) = end;
    list->tail = end;
    list->count++;
}

/* Removes an end from its list. */
static inline void ana_ends_unlink(struct ana_end *end)
{
    struct ana_ends *list = end->list;
    *(end->next ? &end->next->prev : &list->tail) = end->prev;
    *(end->prev ? &end->prev->next : &list->head) = end->next;
    list->count--;
    end->list = NULL;
}

/* Removes a list's first end. */
static inline struct ana_end *ana_ends_pop(struct ana_ends *list)
{
    struct ana_end *end = list->head;
    list->head = end->next;
    *(end->next ? &end->next->prev : &list->tail) = NULL;
    list->count--;
    end->list = NULL;
    return end;
}

/* Describes the message end that begins with an event: open if the event starts a request, else complete. */
static inline void ana_half_begin(struct ana_match *match, const struct ana_match_process *process,
                                  const struct ana_event *event, uint32_t does, struct ana_half *half)
{
    bool request = does & ANA_DOES_REQUEST;
    half->begin_ns = event->begin_ns;
    half->end_ns = event->end_ns;
    half->call = ana_call_of(process, event, does);
    half->wait_begin_ns = request ? INT64_MIN : event->begin_ns;
    half->complete_ns = request ? INT64_MIN : event->end_ns;
    half->wait_call = request ? NULL : half->call;
    half->serial = ++match->serial;
    half->gaps = process->gaps;
    half->step = event->step;
    half->wait_step = request ? 0 : event->step;
}

/* Adds the call that completes an end of a request; not for a send that nobody waited for, which is complete at an
 * unknown time. */
static inline void ana_half_finish(struct ana_half *half, const struct trc_call *call, const struct ana_event *event)
{
    half->wait_begin_ns = event->begin_ns;
    half->complete_ns = event->end_ns;
    half->wait_call = call;
    half->wait_step = event->step;
}

/* Reports a message, by its ends. */
static inline void ana_pair_report(struct ana_match *match, struct ana_channel *channel, const struct ana_half *send,
                                   const struct ana_half *receive)
{
    if (__builtin_expect((send->flags | receive->flags) & ANA_END_SILENT, 0)) {
        match->counts.uncertain += 2;
        return;
    }
    match->counts.messages++;
    match->counts.clock_violations += receive->complete_ns < send->begin_ns;
    if (!match->sink.on_message)
        return;
    struct ana_message message;
    message.source = channel->source;
    message.destination = channel->destination;
    message.comm_identity = channel->identity;
    message.bytes = send->bytes != TRC_BYTES_UNKNOWN ? send->bytes : receive->bytes;
    message.tag = channel->tag;
    message.synchronous = send->flags & ANA_END_SYNC;
    message.note = &channel->note;
    message.send_begin_ns = send->begin_ns;
    message.send_end_ns = send->end_ns;
    message.send_wait_begin_ns = send->wait_begin_ns;
    message.send_complete_ns = send->complete_ns;
    message.send_call = send->call;
    message.send_wait_call = send->wait_call;
    message.recv_wait_begin_ns = receive->wait_begin_ns;
    message.recv_complete_ns = receive->complete_ns;
    message.recv_call = receive->call;
    message.recv_wait_call = receive->wait_call;
    message.recv_begin_ns = receive->begin_ns;
    message.send_step = send->step;
    message.send_wait_step = send->wait_step;
    message.recv_step = receive->step;
    message.recv_wait_step = receive->wait_step;
    match->sink.on_message(match->sink.user, &message);
}

/* Reports a pair whose ends are complete and in no list any more, so that no request leads to them. */
static inline void ana_pair_deliver(struct ana_match *match, struct ana_channel *channel, struct ana_end *send,
                                    struct ana_end *receive)
{
    ana_pair_report(match, channel, &send->half, &receive->half);
    ana_pool_free_item(&match->end_pool, receive);
    ana_pool_free_item(&match->end_pool, send);
}

/* Pairs the first ends of both queues, and reports it if its send is complete; else it waits for that. */
static inline void ana_pair_heads(struct ana_match *match, struct ana_channel *channel)
{
    struct ana_end *send = ana_ends_pop(&channel->sends), *receive = ana_ends_pop(&channel->receives);
    match->queued_sends--;
    if (send->half.flags & ANA_END_COMPLETE) {
        ana_pair_deliver(match, channel, send, receive);
        return;
    }
    send->partner = receive;
    channel->pairs++;
    ana_ends_append(&match->waiting, send);
    if (__builtin_expect(match->waiting.count > ANA_MATCH_KEPT, 0))
        ana_waiting_deliver(match, match->waiting.head);
}

/* Whether the heads of both queues are there, and the receive complete. */
static inline bool ana_channel_can_pair(const struct ana_channel *channel)
{
    const struct ana_end *receive = channel->receives.head;
    return receive && receive->half.flags & ANA_END_COMPLETE && channel->sends.head;
}

/* Whether a channel is kept to be paired from its end, once everything is there. */
static inline bool ana_is_kept(const struct ana_match *match, const struct ana_channel *channel)
{
    return channel->kept ||
           (match->any_gap && (ana_channel_from(match, channel)->gap || ana_channel_to(match, channel)->gap));
}
