/* Between the two halves of the writer: the file (writer.c) and the streams (writer_stream.c). */
#ifndef TRC_WRITER_STREAM_H
#define TRC_WRITER_STREAM_H

#include "trace/writer/writer.h"

/* A chunk for `kind` and `thread`: a fresh one, else (EVENTS only) the oldest full one.  Its head is reset but for the
 * magic, which the caller stores when the rest is filled in.  NULL: none. */
struct trc_chunk *trc_writer_take(struct trc_writer *writer, enum trc_chunk_kind kind, uint16_t thread);

/* ---- writer_space.c */

#define TRC_SAY_FULL  "no more space for the trace file: only the newest events are kept"
#define TRC_SAY_TAKEN "the program closed the trace file: it cannot grow, only the newest events are kept"

/* Makes space for chunks [allocated, wanted); 0 or an errno. */
int trc_writer_allocate(struct trc_writer *writer, unsigned wanted);
/* The same for the first bytes of the file. */
int trc_writer_extend(struct trc_writer *writer, uint64_t from, uint64_t bytes);
/* Takes a descriptor for the file, with a number that programs do not come by.  0 or an errno. */
int trc_writer_adopt(struct trc_writer *writer, int fd);
/* Cuts the file behind its first `chunks` chunks. */
int trc_writer_cut(struct trc_writer *writer, unsigned chunks);
/* Maps the file, for as many of `chunks` as there is address space for; their number, 0: not even a few. */
unsigned trc_writer_map(struct trc_writer *writer, size_t chunks_offset, unsigned chunks, unsigned least);
/* Says in the head what went wrong. */
void trc_writer_say(struct trc_writer *writer, int error, const char *what);

#endif
