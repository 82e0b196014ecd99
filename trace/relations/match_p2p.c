/* Message ends, paired in the order of their channels. */
#include "trace/relations/match_impl.h"
#include <string.h>

/* ---- lists ----------------------------------------------------------------------------------------------------- */

static bool begins_before(const struct ana_half *a, const struct ana_half *b)
{
    return a->begin_ns < b->begin_ns || (a->begin_ns == b->begin_ns && a->serial < b->serial);
}

static void link_after(struct ana_ends *list, struct ana_end *place, struct ana_end *end)
{
    end->list = list;
    end->prev = place;
    end->next = place ? place->next : list->head;
    *(end->next ? &end->next->prev : &list->tail) = end;
    *(place ? &place->next : &list->head) = end;
    list->count++;
}

static void link_in_order(struct ana_ends *list, struct ana_end *end)
{
    struct ana_end *place = list->tail;
    while (place && begins_before(&end->half, &place->half))
        place = place->prev;
    link_after(list, place, end);
}

static void unlink_end(struct ana_end *end)
{
    struct ana_ends *list = end->list;
    *(end->next ? &end->next->prev : &list->tail) = end->prev;
    *(end->prev ? &end->prev->next : &list->head) = end->next;
    list->count--;
    end->list = NULL;
}

/* Whether a channel is kept to be paired from its end, once everything is there. */
static inline bool is_kept(const struct ana_channel *channel)
{
    return channel->kept || channel->from->gap || channel->to->gap;
}

/* ---- ends ------------------------------------------------------------------------------------------------------ */

static inline bool is_receive(const struct ana_half *half)
{
    return half->flags & ANA_END_RECEIVE;
}

/* Takes an end out of all lists; it is freed when no request leads to it. */
static void remove_end(struct ana_match *match, struct ana_end *end)
{
    if (end->list) {
        if (!is_receive(&end->half) && end->list != &match->waiting)
            match->queued_sends--;
        unlink_end(end);
    }
    if (is_receive(&end->half) && !(end->half.flags & (ANA_END_COMPLETE | ANA_END_ABANDONED)))
        match->open_receives--;
    end->channel = NULL;
    end->partner = NULL;
    if (end->half.flags & ANA_END_REQUEST)
        end->half.flags |= ANA_END_ABANDONED;
    else
        ana_pool_give(&match->end_pool, end);
}

static void finish_half(struct ana_match *match, struct ana_half *half, const struct ana_end_finish *finish)
{
    if (is_receive(half) && half->flags & ANA_END_REQUEST)
        match->open_receives--;
    half->flags = (half->flags & ~(uint32_t)ANA_END_REQUEST) | ANA_END_COMPLETE;
    if (finish->silent && !is_receive(half))
        return; /* a send that nobody waited for: it is complete, at an unknown time */
    if (finish->silent)
        half->flags |= ANA_END_SILENT;
    half->wait_call = finish->call;
    half->wait_begin_ns = finish->begin_ns;
    half->complete_ns = finish->end_ns;
    half->wait_step = finish->step;
    if (is_receive(half) && !finish->silent)
        half->bytes = finish->bytes;
}

/* ---- pairs ----------------------------------------------------------------------------------------------------- */

static void report_message(struct ana_match *match, struct ana_channel *channel, const struct ana_half *send,
                           const struct ana_half *receive)
{
    if ((send->flags | receive->flags) & ANA_END_SILENT) {
        match->counts.uncertain += 2;
        return;
    }
    match->counts.messages++;
    match->counts.clock_violations += receive->complete_ns < send->begin_ns;
    if (!match->sink.on_message)
        return;
    struct ana_message message = {
        .source = channel->source,
        .destination = channel->destination,
        .comm_identity = channel->identity,
        .tag = channel->tag,
        .bytes = send->bytes != TRC_BYTES_UNKNOWN ? send->bytes : receive->bytes,
        .synchronous = send->flags & ANA_END_SYNC,
        .send_call = send->call,
        .recv_call = receive->call,
        .send_wait_call = send->wait_call,
        .recv_wait_call = receive->wait_call,
        .send_begin_ns = send->begin_ns,
        .send_end_ns = send->end_ns,
        .send_wait_begin_ns = send->wait_begin_ns,
        .send_complete_ns = send->complete_ns,
        .recv_begin_ns = receive->begin_ns,
        .recv_wait_begin_ns = receive->wait_begin_ns,
        .recv_complete_ns = receive->complete_ns,
        .send_step = send->step,
        .send_wait_step = send->wait_step,
        .recv_step = receive->step,
        .recv_wait_step = receive->wait_step,
        .note = &channel->note,
    };
    match->sink.on_message(match->sink.user, &message);
}

