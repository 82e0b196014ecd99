/* Results from the events of a job, apart from the job: they can be filled in while somebody looks at the job, which
 * knows nothing of them until all of them are put in its place at once. */
#ifndef ANA_APART_H
#define ANA_APART_H

#include "trace/job/job_impl.h"

/* Makes *apart a job that shares all with this one, but what events tell: of that it has nothing yet, and no threads of
 * its own.  Files, processes and clock must stay as they are until ana_apart_free.  False: out of memory; it is to be
 * freed all the same. */
bool ana_apart_make(struct ana_job *job, struct ana_job *apart);
/* Exchanges what both know from events. */
void ana_apart_swap(struct ana_job *job, struct ana_job *apart);
/* Frees the results from events; the struct is the caller's. */
void ana_apart_free(struct ana_job *apart);

#endif
