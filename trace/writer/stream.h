/* Declarations shared by the writer: the file (writer.c), its space (space.c) and the streams (stream.c). */
#pragma once

#include "trace/writer/writer.h"

/* Allocates a chunk for `kind` and `thread`: a fresh one of `blocks` blocks, else one with no fewer than `least`: the
 * rest of the file, or the oldest EVENTS chunk that is full.  Its head is reset but for the magic, which the caller
 * stores when the rest is filled in.  NULL: there is none.  Any thread; no lock. */
struct trc_chunk *trc_writer_alloc(struct trc_writer *writer, enum trc_chunk_kind kind, uint16_t thread,
                                   unsigned blocks, unsigned least);

/* Number of bytes behind a chunk's head, by this process's own record. */
uint32_t trc_writer_room(const struct trc_writer *writer, const struct trc_chunk *chunk);

/* Number of blocks of a chunk with `bytes` bytes behind its head. */
static inline unsigned trc_blocks_for(size_t bytes)
{
    return (unsigned)((bytes + sizeof(struct trc_chunk) + TRC_BLOCK - 1) / TRC_BLOCK);
}

/* ---- space.c */

#define TRC_ERROR_FULL "no more space for the trace file: only the newest events are kept"
#define TRC_ERROR_REFUSED                                                                                              \
    "the system refuses space for the trace file, as a seccomp filter does: only the newest events are kept"
#define TRC_ERROR_TAKEN "the program closed the trace file: it cannot grow, only the newest events are kept"

/* Makes space for blocks [allocated, wanted), and maps it.  Returns 0 or an errno.  Any thread. */
int trc_writer_allocate(struct trc_writer *writer, unsigned wanted);
/* Makes space for `bytes` bytes from offset `from` on, before there are blocks.  Returns 0 or an errno. */
int trc_writer_extend(struct trc_writer *writer, uint64_t from, uint64_t bytes);
/* Moves the file's descriptor to a number that programs do not meet.  Returns 0 or an errno. */
int trc_writer_adopt(struct trc_writer *writer, int fd);
/* Whether the descriptor is still the trace's. */
bool trc_writer_has_file(const struct trc_writer *writer);
/* Cuts the file, which has `allocated` blocks, behind its first `blocks` blocks.  Returns 0 or an errno. */
int trc_writer_cut(struct trc_writer *writer, unsigned blocks, unsigned allocated);
/* Maps the file, for as many of `blocks` as there is address space for, and returns how many; 0: not even `least`. */
unsigned trc_writer_map(struct trc_writer *writer, size_t chunks_offset, unsigned blocks, unsigned least);
/* Undoes trc_writer_map. */
void trc_writer_unmap(struct trc_writer *writer);
/* Writes into the head what went wrong; `error` is an errno or 0. */
void trc_writer_set_error(struct trc_writer *writer, int error, const char *what);
/* Populates the pages of the next `ahead` blocks, so that a recording thread has no page fault.  Our own thread; a
 * thread of the program where that is late. */
void trc_writer_populate(struct trc_writer *writer, unsigned ahead);

/* ---- room.c */

/* Makes room for `ready` blocks in a thread of the program that found none, by one system call (more on a full disk).
 * False: it may not (`apart`, limit reached), or there was no space. */
bool trc_writer_grow_here(struct trc_writer *writer, unsigned ready);
/* Wakes our own thread if fewer blocks have their pages than it wants.  A system call then; any thread. */
void trc_writer_runs_low(struct trc_writer *writer);
