/* Switches recording off and on.  A stream that is off has no room for items, so each item is dropped by the check
 * for room, and its calls are not counted.  Its thread finds out at its next call that recording was switched off,
 * and at its next item that it was switched on. */
#pragma once

#include "trace/writer/writer.h"

/* Switches recording off or on.  Returns whether it was not so before.  Any thread. */
bool trc_writer_switch(struct trc_writer *writer, bool on);
/* Whether recording is off.  Any thread. */
static inline bool trc_writer_is_off(const struct trc_writer *writer)
{
    return atomic_load_explicit(&writer->off_since, memory_order_relaxed) != 0;
}

/* Switches the stream off, and appends a LOST item before.  Does nothing where it is off.  By its thread. */
void trc_stream_switch_off(struct trc_stream *stream);
/* Switches a stream on that is off, unless recording is off.  Returns whether it is on.  By its thread. */
bool trc_stream_switch_on(struct trc_stream *stream);
