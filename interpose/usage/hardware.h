/* The processor's counters of each recording thread, user mode only, where perf_event_open is allowed.  Their
 * descriptors lie in a table of descriptors that only a thread of ours has: the program cannot see, close or inherit
 * one. */
#pragma once

#include "trace/format/format_usage.h"
#include <stdbool.h>

/* Begins, where this is allowed: then a thread of ours counts all usage from now on.  Once; by the heartbeat. */
void ipo_hardware_start(void);
/* Makes that thread count; `last`: it ends then, and is waited for a moment.  False: there is no such thread, and
 * the caller counts. */
bool ipo_hardware_ask(bool last);

/* Adds instructions and cycles of a thread, whose live page has this index.  Only in that thread; else it adds
 * nothing. */
void ipo_hardware_read(uint32_t tid, uint32_t index, struct trc_usage *now);
