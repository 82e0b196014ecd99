/* The core of the double: core.h. */
#include "tests/gpu_double/core.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_STREAM 7
#define STACK        16

struct item {
    struct fgpu_work work;
    uint64_t queued_ns;
    uint32_t correlation, graph_node;
    struct item *next;
};
struct CUctx_st {
    int device;
    pthread_once_t once;
    fgpu_stream own;
    atomic_ulong lives; /* it was reset so often */
};
struct CUgraph_st {
    struct item *first, *last;
    bool broken;
};
struct CUstream_st {
    fgpu_context context;
    int number;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct item *first, *last;
    unsigned long queued, done;
    bool ends;
    fgpu_graph capture; /* NULL: none */
    enum fgpu_capture_mode mode;
    fgpu_stream next; /* of all */
};
struct CUevent_st {
    bool timing;
    fgpu_context context;
    unsigned long life; /* life of its context, when it was made */
    atomic_ulong recorded, reached;
    _Atomic uint64_t at_ns;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- devices */

static struct CUctx_st contexts[FGPU_DEVICES];
static _Thread_local fgpu_context current[STACK];
static _Thread_local int depth;

fgpu_context fgpu_context_of(int device)
{
    return device >= 0 && device < FGPU_DEVICES ? &contexts[device] : NULL;
}
int fgpu_device_of(fgpu_context context)
{
    return (int)(context - contexts);
}
void fgpu_reset(void)
{
    fgpu_drain_all();
    if (fgpu_current())
        atomic_fetch_add(&fgpu_current()->lives, 1);
}
unsigned long fgpu_life_of(fgpu_context context)
{
    return atomic_load(&context->lives) * FGPU_DEVICES + (unsigned long)fgpu_device_of(context) + 1;
}
fgpu_context fgpu_current(void)
{
    return current[depth];
}
void fgpu_make_current(fgpu_context context)
{
    current[depth] = context;
}
bool fgpu_push(fgpu_context context)
{
    if (!context || depth + 1 >= STACK)
        return false;
    current[++depth] = context;
    return true;
}
fgpu_context fgpu_pop(void)
{
    return depth > 0 ? current[depth--] : NULL;
}

/* ---- work */

static void (*_Atomic when_begun)(const struct fgpu_ran *);
static void (*_Atomic when_ended)(const struct fgpu_ran *);
static atomic_uint correlations;

atomic_bool fgpu_cupti_begun;

void fgpu_watch(void (*begun)(const struct fgpu_ran *), void (*ended)(const struct fgpu_ran *))
{
    atomic_store(&when_begun, begun);
    atomic_store(&when_ended, ended);
}

static atomic_int kernels_now;
int fgpu_kernels_now(void)
{
    return atomic_load(&kernels_now);
}

static void run(fgpu_stream stream, struct item *item)
{
    struct fgpu_ran ran = {.work = &item->work,
                           .device = fgpu_device_of(stream->context),
                           .context = fgpu_device_of(stream->context) + 1,
                           .stream = stream->number,
                           .correlation = item->correlation,
                           .graph_node = item->graph_node,
                           .queued_ns = item->queued_ns,
                           .start_ns = now_ns()};
    void (*begun)(const struct fgpu_ran *) = atomic_load(&when_begun);
    if (begun)
        begun(&ran);
    atomic_fetch_add(&kernels_now, ran.work->kind == FGPU_KERNEL);
    item->work.run(item->work.user);
    atomic_fetch_sub(&kernels_now, ran.work->kind == FGPU_KERNEL);
    ran.end_ns = now_ns();
    void (*ended)(const struct fgpu_ran *) = atomic_load(&when_ended);
    if (ended)
        ended(&ran);
}

static void *work_through(void *of)
{
    fgpu_stream stream = of;
    pthread_mutex_lock(&stream->lock);
    for (;;) {
        while (!stream->first && !stream->ends)
            pthread_cond_wait(&stream->change, &stream->lock);
        struct item *item = stream->first;
        if (!item)
            break;
        stream->first = item->next;
        pthread_mutex_unlock(&stream->lock);
        run(stream, item);
        if (item->work.drop)
            item->work.drop(item->work.user);
        free(item);
        pthread_mutex_lock(&stream->lock);
        stream->done++;
        pthread_cond_broadcast(&stream->change);
    }
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

/* ---- streams */

static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;
static fgpu_stream streams;
static int streams_made;

static fgpu_stream make(fgpu_context context)
{
    fgpu_stream made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->context = context;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->change, NULL);
    if (pthread_create(&made->thread, NULL, work_through, made)) {
        free(made);
        return NULL;
    }
    pthread_mutex_lock(&streams_lock);
    made->number = FIRST_STREAM + streams_made++;
    made->next = streams;
    streams = made;
    pthread_mutex_unlock(&streams_lock);
    return made;
}

static fgpu_context here(void)
{
    if (!fgpu_current())
        fgpu_make_current(&contexts[0]);
    return fgpu_current();
}

fgpu_stream fgpu_stream_make(void)
{
    return make(here());
}

static fgpu_stream meant(fgpu_stream stream)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if ((uintptr_t)stream > 2)
        return stream;
    fgpu_context context = here();
    pthread_mutex_lock(&lock);
    if (!context->own && !(context->own = make(context)))
        abort();
    pthread_mutex_unlock(&lock);
    return context->own;
}

