/* The counters of a built trace's live pages, kept as the recorder keeps them. */
#ifndef TRACE_COUNTERS_H
#define TRACE_COUNTERS_H

#include "tests/support/trace_builder_impl.h"

/* Counts `calls` calls of this signature that took `ticks` together.  A SUB item moves bytes and messages, but is no
 * call; a NESTED one does not count. */
void tb_count(struct tb *tb, struct thread *thread, const struct trc_sig *sig, uint64_t ticks, uint64_t calls);

#endif
