/* One process now: its state, counters and the call it is inside, from its head and live pages. */
#pragma once

#include "trace/relations/clock.h"
#include "trace/members/rank.h"

/* Job times beyond this (73 years) are damage. */
#define ANA_TIME_LIMIT ((int64_t)1 << 61)
/* A job time, within the limit. */
static inline int64_t ana_time_within(int64_t ns)
{
    return ns > ANA_TIME_LIMIT ? ANA_TIME_LIMIT : ns < -ANA_TIME_LIMIT ? -ANA_TIME_LIMIT : ns;
}

/* The reader's own host and clocks, read once for all processes. */
struct ana_here {
    char host[64];
    char boot_id[40];
    uint64_t pid_namespace; /* 0 unknown */
    int64_t realtime_ns, monotonic_ns;
    int64_t read_ns; /* CLOCK_MONOTONIC before the files were read: later records may be missing */
};
/* Reads the host's name and boot, this process's pid namespace, and the clocks. */
void ana_here_now(struct ana_here *here);

/* Counters at one moment, for rates. */
struct ana_rate_sample {
    int64_t at_ns; /* reader's CLOCK_MONOTONIC; 0: none */
    uint64_t calls, sent, received;
    int64_t mpi_ns;
};

/* State that ana_process_io keeps between calls. */
struct ana_io {
    uint32_t thread;   /* the recorder's, which reads files, too; 0 not found */
    unsigned searches; /* without it */
    bool known;        /* first and ours are */
    uint64_t first;    /* bytes of the whole process, at the first look */
    uint64_t ours;     /* bytes of the recorder's thread, at the last look */
    uint64_t less;     /* bytes that `thread` moved since the first look */
    uint64_t moved;    /* bytes that the process moved without `thread` */
};

struct ana_process {
    struct ana_rank rank; /* result of ana_job_rank */
    char host[64];
    bool alive;
    bool recycled;         /* oldest events were gone when reading began */
    int open_category;     /* category of the call that the rank is inside (rank.inside); -1 none */
    int64_t open_begin_ns; /* job time */
    uint64_t heartbeats;
    int64_t heartbeat_seen;   /* time of its last move, CLOCK_MONOTONIC; 0 never */
    uint64_t beat_ns;         /* the process's own CLOCK_MONOTONIC then */
    int64_t still_ns;         /* silence from heartbeat_seen to here.read_ns; 0: a heartbeat came, or never one */
    int64_t longest_still_ns; /* longest silence that ended with another heartbeat */
    uint64_t progress;        /* completed calls that are no polls and not local */
    bool behind;              /* a digest says that it did more than was read of its file */
    int64_t heartbeat_ns;     /* job time of the last heartbeat */
    int64_t complete_ns;      /* end, in job time, of the part of its file already read */
    int64_t last_end_ns;      /* job time of the last completed call of any thread; INT64_MIN none */
    int64_t run_begin_ns;     /* MPI_Init returned; rank.begin_ns if it did not */
    int64_t run_end_ns;       /* MPI_Finalize or MPI_Abort entered; rank.end_ns if not */
    struct ana_rate_sample sample[4]; /* newest first, about half a second apart */
    uint64_t cpu_ms;                  /* living process of this host: CPU time used; UINT64_MAX unknown */
    struct ana_io io;                 /* of ana_process_io */
    bool stopped;                     /* stopped by SIGSTOP, SIGTSTP or a debugger */
    bool traced;                      /* stopped by a debugger */
    int64_t first_look;               /* CLOCK_MONOTONIC */
    bool by_clock;                    /* not alive, and only the wall clocks say so: a second sample would tell */
    bool read_to_end;                 /* dead, and its file was read since */
    bool by_pid;                      /* pid can be looked up here, so that `alive` is certain */
    int64_t ended_ns;                 /* since the last heartbeat, where MPI_Finalize has returned */
    int64_t silent_ns;                /* since its last heartbeat, by the reader's clocks; 0 while none is due */
    size_t numbered;                  /* calls of the file that have a job-wide number */
};

/* Brings process->rank and the rest up to date; `index` is its index in `clock`.  Reads the file once more when it
 * finds the process gone. */
void ana_process_refresh(struct ana_process *process, const struct ana_clock *clock, size_t index,
                         const struct ana_here *here);

/* Bytes that a living process of this host has read and written since the first call, to files and elsewhere, without
 * the recorder's own; threads that ended count.  UINT64_MAX: not known, or it is inside MPI.  Opens three files. */
uint64_t ana_process_io(struct ana_process *process);

/* Whether the process gives signs of life: not before MPI_Init has returned, nor when all sessions have ended. */
bool ana_process_beats(const struct trc_head *head);

/* Ticks of the last sign of life (while it is alive: of this moment). */
uint64_t ana_process_end_ticks(const struct ana_process *process, const struct ana_here *here);
