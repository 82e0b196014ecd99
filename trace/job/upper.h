/* Calls from a job to the floors above it while it is read.  It calls them by this table, so that it does not include
 * them; each of them enters itself (ana_gpu_enter and the like), and trace/session lists them. */
#pragma once

#include "trace/job/job.h"
#include "trace/members/bundle.h"
#include "trace/relations/relations.h"

struct ana_devices;
struct ana_hvd_state;
struct ana_judgement;
struct ana_summary;

struct ana_upper {
    /* trace/gpu: of all time, and of a time range; NULL: out of memory. */
    struct ana_devices *(*devices_new)(size_t ranks);
    struct ana_devices *(*devices_new_range)(size_t ranks, int64_t begin_ns, int64_t end_ns);
    void (*devices_free)(struct ana_devices *devices);
    void (*device_event)(struct ana_job *job, struct ana_devices *devices, const struct ana_event *event);
    void (*nccl_call)(struct ana_job *job, struct ana_devices *devices, const struct ana_event *event);
    /* trace/gpu: the longest time that kernels of NCCL's ran on one GPU beside no other kernel, in ns; *index:
     * whose. */
    int64_t (*exposed)(const struct ana_job *job, size_t *index);
    /* trace/horovod: makes the state of its loops; NULL: out of memory. */
    struct ana_hvd_state *(*horovod_new)(void);
    void (*horovod_free)(struct ana_hvd_state *state);
    /* trace/verdict: makes the state kept from one verdict for the next; NULL: out of memory. */
    struct ana_judgement *(*judgement_new)(void);
    void (*judgement_free)(struct ana_judgement *judgement);
    /* Called after the processes were brought up to date; may set the state of the job. */
    void (*refreshed)(struct ana_job *job);
    /* trace/index: may load the kept results of a job before its events are read.  NULL: there is no index. */
    void (*index_find)(struct ana_job *job);
    /* trace/index: may keep the results of all events, before the job is closed.  NULL: there is no index. */
    void (*archive)(struct ana_job *job);
    /* Called after each summary of the whole run and all ranks. */
    void (*summarized)(struct ana_job *job, const struct ana_summary *summary);
};

/* Opens a job, as ana_job_open describes, with these floors above it. */
enum trc_status ana_job_open_with(const struct ana_upper *upper, const struct ana_opener *opener,
                                  const char *const *folders, size_t n, struct ana_job **out, char *error,
                                  size_t error_size);

/* The table of the floors above a job. */
const struct ana_upper *ana_job_upper(const struct ana_job *job);
/* Returns the state that trace/horovod has made. */
struct ana_hvd_state *ana_job_hvd_state(const struct ana_job *job);
/* Returns the state that trace/verdict has made. */
struct ana_judgement *ana_job_judgement(const struct ana_job *job);