/* Reports a pair whose ends are in no queue any more, and lets them go. */
static void deliver_pair(struct ana_match *match, struct ana_channel *channel, struct ana_end *send,
                         struct ana_end *receive)
{
    report_message(match, channel, &send->half, &receive->half);
    remove_end(match, send);
    remove_end(match, receive);
}

static void deliver_waiting(struct ana_match *match, struct ana_end *send)
{
    struct ana_channel *channel = send->channel;
    unlink_end(send);
    channel->pairs--;
    deliver_pair(match, channel, send, send->partner);
}

static void pair_ends(struct ana_match *match, struct ana_channel *channel, struct ana_end *send,
                      struct ana_end *receive)
{
    unlink_end(send);
    match->queued_sends--;
    unlink_end(receive);
    if (send->half.flags & ANA_END_COMPLETE) {
        deliver_pair(match, channel, send, receive);
        return;
    }
    send->partner = receive;
    channel->pairs++;
    link_after(&match->waiting, match->waiting.tail, send);
    if (match->waiting.count > ANA_MATCH_KEPT)
        deliver_waiting(match, match->waiting.head);
}

/* Whether a wildcard posted before `receive` is still open that could have taken its message. */
static inline bool held_back(const struct ana_channel *channel, const struct ana_half *receive)
{
    for (const struct ana_end *wild = channel->to->wildcards.head; wild && begins_before(&wild->half, receive);
         wild = wild->next)
        if (wild->asked.identity == channel->identity &&
            (wild->asked.source == ANA_NOBODY || wild->asked.source == channel->source) &&
            (wild->asked.tag == TRC_TAG_ANY || wild->asked.tag == channel->tag))
            return true;
    return false;
}

/* Pairs the heads of both queues while it can: both are in order, so their heads belong together. */
static void pump_both(struct ana_match *match, struct ana_channel *channel)
{
    if (is_kept(channel))
        return;
    while (channel->sends.head && channel->receives.head) {
        struct ana_end *receive = channel->receives.head;
        if (!(receive->half.flags & ANA_END_COMPLETE))
            return;
        if (held_back(channel, &receive->half)) {
            struct ana_match_process *process = match->process[channel->destination];
            if (!channel->blocked) {
                channel->blocked = true;
                channel->next_blocked = process->blocked;
                process->blocked = channel;
            }
            return;
        }
        pair_ends(match, channel, channel->sends.head, receive);
    }
}

static inline void pump_channel(struct ana_match *match, struct ana_channel *channel)
{
    if (channel->sends.head && channel->receives.head)
        pump_both(match, channel);
}

/* Pairs the channels that a wildcard held back, after it has left. */
static void release_channels(struct ana_match *match, uint32_t index)
{
    struct ana_channel *channel = match->process[index]->blocked;
    match->process[index]->blocked = NULL;
    while (channel) {
        struct ana_channel *next = channel->next_blocked;
        channel->blocked = false;
        pump_channel(match, channel);
        channel = next;
    }
}

static void drop_end(struct ana_match *match, struct ana_end *end)
{
    match->counts.uncertain++;
    remove_end(match, end);
}

/* Adds an end to its channel's queue, within the room there is. */
static void enqueue_end(struct ana_match *match, struct ana_channel *channel, struct ana_end *end)
{
    bool receive = is_receive(&end->half);
    struct ana_ends *queue = receive ? &channel->receives : &channel->sends;
    end->channel = channel;
    link_in_order(queue, end);
    match->queued_sends += !receive;
    pump_channel(match, channel);
    bool crowded = match->end_pool.taken > ANA_MATCH_ENDS && queue->count > 1;
    if (queue->count > ANA_MATCH_KEPT || crowded) {
        channel->kept = true;
        drop_end(match, queue->head);
    }
}

/* ---- what events do -------------------------------------------------------------------------------------------- */

/* Pairs a complete end whose other end is the head of its queue, without a place of its own: the usual case. */
static inline bool pair_at_once(struct ana_match *match, struct ana_channel *channel, const struct ana_half *half)
{
    bool receive = is_receive(half);
    const struct ana_ends *own = receive ? &channel->receives : &channel->sends;
    struct ana_end *other = receive ? channel->sends.head : channel->receives.head;
    if (!other || own->head || !(half->flags & other->half.flags & ANA_END_COMPLETE) || is_kept(channel) ||
        held_back(channel, receive ? half : &other->half))
        return false;
    unlink_end(other);
    match->queued_sends -= receive;
    report_message(match, channel, receive ? &other->half : half, receive ? half : &other->half);
    ana_pool_give(&match->end_pool, other); /* complete: no request leads to it */
    return true;
}

