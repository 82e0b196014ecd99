/* Calls from a job to the floors above it while it is read.  It calls them by this table, so that it does not include
 * them; trace/session fills the table in. */
#ifndef ANA_UPPER_H
#define ANA_UPPER_H

#include "trace/relations/relations.h"

struct ana_job;
struct ana_devices;
struct ana_hvd_state;
struct ana_judgement;
struct ana_keep;
struct ana_summary;

struct ana_upper {
    /* trace/gpu: of all time, and of a time range; NULL: out of memory. */
    struct ana_devices *(*devices_new)(size_t ranks);
    struct ana_devices *(*devices_new_range)(size_t ranks, int64_t begin_ns, int64_t end_ns);
    void (*devices_free)(struct ana_devices *devices);
    void (*device_event)(struct ana_job *job, struct ana_devices *devices, const struct ana_event *event);
    void (*nccl_call)(struct ana_job *job, struct ana_devices *devices, const struct ana_event *event);
    /* trace/gpu: keeps what job->gpu has found, or takes it up; see trace/gpu/device_impl.h. */
    void (*devices_keep)(struct ana_keep *keep, struct ana_job *job, size_t newest);
    /* trace/gpu: names the communicators of the devices that were taken up, as reading the events would have. */
    void (*devices_name)(struct ana_job *job);
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
    void (*keep)(struct ana_job *job);
    /* Called after each summary of the whole run and all ranks. */
    void (*summarized)(struct ana_job *job, const struct ana_summary *summary);
};

#endif
