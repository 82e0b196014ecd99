/* The jobs that golden screens are drawn of: traces whose numbers follow from this comment.
 *
 * `ranks` ranks on two hosts (the first half on n01) make `steps` steps in 10 s.  A step has 20 parts (of 0.5 ms where
 * there are 1000 steps); all ranks do this, and rank 3 is late:
 *
 *    0 - 12   compute; rank 3 until 16 (in every 50th step rank 1 instead)
 *   12 - 18   MPI_Allreduce of 8 bytes, in every 100th step of 1000
 *   18 - 19   MPI_Send to the next rank, tag 7: 4096 bytes in the first eighth of the run, 8192 in the second ..
 *   19 - 20   MPI_Recv from the rank before; in every 100th step each host's last rank receives at 18 and sends at 19.5
 *
 * So all but the late rank wait 4 parts, and 20% of their time; MPI takes 40% of a step, of the late rank 20%.
 */
#ifndef TESTS_SCREEN_JOB_H
#define TESTS_SCREEN_JOB_H

#include "tests/support/trace_builder.h"
#include "trace/summary/summary.h"

struct screen_job {
    int ranks, steps; /* ranks, 4 or more; 1000 or less */
    bool running;     /* hang in the next step: all but rank 3 are in MPI_Allreduce, for 3.6 parts of it */
    bool hung;        /* for 3 min 12 s: rank 3 does not come to the MPI_Allreduce of "grid", where all steps are */
    bool barrier;     /* hung: rank 3 is in an MPI_Barrier of MPI_COMM_WORLD instead, nobody else */
    bool queued;      /* the rank that is late waits for a processor, says the kernel */
    bool slow;        /* the step in the middle: rank 2 computes for two steps more */
    bool horovod;     /* screen_horovod.c */
    bool gpu;         /* screen_gpu.c */
    bool files;       /* after each tenth step all write 1 MiB to a file, and rank 0 reads 4 KiB from another */
    bool unknown;     /* all events were recycled, and the last file is cut off; with GPUs or Horovod see there */
};

/* Writes the files, sets *clock_ns to the time that they were written at, and opens them as hpctop does;
 * folder_remove() after ana_job_close. */
struct ana_job *screen_job_open(const struct screen_job *job, int64_t *clock_ns);
/* A running job half a second later: the clock and the files have moved on. */
void screen_job_tick(int64_t *clock_ns);
/* ---- shared by the files of screen jobs -------------------------------------------------------------------------- */

#define SCREEN_S INT64_C(1000000000)
enum { SCREEN_LATE = 3, SCREEN_HUNG_S = 192 };

void screen_gpu(struct tb *tb, const struct screen_job *job, int rank);
void screen_horovod(struct tb *tb, const struct screen_job *job, int rank, int64_t now_ns);

#endif
