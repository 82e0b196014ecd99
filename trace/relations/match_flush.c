/* Ends that are still open: when no more events come, or when nobody wants more. */
#include "trace/relations/match_ends.h"

/* Drops stale ends: between these and the last ones of the same rank something is missing. */
static void drop_stale(struct ana_match *match, struct ana_ends *queue, uint32_t gaps)
{
    for (struct ana_end *end = queue->head, *next; end; end = next) {
        next = end->next;
        if (end->half.gaps != gaps)
            ana_end_drop(match, end);
    }
}

/* Both ranks have finalized, so nothing was in flight: the last send is what the last completed receive took. */
static void flush_kept(struct ana_match *match, struct ana_channel *channel)
{
    const struct ana_match_process *from = ana_channel_from(match, channel), *to = ana_channel_to(match, channel);
    struct ana_ends *sends = &channel->sends, *receives = &channel->receives;
    drop_stale(match, sends, from->gaps);
    drop_stale(match, receives, to->gaps);
    for (struct ana_end *end = receives->head, *next; end; end = next) {
        next = end->next;
        if (!(end->half.flags & ANA_END_COMPLETE)) {
            match->counts.unmatched_receives++;
            ana_end_remove(match, end);
        }
    }
    bool over = from->is.finalized && to->is.finalized;
    size_t pairs = !over ? 0 : sends->count < receives->count ? sends->count : receives->count, against = 0;
    struct ana_end *send = sends->tail, *receive = receives->tail;
    for (size_t i = 0; i < pairs; i++, send = send->prev, receive = receive->prev)
        against += receive->half.complete_ns < send->half.begin_ns;
    if (against > pairs / 2) /* most would arrive before they leave: something in between is missing */
        pairs = 0;
    while (sends->count > pairs)
        ana_end_drop(match, sends->head);
    while (receives->count > pairs)
        ana_end_drop(match, receives->head);
    while (sends->head)
        ana_pair_heads(match, channel);
}

static void flush_whole(struct ana_match *match, struct ana_channel *channel)
{
    while (channel->sends.head && channel->receives.head) {
        struct ana_end *receive = channel->receives.head;
        if (ana_end_held_back(match, channel, &receive->half))
            break;
        if (receive->half.flags & ANA_END_COMPLETE) {
            ana_pair_heads(match, channel);
        } else { /* it took the message, by the order, but nobody completed it */
            match->counts.unmatched_receives++;
            ana_end_remove(match, receive);
            ana_end_remove(match, channel->sends.head);
        }
    }
    bool lossy = ana_channel_from(match, channel)->is.lossy || ana_channel_to(match, channel)->is.lossy;
    bool unclear = lossy || (channel->sends.head && channel->receives.head);
    for (; channel->receives.head; ana_end_remove(match, channel->receives.head)) {
        bool complete = channel->receives.head->half.flags & ANA_END_COMPLETE;
        *(complete || unclear ? &match->counts.uncertain : &match->counts.unmatched_receives) += 1;
    }
    for (; channel->sends.head; ana_end_remove(match, channel->sends.head))
        *(unclear ? &match->counts.uncertain : &match->counts.unmatched_sends) += 1;
}

void ana_p2p_flush(struct ana_match *match)
{
    for (size_t i = 0; i < match->channels.count; i++) {
        struct ana_channel *channel = ana_channel_at(match, i);
        if (ana_is_kept(match, channel))
            flush_kept(match, channel);
        else
            flush_whole(match, channel);
    }
    for (uint32_t i = 0; i < match->processes; i++)
        while (match->process[i] && match->process[i]->wildcards.head) {
            match->counts.unmatched_receives++;
            ana_end_remove(match, match->process[i]->wildcards.head);
        }
    while (match->waiting.head)
        ana_waiting_deliver(match, match->waiting.head);
}

/* Whether the first of some ends, which are in order of begin, began until a time. */
static bool began(const struct ana_ends *ends, int64_t ns)
{
    return ends->head && ends->head->half.begin_ns <= ns;
}

bool ana_match_waits(const struct ana_match *match, int64_t ns)
{
    bool waits = match->waiting.head || match->joining.count || match->early.count || match->begun_colls.count;
    for (size_t i = 0; !waits && i < match->channels.count; i++) {
        const struct ana_channel *channel = ana_channel_at(match, i);
        waits = began(&channel->sends, ns) || began(&channel->receives, ns);
    }
    for (uint32_t i = 0; !waits && i < match->processes; i++)
        waits = match->process[i] && began(&match->process[i]->wildcards, ns);
    for (const struct ana_open_instance *open = match->oldest; !waits && open; open = open->newer)
        for (size_t i = 0; !waits && i < open->arrivals; i++)
            waits = open->arrival[i].begin_ns <= ns;
    for (size_t i = 0; !waits && i < match->partners.count; i++) {
        const struct ana_partner_line *line = ana_map_value(&match->partners, i);
        waits = line->made != line->needed;
    }
    return waits;
}
