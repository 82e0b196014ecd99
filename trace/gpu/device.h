/* GPU activity of a job: kernels, copies, the share of communication behind computation, and NCCL's operations with
 * the times of their kernels.  Built from the events of the streams (TRC_THREAD_STREAM) and of NCCL's calls, in the
 * same pass as everything else. */
#pragma once

#include "trace/timeline/over_time.h"
#include "trace/util/times.h"
#include "trace/util/spans.h"

/* Kernels of one name, over all ranks. */
struct ana_kernel_stat {
    const char *name; /* mangled; ana_kernel_words shortens it */
    bool nccl;
    struct ana_times times; /* chosen ranks only: percentiles NAN if there are too many kernels to keep them by rank */
    size_t ranks;           /* number of ranks that ran it */
};

/* The GPUs of one process together; times of several devices are added up. */
struct ana_gpu_rank {
    size_t index;
    size_t devices;
    uint64_t kernels, copies;
    uint64_t to_device, from_device, other_bytes; /* copied */
    /* Unions of spans: of kernels that are not NCCL's, of NCCL's, of copies, of any. */
    int64_t compute_ns, communication_ns, copy_ns, busy_ns;
    int64_t overlap_ns; /* part of communication_ns during computation; the rest is exposed */
    int64_t wall_ns;    /* length of the process's analysed run, times its devices: busy_ns is a part, the rest is
                           idle */
};
/* Share of communication that lies behind computation, as Holistic Trace Analysis defines it (its documentation,
 * "Communication Computation Overlap"); NAN without communication. */
double ana_gpu_overlap(const struct ana_gpu_rank *rank);

/* NCCL's operations of one kind, communicator and size class.  Where a kernel carries several operations of a group
 * (other than sends and receives) they are counted and have no times. */
struct ana_nccl_stat {
    const char *call; /* "ncclAllReduce" */
    uint64_t comm_identity;
    const char *comm_name;
    int32_t size; /* ranks of the communicator */
    int size_class;
    uint64_t calls;         /* total over all ranks */
    uint64_t bytes;         /* total over all ranks, as nccl-tests counts them (trace/gpu/nccl_bandwidth.h); UINT64_MAX
                            unknown */
    uint64_t timed;         /* operations whose kernels are known on all ranks; of sends and receives: on their rank */
    double algbw, busbw;    /* bytes/s, by the transfer time; NAN unknown */
    double transfer_p50_ns; /* shortest kernel among the ranks: the last to come waits for nobody; NAN unknown */
    double skew_p50_ns, skew_p99_ns; /* longest less shortest: how long ranks waited for each other; NAN unknown */
    int64_t kernel_ns;               /* total over all ranks */
    /* Values from NCCL's profiler plugin for this call, size and number of ranks: "RING", "LL128"; "several" if it
     * changes; "" and 0 unknown. */
    char algorithm[16], protocol[16];
    unsigned channels_least, channels_most;
};

/* Messages of NCCL's from one rank to another, as each of both called for them. */
struct ana_nccl_pair {
    size_t source, destination; /* rank indices; SIZE_MAX: on a communicator whose members are not known */
    uint64_t sends, receives, bytes_sent, bytes_received;
};

struct ana_gpu_summary {
    bool known;          /* something ran on a stream */
    char why_not[160];   /* reason that kernels, or some ranks' kernels, are unknown; "" all is well */
    uint64_t unmatched;  /* kernels of NCCL without a call, and calls without a kernel: graphs, or records lost */
    size_t kernel_count; /* sorted by time, largest first */
    struct ana_kernel_stat *kernels;
    size_t rank_count; /* ranks that have streams, by index */
    struct ana_gpu_rank *ranks;
    size_t nccl_count; /* sorted by communicator, call, size */
    struct ana_nccl_stat *nccl;
    size_t nccl_pair_count; /* all time only: none in a range; with selected ranks, both ends count */
    struct ana_nccl_pair *nccl_pairs;
    uint64_t copies, copied; /* bytes */
    bool nccl_forgotten;     /* the range's begin is too long ago: its operations of NCCL are not all there */
    double analysed;         /* see ana_summary */
};
/* Fills *out for a selection: kernels, copies and calls of its ranks that ended in it (NCCL's calls: began); times of
 * kernels are clipped to it.  For NCCL's collectives `timed`, transfer and skew belong to the operation, on all
 * ranks.  Only a time range reads events again: call it again while out->analysed < 1 after ana_job_advance.  False:
 * out of memory.  Free with ana_gpu_summary_free. */
bool ana_gpu_summarize(struct ana_job *job, struct ana_selection selection, struct ana_gpu_summary *out);
/* Fills *out for all ranks and all time; reads no event again.  False: out of memory.  Free with ana_gpu_summary_free.
 */
bool ana_gpu_summarize_all(const struct ana_job *job, struct ana_gpu_summary *out);
/* Whether a process of the job that uses NCCL or CUDA runs on this machine, now. */
bool ana_gpu_is_here(const struct ana_job *job);
/* Returns whether `processes` may be the job's: no fewer than use NCCL now, no more than it has, and not 0. */
bool ana_gpu_could_be(const struct ana_job *job, size_t processes);
/* Frees what a look has; the struct is the caller's. */
void ana_gpu_summary_free(struct ana_gpu_summary *look);

struct ana_summary;
struct ana_upper;
/* Enters the functions for devices into the table of trace/job. */
void ana_gpu_enter(struct ana_upper *upper);

/* Amounts carried by one library. */
enum ana_library { ANA_LIBRARY_MPI, ANA_LIBRARY_NCCL, ANA_LIBRARY_COPIES, ANA_LIBRARIES };
struct ana_carried {
    const char *name; /* "MPI", "NCCL", "copies" */
    bool known;       /* false: nothing was seen of GPUs, so nobody knows of copies */
    uint64_t calls, sent, received;
    uint64_t unknown; /* calls whose bytes are not known */
};
/* Computes the bytes carried by each library, from a summary and a look of one selection. */
void ana_gpu_carried(const struct ana_summary *summary, const struct ana_gpu_summary *look,
                     struct ana_carried out[ANA_LIBRARIES]);

/* Writes "at::native::vectorized_elementwise_kernel" for a mangled name, leaving out its angle brackets' contents. */
void ana_kernel_words(const char *name, char *out, size_t size);

/* One stream of a GPU. */
struct ana_stream {
    size_t index; /* rank index */
    uint32_t device, context, stream;
};
/* Returns the number of streams. */
size_t ana_streams(const struct ana_job *job);
/* Stream i < ana_streams(job), in the order of ranks, then of their numbers. */
struct ana_stream ana_stream(const struct ana_job *job, size_t i);
/* Fills `n` cells of [begin_ns, end_ns) for stream i, as ana_timeline does; TRC_CAT_COMPUTE is idle time here. */
void ana_stream_timeline(struct ana_job *job, size_t i, int64_t begin_ns, int64_t end_ns, size_t n,
                         struct ana_timeline_cell *out);
