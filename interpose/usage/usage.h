/* Reads what the kernel counts for this process and its recording threads.  Our own thread only. */
#pragma once

#include "trace/writer/usage.h"

/* Writes what rose since the last call, once it is time (`last`: now).  Whoever counts has a thread of ours for it; a
 * second one returns at once. */
void ipo_usage_count(bool last);

/* Adds a value to the counts that are read. */
static inline void ipo_usage_set(struct trc_usage *usage, enum trc_usage_field field, uint64_t value)
{
    usage->fields |= 1u << field;
    usage->value[field] = value;
}
