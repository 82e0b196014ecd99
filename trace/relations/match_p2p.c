/* Message ends, paired in the order of their channels. */
#include "trace/relations/match_ends.h"
#include <string.h>

/* ---- ends ------------------------------------------------------------------------------------------------------ */

static void link_in_order(struct ana_ends *list, struct ana_end *end)
{
    struct ana_end *place = list->tail;
    while (place && ana_begins_before(&end->half, &place->half))
        place = place->prev;
    ana_ends_link(list, place, end);
}

void ana_end_remove(struct ana_match *match, struct ana_end *end)
{
    if (end->list) {
        if (!ana_is_receive(&end->half) && end->list != &match->waiting)
            match->queued_sends--;
        match->wildcards -= ana_is_wild(&end->half);
        ana_ends_unlink(end);
    }
    if (ana_is_receive(&end->half) && !(end->half.flags & (ANA_END_COMPLETE | ANA_END_ABANDONED)))
        match->open_receives--;
    if (end->half.flags & ANA_END_REQUEST)
        end->half.flags |= ANA_END_ABANDONED;
    else
        ana_pool_free_item(&match->end_pool, end);
}

void ana_end_drop(struct ana_match *match, struct ana_end *end)
{
    match->counts.uncertain++;
    ana_end_remove(match, end);
}

/* ---- pairs ----------------------------------------------------------------------------------------------------- */

void ana_waiting_deliver(struct ana_match *match, struct ana_end *send)
{
    struct ana_end *receive = send->partner;
    ana_ends_unlink(send);
    send->channel->pairs--;
    ana_pair_report(match, send->channel, &send->half, &receive->half);
    ana_pool_free_item(&match->end_pool, receive);
    if (send->half.flags & ANA_END_REQUEST)
        send->half.flags |= ANA_END_ABANDONED;
    else
        ana_pool_free_item(&match->end_pool, send);
}

bool ana_end_held_back(const struct ana_match *match, const struct ana_channel *channel, const struct ana_half *receive)
{
    const struct ana_end *wild = ana_channel_to(match, channel)->wildcards.head;
    for (; wild && ana_begins_before(&wild->half, receive); wild = wild->next)
        if (wild->asked.identity == channel->identity &&
            (wild->asked.source == ANA_NOBODY || wild->asked.source == channel->source) &&
            (wild->asked.tag == TRC_TAG_ANY || wild->asked.tag == channel->tag))
            return true;
    return false;
}

/* Remembers a channel that a wildcard holds back. */
static void block_channel(struct ana_match *match, struct ana_channel *channel)
{
    struct ana_match_process *process = match->process[channel->destination];
    if (channel->blocked)
        return;
    channel->blocked = true;
    channel->next_blocked = process->blocked;
    process->blocked = channel;
}

void ana_channel_pump(struct ana_match *match, struct ana_channel *channel)
{
    while (ana_channel_can_pair(channel)) {
        if (ana_is_kept(match, channel))
            return;
        if (match->wildcards && ana_end_held_back(match, channel, &channel->receives.head->half)) {
            block_channel(match, channel);
            return;
        }
        ana_pair_heads(match, channel);
    }
}

/* Pairs the channels that a wildcard held back, after it has left. */
static void release_channels(struct ana_match *match, uint32_t index)
{
    struct ana_channel *channel = match->process[index]->blocked;
    match->process[index]->blocked = NULL;
    while (channel) {
        struct ana_channel *next = channel->next_blocked;
        channel->blocked = false;
        ana_channel_pump(match, channel);
        channel = next;
    }
}

/* ---- effects of events ----------------------------------------------------------------------------------------- */

void ana_end_lost(struct ana_match *match, uint32_t index)
{
    match->counts.uncertain++;
    ana_p2p_gap(match, index);
}

struct ana_end *ana_end_begin(struct ana_match *match, struct ana_channel *channel, struct ana_end *end)
{
    bool receive = ana_is_receive(&end->half), open = end->half.flags & ANA_END_REQUEST;
    struct ana_ends *queue = receive ? &channel->receives : &channel->sends;
    end->channel = channel;
    end->partner = NULL;
    if (__builtin_expect(queue->tail && ana_begins_before(&end->half, &queue->tail->half), 0))
        link_in_order(queue, end);
    else
        ana_ends_append(queue, end);
    match->queued_sends += !receive;
    match->open_receives += receive && open;
    ana_channel_pump(match, channel);
    bool crowded = match->end_pool.taken > ANA_MATCH_ENDS && queue->count > 1;
    if (__builtin_expect(queue->count > ANA_MATCH_KEPT || crowded, 0)) {
        channel->kept = true;
        ana_end_drop(match, queue->head);
    }
    return open ? end : NULL;
}

