/* The digest of the node, as a source of the recorder. */
#include "interpose/core/source.h"
#include "interpose/watch/watch.h"

static void look(enum ipo_round round)
{
    if (round == IPO_ROUND)
        ipo_watch_round();
    else if (round == IPO_ROUND_LAST)
        ipo_watch_stop();
}

static const struct ipo_source watch_source = {.name = "watch", .live = ipo_watch_start, .round = look};
IPO_SOURCE(watch_source);
