#include "trace/writer/switch.h"
#include "trace/writer/region.h"

static void define_interval(struct trc_writer *writer, uint64_t since)
{
    struct trc_head *head = writer->head;
    head->off_ticks += writer->ticks() - since;
    if (++head->off_times <= TRC_OFF_MOST)
        trc_writer_define(writer, TRC_DEF_OFF, (uint32_t)head->off_times, 0, since, NULL, 0, NULL, 0);
    __atomic_store_n(&head->off_since, 0, __ATOMIC_RELEASE);
}

bool trc_writer_switch(struct trc_writer *writer, bool on)
{
    uint64_t since = atomic_load(&writer->off_since);
    const uint64_t now = on ? 0 : writer->ticks();
    if ((since == 0) == on || !atomic_compare_exchange_strong(&writer->off_since, &since, now))
        return false;
    if (on)
        define_interval(writer, since);
    else
        __atomic_store_n(&writer->head->off_since, now, __ATOMIC_RELEASE);
    return true;
}

void trc_stream_switch_off(struct trc_stream *stream)
{
    if (stream->off)
        return;
    if (trc_stream_room(stream))
        trc_stream_commit(stream, trc_put_lost(stream->at, 0), stream->chunk->last_ticks);
    stream->folds = stream->in_row = 0;
    stream->kept_stop = stream->stop;
    stream->stop = NULL;
    stream->off = true;
}

/* Appends a BEGIN for each region that is open: with the LOST item readers have dropped them.  If they have no room
 * the next item begins a chunk, which lists the open regions. */
static void begin_regions(struct trc_stream *stream, uint64_t now)
{
    const struct trc_regions *regions = stream->regions;
    if (!regions || !regions->depth || !stream->chunk)
        return;
    if ((size_t)(stream->stop - stream->at) < regions->depth * (size_t)TRC_ITEM_MAX) {
        stream->stop = stream->at;
        stream->base = now > stream->base ? now : stream->base;
        return;
    }
    for (uint32_t i = 0; i < regions->depth; i++)
        trc_stream_region(stream, TRC_REGION_BEGIN, regions->id[i], now);
}

bool trc_stream_switch_on(struct trc_stream *stream)
{
    if (trc_writer_is_off(stream->writer))
        return false;
    stream->off = false;
    stream->stop = stream->kept_stop;
    begin_regions(stream, stream->writer->ticks());
    return true;
}
