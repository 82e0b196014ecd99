/* The digest of the node, as a source of the recorder. */
#include "interpose/core/source.h"
#include "interpose/watch/watch.h"

static void look(bool last)
{
    if (last)
        ipo_watch_stop();
    else
        ipo_watch_round();
}

static const struct ipo_source watch_source = {.name = "watch", .live = ipo_watch_start, .round = look};
IPO_SOURCE(watch_source);
