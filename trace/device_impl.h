/* What the files of trace/device*.c share; the pass calls the first functions. */
#ifndef ANA_DEVICE_IMPL_H
#define ANA_DEVICE_IMPL_H

#include "trace/device.h"
#include "trace/map.h"
#include "trace/merge.h"
#include "trace/times.h"
#include "trace/timeline.h"

/* ---- device.c */
struct ana_devices;
struct ana_devices *ana_devices_new(size_t ranks);
void ana_devices_free(struct ana_devices *gpu);
/* A kernel or copy. */
void ana_gpu_device_event(struct ana_job *job, struct ana_devices *gpu, const struct ana_event *event);
/* A call of NCCL's. */
void ana_gpu_call(struct ana_job *job, struct ana_devices *gpu, const struct ana_event *event);

/* ---- device_match.c: which kernel carries which operation.  On one stream the n-th kernel of NCCL's is that of the
 * n-th launch: a call, or all calls of a group on one communicator. */
struct ana_gpu_match;
struct ana_gpu_match *ana_gpu_match_new(size_t ranks);
void ana_gpu_match_free(struct ana_gpu_match *match);
void ana_gpu_match_call(struct ana_job *job, struct ana_gpu_match *match, const struct ana_event *event);
void ana_gpu_match_kernel(struct ana_gpu_match *match, size_t index, uint32_t stream_number, int64_t begin_ns,
                          int64_t end_ns);
/* Fills the parts of a look that it knows.  False: out of memory. */
bool ana_gpu_match_look(const struct ana_job *job, const struct ana_gpu_match *match, struct ana_gpu_look *out);

#endif
