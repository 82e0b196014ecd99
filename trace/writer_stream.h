/* Between the two halves of the writer: the file (writer.c) and the streams (writer_stream.c). */
#ifndef TRC_WRITER_STREAM_H
#define TRC_WRITER_STREAM_H

#include "trace/writer.h"

/* A chunk for `kind` and `thread`: a fresh one, else (EVENTS only) the oldest full one.  Its head is reset but for the
 * magic, which the caller stores when the rest is filled in.  NULL: none. */
struct trc_chunk *trc_writer_take(struct trc_writer *writer, enum trc_chunk_kind kind, uint16_t thread);

#endif
