/* An index that is taken up by threads of its own, while the job goes on like one without any event read.  The caller
 * does not read events meanwhile, nor refresh the job. */
#ifndef ANA_INDEX_LOAD_H
#define ANA_INDEX_LOAD_H

#include "trace/job/job_impl.h"
#include <stdio.h>

struct ana_load;

/* Fits the clocks as the index says, and begins to take up the rest.  The first part begins at byte `at` of the file,
 * which has `size` bytes and is closed with the load.  NULL: it is refused, or memory is out; then all is as it was,
 * and the file is closed. */
struct ana_load *ana_load_begin(struct ana_job *job, FILE *file, uint64_t at, uint64_t size);
/* Waits for it, but not after ana_now_ns() is `stop_ns`.  Returns the share that was taken up, 0..1; 1: it is done. */
double ana_load_wait(struct ana_load *load, int64_t stop_ns);
/* Ends the load, and frees it.  True: the job has every part now.  False: the index is refused, or was not done, so its
 * parts are dropped, and the job is unchanged. */
bool ana_load_end(struct ana_load *load);

#endif
