/* Kernels and copies of the GPU, with the times of the GPU, from CUPTI's activity records.  CUPTI is found in the
 * process or its container at run time; where it is not, or somebody else uses it, the trace's facts say so
 * ("gpu.kernels") and nothing else changes.  Only the activity API: there is one subscriber, and it is never us. */
#ifndef IPO_CUPTI_H
#define IPO_CUPTI_H

#include "interpose/cuda/device.h"

/* ---- cupti.c */

/* Starts it if this process is recorded and uses CUDA by now; cheap afterwards.  Any thread, not on the record path.
 * Where another thread is at it, waits until that one has done so, two seconds at most.
 * `cuda_is_up`: known to be so; else the driver is asked, since CUPTI would initialise CUDA before its program does. */
void ipo_cupti_start(bool cuda_is_up);
/* The driver calls this at cuInit in a process that has CUDA_INJECTION64_PATH=libtrace.so: from the first kernel on. */
int InitializeInjection(void);
/* The same for programs that begin with CUDA later: the driver was seen to be loaded (any thread, no lock); and in the
 * thread that may ask the loader. */
void ipo_cupti_expect(void);
void ipo_cupti_await(void);
/* At the end: what has finished is written; waits for CUPTI a second at most, and another for what is
 * being written. */
void ipo_cupti_stop(void);
/* File name of the CUPTI in use; "" before there is one. */
const char *ipo_cupti_object(void);

/* ---- cupti_handles.c */

/* Number of the stream (trc_sig.object) that an NCCL call is put on; 0: not known, or it is being captured.  Record
 * path: a question to the driver and a look into a table, but for the first call with a stream. */
uint32_t ipo_cupti_stream(uintptr_t stream);

/* ---- cupti_others.c */

/* What leads a caller of CUPTI here instead: NULL for all but the few calls that tell of another profiler.  And what
 * dlsym gives to one who looks a name up on a real handle. */
ipo_function ipo_cupti_wrapper_of(const char *name);
void *ipo_cupti_looked_up(void *handle, const char *name);

/* ---- cupti_find.c */

/* A handle on libcupti: the one that is loaded already, else one that fits the driver.  NULL: there is none. */
void *ipo_cupti_find(void);
/* A loaded object whose file name begins so ("libcuda.so.1"), as a handle; NULL if there is none. */
void *ipo_loaded(const char *name);
/* Whether CUDA_INJECTION64_PATH names libtrace.so, so that the driver tells us at cuInit.  Takes the loader's lock. */
bool ipo_cupti_is_injected(void);
/* Why CUPTI must be left alone, in words: another tool started this process.  NULL: nothing against it. */
const char *ipo_cupti_taken(void);

/* ---- cupti_streams.c: from records to the streams of the trace.  One thread at a time, none of the program's; it may
 * allocate. */

/* Number of a stream; 0: there are too many.  Any thread, no lock. */
uint32_t ipo_device_stream(uint32_t context, uint32_t stream);
struct ipo_device_times {
    uint64_t (*ticks)(uint64_t time); /* of CUPTI's times */
};
/* One record; what is not finished is counted and left out. */
void ipo_device_record(const void *record, const struct ipo_device_times *times);
/* Writes what was given since, in the order of the streams' times. */
void ipo_device_write(void);
/* What could not be told: "3 kernels had not ended"; "" if all could. */
const char *ipo_device_missing(void);

#endif
