/* All threads of all files in one stream, in job time.
 *
 * Items come in order of their end (that is when they were written); SUB items stay behind their event, and the order
 * of one thread is never changed.  They are decoded, and given out, by the dozen, and become events only then.
 * Memory: a few dozen items a thread.
 *
 * A job that is still running: a thread of a live file that has nothing more now may write events later, but those end
 * after the file's last heartbeat (on a write-back file system: after two seconds before it), because what had ended by
 * then is in the file.  So nothing that ends later than the earliest such horizon is given out, until a refresh moves
 * it.  If an item still comes late (a thread was held between the end of its call and the writing of it), it is given
 * out at once, out of order; the stages behind must bear that, and do. */
#pragma once

#include "trace/relations/clock.h"
#include "trace/relations/parts.h"
#include "trace/relations/relations.h"

struct ana_merge;

/* Merges files[0..n-1], from their oldest kept items on.  They stay the caller's and have these indices in `clock`.
 * Nothing is read before the first item is asked for.  NULL: out of memory.  Close with ana_merge_close. */
struct ana_merge *ana_merge_open(struct trc_file *const *files, size_t n, const struct ana_clock *clock);
/* Merges the items that the readers of `source` read; `source` is copied.  Of a job that has ended.  files[0..n-1]
 * hold their definitions; they and the array stay the caller's.  It cannot seek.  NULL: out of memory. */
struct ana_merge *ana_merge_of_parts(const struct ana_part_source *source, struct trc_file *const *files, size_t n);
/* Whether it is such a merge. */
bool ana_merge_in_parts(const struct ana_merge *merge);
/* Frees it; before the files are closed.  NULL is none. */
void ana_merge_close(struct ana_merge *merge);

/* Frees the memory for reading, of a merge that has given out all: it is not asked for items any more, nor refreshed;
 * its position and counts stay. */
void ana_merge_rest(struct ana_merge *merge);

/* Adds a file, with the next index; it is in the clock already.  False: out of memory. */
bool ana_merge_add(struct ana_merge *merge, struct trc_file *file);

/* Sets whether more may be written to a file.  At first its head decides (not FINALIZED, ABORTED or STOPPED).  The
 * caller knows better, by pid and heartbeat: the file of a dead process that is taken for live holds everything back.
 * Takes effect with the next refresh or seek. */
void ana_merge_set_live(struct ana_merge *merge, size_t index, bool live);

/* Adds new threads, new items and the new horizon, after trc_refresh of the files or a new fit of the clock.  Files
 * whose heads say FINALIZED, ABORTED or STOPPED are no longer live.  False: out of memory. */
bool ana_merge_refresh(struct ana_merge *merge);
/* Restricts a merge, before its first item, to the events that a filter wants, and losses. */
void ana_merge_set_filter(struct ana_merge *merge, struct ana_filter filter);
/* Has a merge, before its first item, output rank after rank within slices of job time 2^shift ns wide (slices.h): many
 * items of one rank in a row, in the order of their ends; all of a slice before the next, but for a running job, whose
 * horizon may cut a slice.  ana_merge_next_few then stops at the end of a slice. */
void ana_merge_set_slices(struct ana_merge *merge, unsigned shift);
/* Whether more items of the slice under way can be output now.  Items output before become invalid. */
bool ana_merge_in_slice(struct ana_merge *merge);
/* Whether memory ran out while threads were taken up: items are missing. */
bool ana_merge_failed(const struct ana_merge *merge);

/* Outputs the next items, at least one and at most `max` > 0.  Returns how many were put into `out`, valid until the
 * next call on the merge; the caller may change their `step`.  Fewer than `max` does not mean that there are no more;
 * 0: nothing more now. */
size_t ana_merge_next_few(struct ana_merge *merge, struct ana_event **out, size_t max);
/* Returns the next item; NULL: nothing more now. */
static inline const struct ana_event *ana_merge_next(struct ana_merge *merge)
{
    struct ana_event *event;
    return ana_merge_next_few(merge, &event, 1) ? event : NULL;
}

/* Starts anew with the items that overlap [begin_ns, end_ns) of the selected ranks: one byte an index, nonzero =
 * selected; read during this call only; NULL: all.  INT64_MIN and INT64_MAX give everything again.  Time ranges need a
 * merge of their own.  False: out of memory. */
bool ana_merge_seek(struct ana_merge *merge, int64_t begin_ns, int64_t end_ns, const uint8_t *ranks);

/* Returns the end of complete output, in job time in ns: the begin of a slice under way, else the latest end of an
 * item; INT64_MIN: none yet. */
int64_t ana_merge_position(const struct ana_merge *merge);
/* Returns the number of items given out, or left out by the filter: only items read here. */
uint64_t ana_merge_count(const struct ana_merge *merge);