void ana_end_lost(struct ana_match *match, uint32_t index)
{
    match->counts.uncertain++;
    ana_p2p_gap(match, index);
}

struct ana_end *ana_end_begin(struct ana_match *match, struct ana_channel *channel, const struct ana_half *half)
{
    if (pair_at_once(match, channel, half))
        return NULL;
    bool open = half->flags & ANA_END_REQUEST;
    struct ana_end *end = ana_pool_take(&match->end_pool);
    if (!end) {
        ana_end_lost(match, is_receive(half) ? channel->destination : channel->source);
        return NULL;
    }
    end->half = *half;
    end->partner = NULL;
    match->open_receives += open && is_receive(half);
    enqueue_end(match, channel, end);
    return open ? end : NULL;
}

struct ana_end *ana_end_begin_wildcard(struct ana_match *match, const struct ana_asked *asked,
                                       const struct ana_half *half)
{
    struct ana_end *end = ana_pool_take(&match->end_pool);
    if (!end) {
        ana_end_lost(match, asked->destination);
        return NULL;
    }
    *end = (struct ana_end){.half = *half, .asked = *asked};
    match->open_receives++;
    link_in_order(&match->process[asked->destination]->wildcards, end);
    return end;
}

void ana_end_unresolved(struct ana_match *match, uint32_t index, bool foreign)
{
    if (foreign) {
        match->counts.unknown_peers++;
        return;
    }
    /* Some channel of this rank has one receive more than is known: no order is certain before this point. */
    match->counts.uncertain++;
    ana_p2p_gap(match, index);
}

/* Completes a wildcard, which now has its source and tag, and so its channel. */
static void resolve_wildcard(struct ana_match *match, struct ana_end *end, const struct ana_end_finish *finish)
{
    const struct ana_asked *asked = &end->asked;
    uint32_t index = asked->destination, source = asked->source != ANA_NOBODY ? asked->source : finish->source;
    int32_t tag = asked->tag != TRC_TAG_ANY ? asked->tag : finish->tag;
    struct ana_channel *channel = NULL;
    unlink_end(end);
    if (ana_match_near(match, index, source)) {
        remove_end(match, end);
        release_channels(match, index);
        return;
    }
    if (source != ANA_NOBODY && tag != TRC_TAG_ANY && tag != TRC_TAG_NONE)
        channel = ana_channel_of(match, asked->identity, source, index, tag);
    if (channel) {
        enqueue_end(match, channel, end);
    } else {
        remove_end(match, end);
        ana_end_unresolved(match, index, finish->foreign);
    }
    release_channels(match, index);
}

void ana_end_complete(struct ana_match *match, struct ana_end *end, const struct ana_end_finish *finish)
{
    if (end->half.flags & ANA_END_ABANDONED) {
        ana_pool_give(&match->end_pool, end);
        return;
    }
    finish_half(match, &end->half, finish);
    if (end->partner)
        deliver_waiting(match, end);
    else if (end->channel)
        pump_channel(match, end->channel);
    else
        resolve_wildcard(match, end, finish);
}

void ana_end_cancel(struct ana_match *match, struct ana_end *end)
{
    if (end->half.flags & ANA_END_ABANDONED) {
        ana_pool_give(&match->end_pool, end);
        return;
    }
    end->half.flags &= ~(uint32_t)ANA_END_REQUEST;
    if (end->partner) { /* received all the same */
        deliver_waiting(match, end);
        return;
    }
    struct ana_channel *channel = end->channel;
    uint32_t index = end->asked.destination;
    match->counts.cancelled++;
    remove_end(match, end);
    if (channel)
        pump_channel(match, channel);
    else
        release_channels(match, index);
}

static struct ana_end *oldest_open(struct ana_end *end, uint64_t identity, const struct ana_end_finish *finish)
{
    for (; end; end = end->next) {
        const struct ana_asked *asked = &end->asked;
        if (end->half.flags & ANA_END_COMPLETE)
            continue;
        if (end->channel ||
            (asked->identity == identity && (asked->source == ANA_NOBODY || asked->source == finish->source) &&
             (asked->tag == TRC_TAG_ANY || asked->tag == finish->tag)))
            return end;
    }
    return NULL;
}

