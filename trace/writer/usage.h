/* Writes the kernel's counts into chunks of their own (trace/format/format_usage.h).  One thread of ours at a time;
 * no allocation, and system calls only if a chunk is taken. */
#pragma once

#include "trace/writer/writer.h"

#define TRC_USAGE_CHUNKS 32u /* upper limit, besides an eighth of the blocks that the file may have */

/* Zeroed, but for `writer`. */
struct trc_usage_stream {
    struct trc_writer *writer;
    struct trc_chunk *chunk[TRC_USAGE_CHUNKS];
    unsigned chunks, current;
    unsigned blocks; /* total blocks of the chunks */
    uint64_t base;   /* ticks of the last item; 0: none yet */
    uint32_t size;   /* bytes of entries in `item` */
    uint8_t item[TRC_USAGE_ITEM_MAX];
};

/* Adds an entry to the item in the making.  False: it has no room left, so the counts must stay for the next. */
bool trc_usage_add(struct trc_usage_stream *stream, const struct trc_usage *usage);

/* Writes the item: counts from `since` until `ticks`.  Without any entry nothing is written.  False: there is no room
 * in the file, and it is dropped. */
bool trc_usage_end(struct trc_usage_stream *stream, uint64_t since, uint64_t ticks);