void ana_end_begin_wildcard(struct ana_match *match, const struct ana_asked *asked, struct ana_end *end)
{
    end->half.flags |= ANA_END_WILD;
    end->asked = *asked;
    match->open_receives++;
    match->wildcards++;
    link_in_order(&match->process[asked->destination]->wildcards, end);
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
    const struct ana_asked asked = end->asked;
    uint32_t index = asked.destination, source = asked.source != ANA_NOBODY ? asked.source : finish->route->source;
    int32_t tag = asked.tag != TRC_TAG_ANY ? asked.tag : finish->event->sig->rtag;
    struct ana_channel *channel = NULL;
    ana_ends_unlink(end);
    match->wildcards--;
    end->half.flags ^= ANA_END_WILD;
    if (ana_match_near(match, index, source)) {
        ana_end_remove(match, end);
        release_channels(match, index);
        return;
    }
    if (source != ANA_NOBODY && tag != TRC_TAG_ANY && tag != TRC_TAG_NONE)
        channel = ana_channel_of(match, asked.identity, source, index, tag);
    if (channel) {
        ana_end_begin(match, channel, end);
    } else {
        ana_end_remove(match, end);
        ana_end_unresolved(match, index, finish->route->does & ANA_DOES_FOREIGN);
    }
    release_channels(match, index);
}

static void finish_half(struct ana_match *match, struct ana_half *half, const struct ana_end_finish *finish)
{
    bool receive = ana_is_receive(half);
    match->open_receives -= receive && half->flags & ANA_END_REQUEST;
    half->flags = (half->flags & ~(uint32_t)ANA_END_REQUEST) | ANA_END_COMPLETE;
    if (finish->silent && !receive)
        return; /* nobody waited for it: it is complete, at an unknown time */
    ana_half_finish(half, finish->call, finish->event);
    if (finish->silent)
        half->flags |= ANA_END_SILENT;
    else if (receive)
        half->bytes = finish->event->sig->received;
}

void ana_end_complete(struct ana_match *match, struct ana_end *end, const struct ana_end_finish *finish)
{
    if (end->half.flags & ANA_END_ABANDONED) {
        ana_pool_free_item(&match->end_pool, end);
        return;
    }
    finish_half(match, &end->half, finish);
    if (ana_is_wild(&end->half))
        resolve_wildcard(match, end, finish);
    else if (end->partner)
        ana_waiting_deliver(match, end);
    else
        ana_channel_pump(match, end->channel);
}

void ana_end_cancel(struct ana_match *match, struct ana_end *end)
{
    if (end->half.flags & ANA_END_ABANDONED) {
        ana_pool_free_item(&match->end_pool, end);
        return;
    }
    end->half.flags &= ~(uint32_t)ANA_END_REQUEST;
    bool wild = ana_is_wild(&end->half);
    if (!wild && end->partner) { /* received all the same */
        ana_waiting_deliver(match, end);
        return;
    }
    struct ana_channel *channel = end->channel;
    uint32_t index = end->asked.destination;
    match->counts.cancelled++;
    ana_end_remove(match, end);
    if (wild)
        release_channels(match, index);
    else
        ana_channel_pump(match, channel);
}

/* The first open receive of a list that such a message may have completed. */
static struct ana_end *oldest_open(struct ana_end *end, uint64_t identity, uint32_t source, int32_t tag)
{
    for (; end; end = end->next) {
        const struct ana_asked *asked = &end->asked;
        if (end->half.flags & ANA_END_COMPLETE)
            continue;
        if (!ana_is_wild(&end->half) ||
            (asked->identity == identity && (asked->source == ANA_NOBODY || asked->source == source) &&
             (asked->tag == TRC_TAG_ANY || asked->tag == tag)))
            return end;
    }
    return NULL;
}

void ana_end_complete_unknown(struct ana_match *match, const struct ana_end_finish *finish)
{
    uint32_t index = (uint32_t)finish->event->index, source = finish->route->source;
    uint64_t identity = finish->route->identity;
    int32_t tag = finish->event->sig->rtag;
    if (source == ANA_NOBODY || tag == TRC_TAG_ANY || tag == TRC_TAG_NONE) {
        ana_end_unresolved(match, index, finish->route->does & ANA_DOES_FOREIGN);
        return;
    }
    struct ana_half half = {.begin_ns = finish->event->begin_ns,
                            .end_ns = finish->event->begin_ns,
                            .call = finish->call,
                            .flags = ANA_END_RECEIVE,
                            .gaps = match->process[index]->gaps};
    struct ana_channel *channel = ana_channel_of(match, identity, source, index, tag);
    struct ana_end *open = channel ? oldest_open(channel->receives.head, identity, source, tag) : NULL;
    if (!open)
        open = oldest_open(match->process[index]->wildcards.head, identity, source, tag);
    if (open) {
        half.call = open->half.call;
        half.begin_ns = open->half.begin_ns;
        half.end_ns = open->half.end_ns;
        half.serial = open->half.serial;
        half.step = open->half.step;
        ana_end_remove(match, open);
    } else {
        half.serial = ++match->serial;
    }
    finish_half(match, &half, finish);
    struct ana_end *end = channel ? ana_pool_alloc(&match->end_pool) : NULL;
    if (end) {
        end->half = half;
        ana_end_begin(match, channel, end);
    } else {
        ana_end_lost(match, index);
    }
    release_channels(match, index);
}

/* Ends from before the gap stay queued until the flush, or until there is no room; but they are stale. */
void ana_p2p_gap(struct ana_match *match, uint32_t index)
{
    match->any_gap = match->process[index]->gap = true;
    match->process[index]->gaps++;
}