void ana_end_complete_unknown(struct ana_match *match, uint32_t index, uint64_t identity,
                              const struct ana_end_finish *finish)
{
    if (finish->source == ANA_NOBODY || finish->tag == TRC_TAG_ANY || finish->tag == TRC_TAG_NONE) {
        ana_end_unresolved(match, index, finish->foreign);
        return;
    }
    struct ana_half half = {.begin_ns = finish->begin_ns,
                            .end_ns = finish->begin_ns,
                            .call = finish->call,
                            .flags = ANA_END_RECEIVE,
                            .gaps = match->process[index]->gaps};
    struct ana_channel *channel = ana_channel_of(match, identity, finish->source, index, finish->tag);
    struct ana_end *open = channel ? oldest_open(channel->receives.head, identity, finish) : NULL;
    if (!open)
        open = oldest_open(match->process[index]->wildcards.head, identity, finish);
    if (open) {
        half.call = open->half.call;
        half.begin_ns = open->half.begin_ns;
        half.end_ns = open->half.end_ns;
        half.serial = open->half.serial;
        half.step = open->half.step;
        remove_end(match, open);
    } else {
        half.serial = ++match->serial;
    }
    finish_half(match, &half, finish);
    if (channel)
        ana_end_begin(match, channel, &half);
    else
        ana_end_lost(match, index);
    release_channels(match, index);
}

/* Ends from before the gap stay queued until the flush, or until there is no room; but they are stale. */
void ana_p2p_gap(struct ana_match *match, uint32_t index)
{
    match->process[index]->gap = true;
    match->process[index]->gaps++;
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

/* Drops stale ends: between these and the last ones of the same rank something is missing. */
static void drop_stale(struct ana_match *match, struct ana_ends *queue, uint32_t gaps)
{
    for (struct ana_end *end = queue->head, *next; end; end = next) {
        next = end->next;
        if (end->half.gaps != gaps)
            drop_end(match, end);
    }
}

/* Both ranks have finalized, so nothing was in flight: the last send is what the last completed receive took. */
static void flush_kept(struct ana_match *match, struct ana_channel *channel)
{
    struct ana_ends *sends = &channel->sends, *receives = &channel->receives;
    drop_stale(match, sends, channel->from->gaps);
    drop_stale(match, receives, channel->to->gaps);
    for (struct ana_end *end = receives->head, *next; end; end = next) {
        next = end->next;
        if (!(end->half.flags & ANA_END_COMPLETE)) {
            match->counts.unmatched_receives++;
            remove_end(match, end);
        }
    }
    bool over = channel->from->is.finalized && channel->to->is.finalized;
    size_t pairs = !over ? 0 : sends->count < receives->count ? sends->count : receives->count, against = 0;
    struct ana_end *send = sends->tail, *receive = receives->tail;
    for (size_t i = 0; i < pairs; i++, send = send->prev, receive = receive->prev)
        against += receive->half.complete_ns < send->half.begin_ns;
    if (against > pairs / 2) /* most would arrive before they leave: something in between is missing */
        pairs = 0;
    while (sends->count > pairs)
        drop_end(match, sends->head);
    while (receives->count > pairs)
        drop_end(match, receives->head);
    while (sends->head)
        pair_ends(match, channel, sends->head, receives->head);
}

static void flush_whole(struct ana_match *match, struct ana_channel *channel)
{
    while (channel->sends.head && channel->receives.head) {
        struct ana_end *receive = channel->receives.head;
        if (held_back(channel, &receive->half))
            break;
        if (receive->half.flags & ANA_END_COMPLETE) {
            pair_ends(match, channel, channel->sends.head, receive);
        } else { /* it took the message, by the order, but nobody completed it */
            match->counts.unmatched_receives++;
            remove_end(match, receive);
            remove_end(match, channel->sends.head);
        }
    }
    bool unclear = (channel->sends.head && channel->receives.head) || channel->from->is.lossy || channel->to->is.lossy;
    for (; channel->receives.head; remove_end(match, channel->receives.head)) {
        bool complete = channel->receives.head->half.flags & ANA_END_COMPLETE;
        *(complete || unclear ? &match->counts.uncertain : &match->counts.unmatched_receives) += 1;
    }
    for (; channel->sends.head; remove_end(match, channel->sends.head))
        *(unclear ? &match->counts.uncertain : &match->counts.unmatched_sends) += 1;
}

void ana_p2p_flush(struct ana_match *match)
{
    for (size_t i = 0; i < match->channels.count; i++) {
        struct ana_channel *channel = ana_channel_at(match, i);
        if (is_kept(channel))
            flush_kept(match, channel);
        else
            flush_whole(match, channel);
    }
    for (uint32_t i = 0; i < match->processes; i++)
        while (match->process[i] && match->process[i]->wildcards.head) {
            match->counts.unmatched_receives++;
            remove_end(match, match->process[i]->wildcards.head);
        }
    while (match->waiting.head)
        deliver_waiting(match, match->waiting.head);
}
