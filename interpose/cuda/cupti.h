/* Kernels and copies of the GPU, with the times of the GPU, from CUPTI's activity records.  CUPTI is found in the
 * process or its container at run time.  Where it is not found, or another profiler uses it, the fact "gpu.kernels"
 * says so and nothing else changes.  Only the activity API is used: CUPTI has room for one subscriber, which is
 * never us. */
#pragma once

#include "interpose/cuda/device.h"

/* ---- cupti.c */

/* Starts CUPTI if this process is recorded and has initialised CUDA; returns at once when it runs.  Where another
 * thread is starting it, waits two seconds at most.  `cuda_is_up`: CUDA is initialised; else the driver is asked,
 * since CUPTI would initialise it too early.  Any thread, not on the record path. */
void ipo_cupti_start(bool cuda_is_up);
/* The driver calls this in cuInit where CUDA_INJECTION64_PATH names libtrace.so; then the first kernel is recorded,
 * too.  Returns 1: the injection succeeded. */
int InitializeInjection(void);
/* Notes that the driver was loaded, so that CUPTI is started when the program initialises CUDA.  Any thread, no
 * lock. */
void ipo_cupti_expect(void);
/* Starts a thread that waits for that, if ipo_cupti_expect was called.  In the thread that may ask the loader. */
void ipo_cupti_await(void);
/* Ends CUPTI and writes the finished records.  Waits for CUPTI a second at most, and another one for the writing.
 * Called in the thread that ends the recording. */
void ipo_cupti_stop(void);
/* Wakes our threads, which must end. */
void ipo_cupti_over(void);
/* Path of the CUPTI in use, valid for ever; "" before it was started. */
const char *ipo_cupti_object(void);

/* ---- cupti_handles.c */

/* Number in the trace (trc_sig.object) of a CUDA stream; 0: not known, or the stream is being captured.  Record
 * path: one call of the driver and a search in a table; more calls for a stream's first time. */
uint32_t ipo_cupti_stream(uintptr_t stream);

/* ---- cupti_others.c */

/* The wrapper for a call of CUPTI by which another profiler shows itself; NULL for all other names. */
ipo_function ipo_cupti_wrapper_of(const char *name);
/* Returns the result of the program's dlsym for a name of CUPTI on a real handle: our wrapper, or the handle's own
 * symbol. */
void *ipo_cupti_looked_up(void *handle, const char *name, const void *caller);

/* ---- cupti_find.c */

/* A handle of libcupti: the one that is loaded already, else one that fits the driver.  NULL: there is none.  This
 * and the next take the loader's lock. */
void *ipo_cupti_find(void);
/* A handle of a loaded object whose file name begins with `name` ("libcuda.so.1"); NULL if there is none. */
void *ipo_loaded(const char *name);
/* Whether CUDA_INJECTION64_PATH names libtrace.so: then the driver calls InitializeInjection.  Takes the loader's
 * lock. */
bool ipo_cupti_is_injected(void);
/* The reason not to use CUPTI, in words: another tool started this process.  NULL: there is none. */
const char *ipo_cupti_refusal(void);

/* ---- cupti_streams.c: from records to the streams of the trace.  One thread at a time, none of the program's; it may
 * allocate. */

/* Number in the trace of a stream by CUPTI's ids; 0: there are too many.  Any thread, no lock. */
uint32_t ipo_device_stream(uint32_t context, uint32_t stream);
/* Converts CUPTI's times. */
struct ipo_device_times {
    uint64_t (*ticks)(uint64_t time); /* converts to ticks of the trace */
};
/* Records one activity; one without an end is only counted. */
void ipo_device_record(const void *record, const struct ipo_device_times *times);
/* Writes the records that were taken since the last call, sorted by stream and time. */
void ipo_device_write(void);
/* Returns the losses of recording, in words: "3 kernels had not ended"; "" if nothing.  Valid until the next call. */
const char *ipo_device_missing(void);
