/* The counters of a built trace's live pages, kept as the recorder keeps them. */
#ifndef TRACE_COUNTERS_H
#define TRACE_COUNTERS_H

#include "trace/format/format.h"

/* Counts `calls` calls of this signature that took `ticks` together.  A SUB item moves bytes and messages, but is no
 * call; a NESTED one does not count.  `page` may be NULL. */
void tb_count(struct trc_thread_chunk *page, const struct trc_sig *sig, uint64_t ticks, uint64_t calls);

#endif
