/* Index: findings of the pass over all events of a job, kept in a file, so that it need not be read again.
 *
 * place.h says where it lies.  It belongs to one program and to the files that it was made from: an index by another
 * build of hpctop, or for other files, is not looked at.  Nothing depends on it: parts that cannot be taken up are
 * found again.
 *
 * There is none for a running job, nor for windows, nor for events that were read while the job ran: the clocks,
 * down to the length of a tick, are only known for good at the end, so times differ by nanoseconds, and with them
 * waits as short as that.  A job that was watched to its end is read once more (tui/commands/again.h). */
#pragma once

#include "trace/job/job.h"

#define ANA_INDEX_RECORDS 2000000u /* records below which none is written unasked: so few are read in no time */
#define ANA_INDEX_SHARE   50u      /* the part of the trace's events that it may take: 2 % */
#define ANA_INDEX_ASKED   524288u  /* bytes that it may have where somebody asks for it */
#define ANA_INDEX_BEYOND  1048576u /* bytes that it has at most beyond the trace's events .. */
#define ANA_INDEX_A_RANK  4096u    /* .. and for each rank: one takes 300 to 600 */

/* Sets whether an index is written and taken up, which is so at first. */
void ana_job_set_index(struct ana_job *job, bool wanted);

/* A number of this program and of what files of the job say of themselves: equal in processes that can do parts of one
 * analysis.  0: the program cannot be read. */
uint64_t ana_index_of(const struct ana_job *job);

struct ana_upper;
/* Enters the loading and saving of the index into the table of trace/job. */
void ana_index_enter(struct ana_upper *upper);

/* Writes the index of a job that has been read to its end; `always`: of a small one, too, and even where it takes more
 * than its share.  Where there is one already, nothing is done.  True: it is there, and its path is in `said`; false:
 * why it is not. */
bool ana_index_write(struct ana_job *job, bool always, char *said, size_t size);

/* Whether a job that has been read to its end lacks an index for one reason only: it was read while it ran. */
bool ana_index_is_missing(const struct ana_job *job);
