/* Declarations shared by the files of trace/gpu; the pass calls the first functions, by ana_gpu_enter. */
#pragma once

#include "trace/gpu/device.h"
#include "trace/util/hash_map.h"
#include "trace/util/archive.h"
#include "trace/relations/merge.h"
#include "trace/util/times.h"
#include "trace/sums/timeline.h"

/* ---- device.c */
struct ana_devices;
/* Devices of a job over all time; NULL: out of memory.  Free with ana_devices_free. */
struct ana_devices *ana_devices_new(size_t ranks);
/* Devices of a time range: kernels and copies only, without NCCL's calls and streams over time.  NULL: out of memory.
 */
struct ana_devices *ana_devices_new_range(size_t ranks, int64_t begin_ns, int64_t end_ns);
/* Frees them; NULL is none. */
void ana_devices_free(struct ana_devices *gpu);
/* Whether anything ran on a stream. */
bool ana_devices_any(const struct ana_devices *gpu);
/* Adds a kernel or copy. */
void ana_gpu_device_event(struct ana_job *job, struct ana_devices *gpu, const struct ana_event *event);
/* ---- device_facts.c */
/* Fills look->why_not: the reason that kernels of NCCL's calls, or any, have no times on some of the ranks (NULL:
 * all). */
void ana_gpu_explain(const struct ana_job *job, const uint8_t *ranks, struct ana_gpu_summary *look);

/* ---- device_match.c: matches kernels with operations.  On one stream the n-th kernel of NCCL's belongs to the n-th
 * launch (a call, or all calls of a group on one communicator), unless it cannot be: a kernel is not before its call,
 * not called after another function, and not begun when other ranks were through with an operation that needs all
 * ranks.  So if a record is missing, its launch is passed over as soon as a rule shows it. */
struct ana_gpu_match;
/* A match of NCCL's calls with kernels; NULL: out of memory. */
struct ana_gpu_match *ana_gpu_match_new(size_t ranks);
/* Frees it; NULL is none. */
void ana_gpu_match_free(struct ana_gpu_match *match);
/* Adds a call of NCCL's, in the order of its thread, after ana_why_event. */
void ana_gpu_call(struct ana_job *job, struct ana_devices *gpu, const struct ana_event *event);
/* Adds a kernel of NCCL's that ran on a stream of rank `index`; its name is mangled, its times are job time. */
void ana_gpu_match_kernel(struct ana_job *job, struct ana_gpu_match *match, size_t index, uint32_t stream_number,
                          const char *name, int64_t begin_ns, int64_t end_ns);
/* Fills the parts of a look that the match knows.  False: out of memory. */
bool ana_gpu_match_summarize(const struct ana_job *job, const struct ana_gpu_match *match,
                             const struct ana_selection *selection, struct ana_gpu_summary *out);
/* As ana_devices_archive. */
void ana_gpu_match_archive(struct ana_archive *archive, struct ana_job *job, struct ana_gpu_match *match,
                           size_t newest);

/* ---- device_rows.c: NCCL's operations by communicator, call and size. */
struct ana_nccl_call {
    const char *name;
    uint64_t identity, sequence; /* communicator; sequence on it */
    uint64_t bytes;              /* S of nccl-tests; UINT64_MAX unknown */
    int64_t begin_ns;
    const struct trc_call *of;
    uint32_t step; /* step number on the rank (ana_event.step) */
    size_t index;  /* rank index of the caller */
    size_t peer;   /* messages: index of the other rank, SIZE_MAX unknown */
    bool sends;    /* messages: it is a send */
    uint32_t call; /* job-wide number */
    int32_t size;  /* ranks of the communicator */
    uint16_t size_class;
    bool p2p;
    bool together; /* ana_nccl_together */
};
enum ana_nccl_share {
    ANA_NCCL_ALONE,      /* the kernel's time belongs to this call */
    ANA_NCCL_WITH_OTHER, /* it is the receives of a group beside its sends, or the other way round: of both */
    ANA_NCCL_SHARED      /* several collectives: whose time it is is not known */
};
struct ana_nccl_rows;
/* An empty table of NCCL's operations; NULL: out of memory. */
struct ana_nccl_rows *ana_nccl_rows_new(void);
/* Frees it; NULL is none. */
void ana_nccl_rows_free(struct ana_nccl_rows *rows);
/* Counts a call; `comm` is its communicator, as its rank defined it. */
void ana_nccl_rows_call(struct ana_job *job, struct ana_nccl_rows *rows, const struct ana_nccl_call *call,
                        const struct trc_comm *comm);
/* Returns whether a kernel that began then can belong to this operation: not if the other ranks' kernels were over
 * before. */
bool ana_nccl_rows_fits(struct ana_nccl_rows *rows, const struct ana_nccl_call *call, int64_t begin_ns);
/* Adds the time of the kernel that carried a call. */
void ana_nccl_rows_kernel(struct ana_job *job, struct ana_nccl_rows *rows, const struct ana_nccl_call *call,
                          int64_t begin_ns, int64_t end_ns, enum ana_nccl_share share);
/* Fills the NCCL parts of a look.  False: out of memory. */
bool ana_nccl_rows_summarize(const struct ana_job *job, struct ana_nccl_rows *rows,
                             const struct ana_selection *selection, struct ana_gpu_summary *out);

/* As ana_devices_archive. */
void ana_nccl_rows_archive(struct ana_archive *archive, struct ana_job *job, struct ana_nccl_rows *rows, size_t newest);

/* ---- device_late.c: the last rank to come to a collective of NCCL's. */
/* The kernel of one rank, and the call that launched it. */
struct ana_nccl_arrival {
    int64_t begin_ns, end_ns, called_ns;
    uint32_t index, step;
};
/* Reports how long the kernels of the others waited until the rank with the shortest one called: `count` ranks in
 * all. */
void ana_nccl_late(struct ana_job *job, const struct ana_nccl_call *call, const struct ana_nccl_arrival *arrival,
                   size_t count);

/* ---- device_how.c: how NCCL does its operations, where it reported that. */
/* A table of algorithms and protocols; zeros are an empty one. */
struct ana_nccl_hows {
    struct ana_map how;  /* hash of the call, size class, ranks */
    uint64_t facts_seen; /* facts in the files of all ranks at the last reading */
};
/* Reads the facts of all ranks, if some came since it last did. */
void ana_nccl_hows_read(struct ana_nccl_hows *hows, const struct ana_job *job);
/* Fills algorithm, protocol and channels, where they are known. */
void ana_nccl_how(const struct ana_nccl_hows *hows, struct ana_nccl_stat *stat);
