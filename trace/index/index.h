/* The index: what the pass over all events of a job has found, kept in a file, so that it need not be read again.
 *
 * place.h says where it lies.  It is of one program and of the files that it was made of: one that another build of
 * hpctop made, or that is of files which differ, is not looked at.  Nothing depends on it: what cannot be taken up is
 * found again.
 *
 * There is none of a job that runs, nor of windows, nor of what was read of a job while it ran: the clocks, down to the
 * length of a tick, are only known for good at the end, so times differ by nanoseconds, and with them waits that are as
 * short.  Who watched a job to its end has it read once more (tui/commands/again.h). */
#ifndef ANA_INDEX_H
#define ANA_INDEX_H

#include "trace/job/job.h"

#define ANA_INDEX_RECORDS 2000000u /* of a job with fewer none is written unasked: that is read in no time */
#define ANA_INDEX_SHARE   50u      /* the part of the trace's events that it may take: 2 % */
#define ANA_INDEX_ASKED   524288u  /* bytes that it may have where somebody asks for it */
#define ANA_INDEX_BEYOND  1048576u /* it has at most so many more than the trace's events .. */
#define ANA_INDEX_A_RANK  4096u    /* .. and so many for each rank: one takes 300 to 600 */

/* Sets whether an index is written and taken up, which is so at first. */
void ana_job_set_index(struct ana_job *job, bool wanted);

/* A number of this program and of what files of the job say of themselves: equal in processes that can do parts of one
 * analysis.  0: the program cannot be read. */
uint64_t ana_index_of(const struct ana_job *job);

/* For the table of trace/job (upper.h).  Takes up the index of a job whose events have not been read, if there is one,
 * until ana_now_ns() is about `stop_ns`.  Returns the share that is done; 1: it was taken up, or there is none. */
double ana_index_take(struct ana_job *job, int64_t stop_ns);
/* Likewise: drops what is being taken up. */
void ana_index_leave(struct ana_job *job);
/* Likewise: writes the index of a large job, if it can have one. */
void ana_index_keep(struct ana_job *job);

/* Writes the index of a job that has been read to its end; `always`: of a small one, too, and even where it takes more
 * than its share.  Where there is one already, nothing is done.  True: it is there, and its path is in `said`; false:
 * why it is not. */
bool ana_index_write(struct ana_job *job, bool always, char *said, size_t size);

/* Whether a job that has been read to its end lacks an index for one reason only: it was read while it ran. */
bool ana_index_lacks(const struct ana_job *job);

#endif
