/* REGION items (trace/format/format_items.h): regions of the program's own.  Record path: no lock, no allocation, no
 * system call but for a new chunk. */
#pragma once

#include "trace/writer/writer.h"

/* Appends that a region begins or ends at `ticks`.  BEGIN: before the region is among stream->regions, END: after it
 * has left them, so that a chunk begun here lists the open regions at its begin.  False: no room. */
bool trc_stream_region(struct trc_stream *stream, enum trc_region_what what, uint32_t id, uint64_t ticks);

/* Appends an OPEN for each of stream->regions, at the begin of a chunk. */
void trc_stream_regions(struct trc_stream *stream);