int fgpu_stream_number(fgpu_stream stream)
{
    return meant(stream)->number;
}
fgpu_context fgpu_stream_context(fgpu_stream stream)
{
    return meant(stream)->context;
}

static void append(struct item **first, struct item **last, struct item *item)
{
    *(*first ? &(*last)->next : first) = item;
    *last = item;
}

static struct item *item_of(struct fgpu_work work)
{
    struct item *item = malloc(sizeof *item);
    if (item)
        *item =
            (struct item){.work = work, .queued_ns = now_ns(), .correlation = atomic_fetch_add(&correlations, 1) + 1};
    return item;
}

bool fgpu_put(fgpu_stream stream, struct fgpu_work work)
{
    struct item *item = item_of(work);
    if (!item)
        return false;
    stream = meant(stream);
    pthread_mutex_lock(&stream->lock);
    if (stream->capture) {
        append(&stream->capture->first, &stream->capture->last, item);
    } else {
        append(&stream->first, &stream->last, item);
        stream->queued++;
        pthread_cond_broadcast(&stream->change);
    }
    pthread_mutex_unlock(&stream->lock);
    return true;
}

bool fgpu_idle(fgpu_stream stream)
{
    stream = meant(stream);
    pthread_mutex_lock(&stream->lock);
    bool idle = stream->done == stream->queued;
    pthread_mutex_unlock(&stream->lock);
    return idle;
}

