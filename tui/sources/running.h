/* Parallel jobs that run on this machine now, by the environments of processes that this user may read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct tui_running_job {
    char job[160];    /* name given by its launcher */
    char program[64]; /* name of the program of a rank */
    unsigned ranks;   /* processes here */
    int pid;          /* lowest process number */
    double age_s;     /* seconds since the first one was started */
    char folder[512]; /* trace folder; empty: not recorded */
};

/* Finds jobs of Open MPI, MPICH, Intel MPI, Slurm, Horovod and torchrun, the oldest first.  Returns their number, at
 * most `max`.  Reads /proc; one thread. */
size_t tui_running_find(struct tui_running_job *out, size_t max);

struct tui_running_rank {
    int rank, pid;
    bool calls_mpi; /* it has a library of MPI */
    size_t beside;  /* ranks that were started on this host, with this one; 0: not known */
};

/* Finds the ranks here of the job with that name: a process each, which has a library of MPI if one of its processes
 * does.  Returns their number, at most `max`, by rank. */
size_t tui_running_ranks(const char *job, struct tui_running_rank *out, size_t max);

/* Writes the name of the job that a process belongs to; room for tui_running_job.job.  False: it is of none. */
bool tui_running_name(int pid, char *job, size_t size);

/* Returns the number of ranks that a launcher has started the job of a process with; 0: not known. */
int tui_running_world(int pid);
/* Writes a variable of a process's environment.  False: it has none. */
bool tui_running_variable(int pid, const char *name, char *out, size_t size);
/* Finds hosts that the launcher of a rank here has reached by ssh.  Returns their number, at most `max`. */
size_t tui_running_hosts(int pid, char (*host)[64], size_t max);

/* Reads the begin of a file, as much as fits; returns its bytes, a zero behind them.  0: it cannot be read. */
size_t tui_read_file(const char *path, char *out, size_t size);
/* Reads the begin of /proc/PID/NAME, as tui_read_file does. */
size_t tui_read_proc(int pid, const char *name, char *out, size_t size);
/* Whether this machine has that name. */
bool tui_is_this_host(const char *host);
