/* A rank now: what the last refresh saw of it. */
#pragma once

#include "trace/reader/reader.h"
#include "trace/util/ranges.h"

enum ana_state { ANA_RUNNING, ANA_FINISHED, ANA_ABORTED, ANA_HUNG };

enum ana_rank_state {
    ANA_RANK_RUN,     /* outside MPI */
    ANA_RANK_IN_MPI,  /* inside a call that moves data or waits */
    ANA_RANK_DONE,    /* finalized */
    ANA_RANK_ABORTED, /* called MPI_Abort */
    ANA_RANK_DEAD,    /* gone without MPI_Finalize */
    ANA_RANK_OFF,     /* lives; its recording is switched off (MPI_Pcontrol) */
    ANA_RANK_UNKNOWN  /* not known: another host and no heartbeat for a while, tracing stopped, or a damaged file */
};

/* A process now, from its head and live pages.  Strings live as long as the job. */
struct ana_rank {
    int32_t rank;   /* rank in its MPI_COMM_WORLD */
    uint32_t world; /* 0 = the first; spawned worlds 1, 2 ... */
    bool shared;    /* another process has the same rank: the pid names it */
    struct trc_file *file;
    const char *host;
    uint32_t host_index;         /* number of that in ana_job_info.host */
    const char *runtime, *image; /* container it is in; "" for none, or none that says its image */
    uint32_t pid;
    enum ana_rank_state state;
    bool lives_on;            /* finalized, and its process is still there */
    bool off;                 /* recording is switched off now, or was when it went: its activity is unknown */
    int64_t off_ns;           /* for how long its recording was off in all */
    bool counted;             /* false: its live pages cannot be read, so counts, bytes and times are unknown, not 0 */
    int64_t begin_ns, end_ns; /* job time; end = last sign of life while running */
    uint64_t calls, sent, received, sent_messages, received_messages; /* whole run, from the counters */
    uint64_t unknown_requests;        /* completed, but not followed: `received` is a lower bound if there are any */
    int64_t mpi_ns;                   /* time in MPI; the thread with the most */
    const char *inside;               /* "MPI_Recv" or NULL: the call of the thread longest inside one */
    int64_t inside_ns;                /* since when, as a duration */
    const struct trc_sig *inside_sig; /* NULL or its arguments, valid until the next refresh */
    const struct trc_gpu_op *gpu_op;  /* NCCL's operation under way the longest, NULL: none; until the next refresh */
    int64_t gpu_ns;                   /* time in its state so far */
    /* Rates over the last second of a process that lives and was watched for so long; else NAN. */
    double sent_per_s, received_per_s, calls_per_s, mpi_share;
};

/* Returns the id of a rank for ana_ranges_add and ana_label_of. */
static inline struct ana_rank_id ana_rank_id(const struct ana_rank *rank)
{
    return (struct ana_rank_id){rank->world, rank->shared ? -1 : rank->rank, rank->pid};
}