void fgpu_drain(fgpu_stream stream)
{
    stream = meant(stream);
    pthread_mutex_lock(&stream->lock);
    unsigned long until = stream->queued;
    while (stream->done < until)
        pthread_cond_wait(&stream->change, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
}

void fgpu_drain_all(void)
{
    pthread_mutex_lock(&streams_lock);
    fgpu_stream stream = streams;
    pthread_mutex_unlock(&streams_lock);
    for (; stream; stream = stream->next)
        if (!stream->ends)
            fgpu_drain(stream);
}

/* Memory stays: somebody may still ask about it. */
void fgpu_stream_end(fgpu_stream stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->ends = true;
    pthread_cond_broadcast(&stream->change);
    pthread_mutex_unlock(&stream->lock);
    pthread_join(stream->thread, NULL);
}

/* ---- events */

fgpu_event fgpu_event_make(bool timing)
{
    fgpu_event event = calloc(1, sizeof *event);
    if (!event)
        return NULL;
    event->timing = timing;
    event->context = fgpu_current();
    event->life = event->context ? fgpu_life_of(event->context) : 0;
    return event;
}
bool fgpu_is_stale(fgpu_event event)
{
    return event->context && event->life != fgpu_life_of(event->context);
}
void fgpu_event_end(fgpu_event event)
{
    while (!fgpu_reached(event))
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    free(event);
}

static void reach(void *of)
{
    fgpu_event event = of;
    atomic_store(&event->at_ns, now_ns());
    atomic_fetch_add(&event->reached, 1);
}

bool fgpu_record(fgpu_event event, fgpu_stream stream)
{
    stream = meant(stream);
    if (fgpu_is_capturing(stream)) {
        stream->capture->broken = true;
        return true;
    }
    atomic_fetch_add(&event->recorded, 1);
    return fgpu_put(stream, (struct fgpu_work){.kind = FGPU_EVENT, .run = reach, .user = event});
}

bool fgpu_reached(fgpu_event event)
{
    return atomic_load(&event->reached) == atomic_load(&event->recorded);
}

bool fgpu_elapsed(fgpu_event from, fgpu_event to, float *ms)
{
    if (!from->timing || !to->timing || !fgpu_reached(from) || !fgpu_reached(to))
        return false;
    *ms = (float)((double)(int64_t)(atomic_load(&to->at_ns) - atomic_load(&from->at_ns)) * 1e-6);
    return true;
}

struct waiting {
    fgpu_event event;
    unsigned long until;
};
static void wait_for(void *of)
{
    struct waiting *w = of;
    while (atomic_load(&w->event->reached) < w->until)
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

bool fgpu_wait_for(fgpu_stream stream, fgpu_event event)
{
    struct waiting *w = malloc(sizeof *w);
    if (!w)
        return false;
    *w = (struct waiting){event, atomic_load(&event->recorded)};
    return fgpu_put(stream, (struct fgpu_work){.kind = FGPU_EVENT, .run = wait_for, .user = w, .drop = free});
}

/* ---- capture */

static atomic_int global_captures;
static _Thread_local enum fgpu_capture_mode thread_mode;

bool fgpu_capture(fgpu_stream stream, enum fgpu_capture_mode mode)
{
    if ((uintptr_t)stream <= 2 || stream->capture)
        return false;
    fgpu_graph graph = calloc(1, sizeof *graph);
    if (!graph)
        return false;
    pthread_mutex_lock(&stream->lock);
    stream->mode = mode;
    stream->capture = graph;
    pthread_mutex_unlock(&stream->lock);
    atomic_fetch_add(&global_captures, mode == FGPU_GLOBAL);
    return true;
}

bool fgpu_is_capturing(fgpu_stream stream)
{
    stream = meant(stream);
    pthread_mutex_lock(&stream->lock);
    bool is = stream->capture != NULL;
    pthread_mutex_unlock(&stream->lock);
    return is;
}

fgpu_graph fgpu_capture_end(fgpu_stream stream)
{
    pthread_mutex_lock(&stream->lock);
    fgpu_graph graph = stream->capture;
    stream->capture = NULL;
    pthread_mutex_unlock(&stream->lock);
    if (!graph)
        return NULL;
    atomic_fetch_sub(&global_captures, stream->mode == FGPU_GLOBAL);
    if (!graph->broken)
        return graph;
    fgpu_graph_end(graph);
    return NULL;
}

bool fgpu_graph_launch(fgpu_graph graph, fgpu_stream stream)
{
    uint32_t node = 0;
    for (const struct item *in = graph->first; in; in = in->next) {
        struct fgpu_work work = in->work;
        work.drop = NULL; /* the graph's */
        struct item *item = item_of(work);
        if (!item)
            return false;
        item->graph_node = ++node;
        stream = meant(stream);
        pthread_mutex_lock(&stream->lock);
        append(&stream->first, &stream->last, item);
        stream->queued++;
        pthread_cond_broadcast(&stream->change);
        pthread_mutex_unlock(&stream->lock);
    }
    return true;
}

void fgpu_graph_end(fgpu_graph graph)
{
    for (struct item *item = graph->first; item;) {
        struct item *next = item->next;
        if (item->work.drop)
            item->work.drop(item->work.user);
        free(item);
        item = next;
    }
    free(graph);
}

enum fgpu_capture_mode fgpu_exchange_mode(enum fgpu_capture_mode mode)
{
    enum fgpu_capture_mode before = thread_mode;
    thread_mode = mode;
    return before;
}

bool fgpu_allowed(void)
{
    if (thread_mode != FGPU_GLOBAL || atomic_load(&global_captures) == 0)
        return true;
    pthread_mutex_lock(&streams_lock);
    fgpu_stream stream = streams;
    pthread_mutex_unlock(&streams_lock);
    for (; stream; stream = stream->next) {
        pthread_mutex_lock(&stream->lock);
        if (stream->capture && stream->mode == FGPU_GLOBAL)
            stream->capture->broken = true;
        pthread_mutex_unlock(&stream->lock);
    }
    return false;
}

/* ---- faults */

int fgpu_rank(void)
{
    static const char *const name[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (getenv(name[i]))
            return atoi(getenv(name[i]));
    return -1;
}

bool fgpu_fault(const char *kind, long *n, long *more)
{
    const char *fault = getenv("GPU_DOUBLE_FAULT");
    size_t length = strlen(kind);
    for (; fault && *fault; fault += strcspn(fault, ","), fault += *fault == ',') {
        char *end = NULL;
        if (strncmp(fault, kind, length) != 0 || fault[length] != ':' ||
            strtol(fault + length + 1, &end, 10) != fgpu_rank())
            continue;
        *n = *end == ':' ? strtol(end + 1, &end, 10) : 0;
        *more = *end == ':' ? strtol(end + 1, &end, 10) : 0;
        return true;
    }
    return false;
}
