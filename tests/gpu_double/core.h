/* Shared parts of the double's libraries (libfgpu.so): devices, contexts, streams, events and graphs, so that the
 * driver, the runtime, NCCL and CUPTI of the double mean the same streams.  Device memory is host memory; a stream is a
 * thread that works through a queue.  All functions may be called by any thread. */
#ifndef GPU_DOUBLE_CORE_H
#define GPU_DOUBLE_CORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FGPU_DEVICES 8

typedef struct CUctx_st *fgpu_context;
typedef struct CUstream_st *fgpu_stream;
typedef struct CUevent_st *fgpu_event;
typedef struct CUgraph_st *fgpu_graph;

/* ---- devices: each has one context; the current one is the thread's */

fgpu_context fgpu_context_of(int device); /* NULL: no such device */
int fgpu_device_of(fgpu_context context);
/* Ends what the current context has, and begins it anew at the same address; then it has another number. */
void fgpu_reset(void);
unsigned long fgpu_life_of(fgpu_context context);
fgpu_context fgpu_current(void); /* NULL: none, as in a thread that has not named a device */
void fgpu_make_current(fgpu_context context);
bool fgpu_push(fgpu_context context);
fgpu_context fgpu_pop(void); /* NULL: nothing was pushed */

/* ---- work: what a stream does one after the other */

enum fgpu_kind { FGPU_HOST, FGPU_KERNEL, FGPU_COPY, FGPU_SET, FGPU_EVENT };
struct fgpu_work {
    enum fgpu_kind kind;
    const char *name; /* name of a kernel; outlives the work */
    size_t bytes;     /* bytes of a copy */
    int copy_kind;    /* cudaMemcpyKind */
    void (*run)(void *user);
    void *user;
    void (*drop)(void *user); /* called when it will not run again; NULL: nothing */
};

/* Called as it runs, for CUPTI's double, on the stream's thread. */
struct fgpu_ran {
    const struct fgpu_work *work;
    int device, context, stream;          /* numbers; streams count from 7, as real ones seem to */
    uint32_t correlation;                 /* counts work from 1, over the process */
    uint32_t graph_node;                  /* 0: not from a graph */
    uint64_t queued_ns, start_ns, end_ns; /* CLOCK_REALTIME; end 0: has begun */
};
int fgpu_kernels_now(void); /* Returns the number of kernels that run, of which CUPTI was told. */
/* NULL: nobody.  Kept for all later work. */
void fgpu_watch(void (*begun)(const struct fgpu_ran *), void (*ended)(const struct fgpu_ran *));

extern atomic_bool fgpu_cupti_begun; /* set by CUPTI's double at its first call */

/* ---- streams; 0, 1 and 2 (legacy, per thread) stand for the current context's own one */

fgpu_stream fgpu_stream_make(void); /* Allocates in the current context; NULL: no memory. */
void fgpu_stream_end(fgpu_stream stream);
bool fgpu_put(fgpu_stream stream, struct fgpu_work work); /* false: no memory, or a capture that is not allowed */
bool fgpu_idle(fgpu_stream stream);
void fgpu_drain(fgpu_stream stream); /* Waits until all present work is done. */
void fgpu_drain_all(void);           /* the same for all streams of the process */
int fgpu_stream_number(fgpu_stream stream);
fgpu_context fgpu_stream_context(fgpu_stream stream);

/* ---- events */

fgpu_event fgpu_event_make(bool timing);
void fgpu_event_end(fgpu_event event);
bool fgpu_record(fgpu_event event, fgpu_stream stream);
bool fgpu_is_stale(fgpu_event event); /* Whether its context was reset since. */
bool fgpu_reached(fgpu_event event);  /* true too if it was never recorded */
bool fgpu_wait_for(fgpu_stream stream, fgpu_event event);
bool fgpu_elapsed(fgpu_event from, fgpu_event to, float *ms); /* false: not reached, or without timing */

/* ---- capture: work goes into a graph instead.  Recording an event in a capturing stream is legal in CUDA; here it
 * invalidates the capture, since nobody but a guest that should know better does it */

enum fgpu_capture_mode { FGPU_GLOBAL, FGPU_THREAD_LOCAL, FGPU_RELAXED };
bool fgpu_capture(fgpu_stream stream, enum fgpu_capture_mode mode);
bool fgpu_is_capturing(fgpu_stream stream);
fgpu_graph fgpu_capture_end(fgpu_stream stream); /* NULL: it was invalidated */
bool fgpu_graph_launch(fgpu_graph graph, fgpu_stream stream);
void fgpu_graph_end(fgpu_graph graph);
/* Sets the calling thread's mode and returns the one before. */
enum fgpu_capture_mode fgpu_exchange_mode(enum fgpu_capture_mode mode);
/* A call that a thread in mode GLOBAL must not make while anybody captures globally: if so all those captures are
 * invalidated, and false is returned. */
bool fgpu_allowed(void);

/* ---- faults on demand: GPU_DOUBLE_FAULT=kind:RANK:N[:MORE],..  RANK by the launcher's environment */

/* Whether fault `kind` is asked of this process; *n its number (0 if there is none), *more the last (0). */
bool fgpu_fault(const char *kind, long *n, long *more);
int fgpu_rank(void); /* -1 unknown */

#endif
