/* All threads of all files in one stream, in job time.
 *
 * Items come in order of their end (that is when they were written); SUB items stay behind their event, and the order
 * of one thread is never changed.  They are decoded, and given out, by the dozen.  Memory: a few dozen items a thread.
 *
 * A job that is still running: a thread of a live file that has nothing more now may write events later, but those end
 * after the file's last heartbeat (on a write-back file system: after two seconds before it), because what had ended by
 * then is in the file.  So nothing that ends later than the earliest such horizon is given out, until a refresh moves
 * it.  If an item still comes late (a thread was held between the end of its call and the writing of it), it is given
 * out at once, out of order; the stages behind must bear that, and do. */
#ifndef ANA_MERGE_H
#define ANA_MERGE_H

#include "trace/relations/clock.h"
#include "trace/relations/relations.h"

struct ana_merge;

/* Reads files[0..n-1], which stay the caller's and have the same indices in `clock`; at the oldest kept items.
 * NULL: out of memory. */
struct ana_merge *ana_merge_open(struct trc_file *const *files, size_t n, const struct ana_clock *clock);
/* Before the files are closed. */
void ana_merge_close(struct ana_merge *merge);

/* One more file, with the next index; it has been added to the clock before.  False: out of memory. */
bool ana_merge_add(struct ana_merge *merge, struct trc_file *file);

/* Whether more may be written to a file.  At first: as its head says (not FINALIZED, ABORTED or STOPPED).  The caller
 * knows better, by pid and heartbeat: a file of a dead process that is left live holds everything back.  Takes effect
 * with the next refresh or seek. */
void ana_merge_set_live(struct ana_merge *merge, size_t index, bool live);

/* After trc_refresh of the files, or a new fit of the clock: takes up new threads, new items and the new horizon.
 * Heads of files that say FINALIZED, ABORTED or STOPPED make them no longer live.  False: out of memory. */
bool ana_merge_refresh(struct ana_merge *merge);

/* The next items, at least one and at most `max` > 0: how many were put into `out`, valid until the next call on the
 * merge.  Fewer than `max` does not mean that there are no more; 0: nothing more now. */
size_t ana_merge_next_few(struct ana_merge *merge, const struct ana_event **out, size_t max);
/* The next one; NULL: nothing more now. */
static inline const struct ana_event *ana_merge_next(struct ana_merge *merge)
{
    const struct ana_event *event;
    return ana_merge_next_few(merge, &event, 1) ? event : NULL;
}

/* Starts anew with the items that overlap [begin_ns, end_ns) of the ranks selected (one byte an index, nonzero =
 * selected, read during this call only; NULL: all).  For time ranges: use a merge of one's own for these.
 * begin_ns = INT64_MIN, end_ns = INT64_MAX: everything again. */
bool ana_merge_seek(struct ana_merge *merge, int64_t begin_ns, int64_t end_ns, const uint8_t *ranks);

/* Latest job time of those given out (INT64_MIN: none yet), and how many there were in all. */
int64_t ana_merge_position(const struct ana_merge *merge);
uint64_t ana_merge_count(const struct ana_merge *merge);

#endif
