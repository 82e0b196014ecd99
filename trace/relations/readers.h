/* Threads that read the parts of a job (parts.h), each some of the ranks, a few blocks ahead of who brings them
 * together. */
#pragma once

#include "trace/relations/parts.h"

struct ana_readers;

/* `parts` readers of files[0 .. n-1], whose indices in `clock` these are; the files and the clock stay the caller's.
 * From the begin of a source to its end nobody else refreshes these files, reads their events, or fits the clock before
 * the first item is there. NULL: out of memory.  Free with ana_readers_free. */
struct ana_readers *ana_readers_new(struct trc_file *const *files, size_t n, const struct ana_clock *clock,
                                    unsigned parts);
/* Frees them, after their source was ended; NULL is none. */
void ana_readers_free(struct ana_readers *readers);
/* Returns the readers as a source, as long as they live.  A part without a thread of its own is read by the thread
 * that takes its blocks. */
struct ana_part_source ana_readers_source(struct ana_readers *readers);
