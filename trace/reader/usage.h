/* Reads what the kernel counted for a process (trace/format/format_usage.h).  Trusts nothing in the file.  One thread
 * at a time. */
#pragma once

#include "trace/reader/reader.h"

/* Counts over a span of time. */
struct trc_usage_item {
    uint64_t begin, end; /* ticks; begin: the end of the item before, if that is still there */
    size_t n;
    const struct trc_usage *entry; /* valid until the next call on this cursor */
};

struct trc_usage_cursor; /* belongs to the file: close before trc_close */

/* A cursor over the file's usage, at the oldest that it has; NULL only when out of memory. */
struct trc_usage_cursor *trc_usage_open(struct trc_file *file);
/* Moves a new cursor to the newest chunk that begins no later than `ticks`. */
void trc_usage_seek(struct trc_usage_cursor *cursor, uint64_t ticks);
/* Frees a cursor; NULL is none. */
void trc_usage_close(struct trc_usage_cursor *cursor);
/* Reads the next item.  TRC_END: nothing more now; after trc_refresh there may be.  What does not decode is reported as
 * damage, and the cursor goes on in the next chunk. */
enum trc_status trc_usage_next(struct trc_usage_cursor *cursor, struct trc_usage_item *out);
/* Name of a field: "cpu_us". */
const char *trc_usage_name(enum trc_usage_field field);
