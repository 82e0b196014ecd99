/* The channels of messages: made when they are first needed, swept away when too many lie unused. */
#include "trace/relations/match_impl.h"

#define SWEEP_FROM 4096 /* channels that may lie unused */

static void sweep_channels(struct ana_match *match)
{
    match->epoch++;
    for (size_t i = match->channels.count; i-- > 0;) {
        struct ana_channel *channel = ana_channel_at(match, i);
        if (channel->sends.count || channel->receives.count || channel->pairs || channel->blocked || channel->kept)
            continue;
        ana_map_remove(&match->channels, ana_map_value(&match->channels, i));
        ana_pool_free_item(&match->channel_pool, channel);
    }
    match->sweep_at = match->channels.count * 2 > SWEEP_FROM ? match->channels.count * 2 : SWEEP_FROM;
}

struct ana_channel *ana_channel_of(struct ana_match *match, uint64_t identity, uint32_t source, uint32_t destination,
                                   int32_t tag)
{
    uint64_t pair = (uint64_t)source << 32 | destination;
    struct ana_channel **found = ana_map_find(&match->channels, identity, pair, (uint32_t)tag);
    if (found)
        return *found;
    if (match->channels.count >= match->sweep_at)
        sweep_channels(match);
    struct ana_channel *channel = ana_pool_alloc(&match->channel_pool);
    if (!channel)
        return NULL;
    *channel = (struct ana_channel){.identity = identity, .source = source, .destination = destination, .tag = tag};
    found = ana_map_make(&match->channels, identity, pair, (uint32_t)tag);
    if (found)
        return *found = channel;
    ana_pool_free_item(&match->channel_pool, channel);
    return NULL;
}
