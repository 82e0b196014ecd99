/* A folder of built traces for the tests of the job, and the little job that most tests use. */
#ifndef TRACE_FOLDER_H
#define TRACE_FOLDER_H

#include "tests/support/trace_builder.h"
#include "trace/summary/summary.h"
#include <sys/types.h>

/* Makes an empty folder "hpctop-<name>" in a temporary place; the path is valid until folder_remove, one at a time. */
const char *folder_make(const char *name);

/* Removes the folder with its files. */
void folder_remove(void);

/* Writes the builder's file as rank `rank` of the folder. */
void folder_write(struct tb *tb, int rank);

/* Opens the folder as a job, for the caller to close; ends the program if that fails. */
struct ana_job *folder_open(void);

/* All of the job, or of it what a selection says; ends the program if that fails. */
struct ana_summary folder_summary(struct ana_job *job);

/* Makes the file one of a process of this host. */
void folder_process(struct tb *tb, pid_t pid);

/* Makes the file one of this process, which is alive. */
void folder_this_process(struct tb *tb);

/* Two ranks on one host; times in us:
 *   rank 0    ......send(1000-1010, 4096 B, tag 7)...........allreduce(2000 ----------- 3000)
 *   rank 1    .recv(100 ------------- 1020).................................allreduce(2900-3000)
 * Finalize at 3001.  So rank 1 waits 900 us for rank 0's send, rank 0 waits 900 us for rank 1 in MPI_Allreduce. */
struct two {
    struct tb *rank[2];
};

/* The builders of the two ranks. */
struct two two_ranks(void);

/* Writes both files into the folder and frees the builders. */
void two_write(struct two two);

#endif
