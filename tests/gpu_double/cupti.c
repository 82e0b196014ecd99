/* libcupti of the double: the activity API over what the streams of the core run.
 *
 * As the real one does it: a record's place in a buffer is taken when its work begins, so one kernel that does not end
 * holds back its whole buffer from a plain flush; a forced flush gives it out once, with end 0, and its end is lost.
 * Full buffers that are complete are given out at once, by a thread of the library's own.  There is one pair of
 * callbacks, and whoever registers last has it.
 *
 * GPU_DOUBLE_CUPTI_RECORD=144..216  bytes of a kernel's record (CUDA 9 .. 13); default 216
 * GPU_DOUBLE_CUPTI_VERSION=N        what cuptiGetVersion says; below 17 (CUDA 11.6) there is no clock to register
 * GPU_DOUBLE_CUPTI_SKEW=NS          the GPU's clock, and cuptiGetTimestamp's, are ahead of CLOCK_REALTIME by that
 * GPU_DOUBLE_CUPTI_REFUSE=1         cuptiActivityEnable fails, as where profiling is not permitted
 * GPU_DOUBLE_CUPTI_EAGER=1          a flush asks for the next buffer at once: later callers find it there
 * GPU_DOUBLE_CUPTI_ASK=MS           asking for a buffer takes that long
 * GPU_DOUBLE_CUPTI_SLOW=MS          cuptiActivityEnable takes that long, like the first real one
 * GPU_DOUBLE_CUPTI_STUCK=1          a forced flush never comes back; 2: nor does who asks for a record
 * GPU_DOUBLE_CUPTI_DROP=N           every N-th record finds no room and is dropped */
#include "tests/gpu_double/core.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int CUptiResult;
enum { OK = 0, INVALID_PARAMETER = 1, MAX_LIMIT_REACHED = 12, NOT_INITIALIZED = 15, MULTIPLE_SUBSCRIBERS = 39 };
enum { MEMCPY = 1, CONCURRENT_KERNEL = 10, MEMCPY2 = 22, KINDS };

/* The records of CUDA 13, as far as something is put in; shorter ones end earlier. */
struct kernel {
    uint32_t kind;
    uint8_t cache, shared_memory;
    uint16_t registers;
    uint32_t reserved_1[2];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    uint32_t memory[3];
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    uint8_t more[216 - 112];
};
struct copy {
    uint32_t kind;
    uint8_t copy_kind, source, destination, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint8_t more[64 - 48];
};
_Static_assert(sizeof(struct kernel) == 216 && sizeof(struct copy) == 64, "records");

struct buffer {
    uint8_t *data;
    size_t size, used;
    unsigned open; /* records whose work goes on */
    struct buffer *next;
};
/* Running work: one at a time on a stream. */
struct running {
    uint32_t correlation;
    struct buffer *buffer; /* NULL: free, or given out by force */
    size_t at;
};
#define RUNNING 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static struct buffer *current, *full, *full_end;
static struct running running[RUNNING];
static int enabled[KINDS], subscribed;
static size_t dropped, records;
static bool asking, giving;
static void (*when_requested)(uint8_t **, size_t *, size_t *);
static void (*when_completed)(void *, uint32_t, uint8_t *, size_t, size_t);
static uint64_t (*clock_of_user)(void);

static long number(const char *name, long otherwise)
{
    const char *value = getenv(name);
    return value ? strtol(value, NULL, 10) : otherwise;
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t timestamp(void)
{
    return clock_of_user ? clock_of_user() : now_ns(CLOCK_REALTIME) + (uint64_t)number("GPU_DOUBLE_CUPTI_SKEW", 0);
}

/* A time of the core's (CLOCK_REALTIME) on the clock that records have: by the try in which nothing came between. */
static uint64_t converted(uint64_t ns)
{
    uint64_t narrowest = UINT64_MAX, at = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t before = now_ns(CLOCK_REALTIME), here = timestamp(), after = now_ns(CLOCK_REALTIME);
        if (after - before < narrowest) {
            narrowest = after - before;
            at = here - (before + narrowest / 2 - ns);
        }
    }
    return at;
}

static void pause_ms(const char *name)
{
    long ms = number(name, 0);
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ---- buffers */

static void give_out(struct buffer *buffer)
{
    if (when_completed)
        when_completed(NULL, 0, buffer->data, buffer->size, buffer->used);
    free(buffer);
}

static void *give_full_ones(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        struct buffer **at = &full;
        while (*at && (*at)->open)
            at = &(*at)->next;
        struct buffer *whole = *at;
        if (!whole) {
            pthread_cond_wait(&change, &lock);
            continue;
        }
        *at = whole->next;
        giving = true;
        pthread_mutex_unlock(&lock);
        give_out(whole);
        pthread_mutex_lock(&lock);
        giving = false;
        pthread_cond_broadcast(&change);
    }
    return NULL;
}

static void set_full(struct buffer *buffer)
{
    buffer->next = NULL;
    if (!full)
        full_end = buffer;
    else {
        for (full_end = full; full_end->next;)
            full_end = full_end->next;
        full_end->next = buffer;
    }
    if (full_end == buffer)
        full = buffer;
    pthread_cond_broadcast(&change);
}

/* Room for a record; with the lock held, but not while a buffer is asked for: others wait meanwhile. */
static struct buffer *room(size_t bytes)
{
    while (asking)
        pthread_cond_wait(&change, &lock);
    if (current && current->used + bytes > current->size) {
        set_full(current);
        current = NULL;
    }
    if (!current && when_requested) {
        uint8_t *data = NULL;
        size_t size = 0, most = 0;
        void (*ask)(uint8_t **, size_t *, size_t *) = when_requested;
        asking = true;
        pthread_mutex_unlock(&lock);
        pause_ms("GPU_DOUBLE_CUPTI_ASK");
        ask(&data, &size, &most);
        pthread_mutex_lock(&lock);
        asking = false;
        pthread_cond_broadcast(&change);
        if (data && (current = calloc(1, sizeof *current))) {
            current->data = data;
            current->size = size;
        }
    }
    return current;
}

/* ---- records */

static int kind_of(const struct fgpu_ran *ran)
{
    if (ran->work->kind == FGPU_KERNEL)
        return CONCURRENT_KERNEL;
    return ran->work->kind == FGPU_COPY ? MEMCPY : 0;
}

static void begun(const struct fgpu_ran *ran)
{
    static const uint8_t copy_kinds[] = {9, 1, 2, 8, 0}; /* HtoH HtoD DtoH DtoD, by cudaMemcpyKind */
    int kind = kind_of(ran);
    pthread_mutex_lock(&lock);
    size_t bytes = kind == MEMCPY ? sizeof(struct copy) : (size_t)number("GPU_DOUBLE_CUPTI_RECORD", 216);
    long drop = number("GPU_DOUBLE_CUPTI_DROP", 0);
    bool wanted = kind && enabled[kind], lost = wanted && drop && ++records % (size_t)drop == 0;
    dropped += lost;
    struct buffer *buffer = wanted && !lost ? room(bytes) : NULL;
    struct running *free_place = NULL; /* looked for behind room(), in which others take theirs */
    for (size_t i = 0; i < RUNNING && !free_place; i++)
        free_place = running[i].buffer ? NULL : &running[i];
    if (buffer && free_place) {
        union {
            struct kernel kernel;
            struct copy copy;
        } r;
        memset(&r, 0x5a, sizeof r); /* unset members may have any value */
        if (kind == MEMCPY)
            r.copy = (struct copy){.kind = MEMCPY,
                                   .copy_kind = copy_kinds[ran->work->copy_kind < 4 ? ran->work->copy_kind : 4],
                                   .bytes = ran->work->bytes,
                                   .start = converted(ran->start_ns),
                                   .device = (uint32_t)ran->device,
                                   .context = (uint32_t)ran->context,
                                   .stream = (uint32_t)ran->stream,
                                   .correlation = ran->correlation};
        else {
            r.kernel.kind = CONCURRENT_KERNEL;
            r.kernel.start = converted(ran->start_ns);
            r.kernel.end = 0;
            r.kernel.device = (uint32_t)ran->device;
            r.kernel.context = (uint32_t)ran->context;
            r.kernel.stream = (uint32_t)ran->stream;
            r.kernel.correlation = ran->correlation;
            r.kernel.name = ran->work->name;
        }
        memcpy(buffer->data + buffer->used, &r, bytes);
        *free_place = (struct running){ran->correlation, buffer, buffer->used};
        buffer->used += bytes;
        buffer->open++;
    }
    pthread_mutex_unlock(&lock);
}

static void ended(const struct fgpu_ran *ran)
{
    int kind = kind_of(ran);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < RUNNING; i++) {
        struct running *r = &running[i];
        if (!r->buffer || r->correlation != ran->correlation)
            continue;
        uint64_t end = converted(ran->end_ns);
        size_t at = kind == MEMCPY ? offsetof(struct copy, end) : offsetof(struct kernel, end);
        memcpy(r->buffer->data + r->at + at, &end, sizeof end);
        r->buffer->open--;
        r->buffer = NULL;
        pthread_cond_broadcast(&change);
        break;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- the calls */

#define CUPTI(name, ...)                                                                                               \
    CUptiResult cupti##name(__VA_ARGS__);                                                                              \
    CUptiResult cupti##name(__VA_ARGS__)

CUPTI(GetVersion, uint32_t *version)
{
    atomic_store(&fgpu_cupti_begun, true);
    *version = (uint32_t)number("GPU_DOUBLE_CUPTI_VERSION", 130001);
    return OK;
}
CUPTI(GetTimestamp, uint64_t *now)
{
    *now = timestamp();
    return OK;
}
CUPTI(GetContextId, fgpu_context context, uint32_t *id)
{
    *id = (uint32_t)fgpu_device_of(context) + 1; /* numbered as by the core */
    return context ? OK : INVALID_PARAMETER;
}
CUPTI(GetStreamIdEx, fgpu_context context, fgpu_stream stream, uint8_t per_thread, uint32_t *id)
{
    (void)context, (void)per_thread;
    *id = (uint32_t)fgpu_stream_number(stream);
    return OK;
}
CUPTI(ActivityRegisterCallbacks, void (*requested)(uint8_t **, size_t *, size_t *),
      void (*completed)(void *, uint32_t, uint8_t *, size_t, size_t))
{
    static bool going;
    pthread_t thread;
    if (!requested || !completed)
        return INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    when_requested = requested;
    when_completed = completed;
    if (!going)
        going = pthread_create(&thread, NULL, give_full_ones, NULL) == 0;
    pthread_mutex_unlock(&lock);
    fgpu_watch(begun, ended);
    return going ? OK : NOT_INITIALIZED;
}
CUPTI(ActivityRegisterTimestampCallback, uint64_t (*clock)(void))
{
    if (!clock)
        return INVALID_PARAMETER;
    if (number("GPU_DOUBLE_CUPTI_VERSION", 130001) < 17)
        return NOT_INITIALIZED;
    clock_of_user = clock;
    return OK;
}
static CUptiResult set_kind(int kind, int on)
{
    if (kind <= 0 || kind >= KINDS)
        return INVALID_PARAMETER;
    if (on && number("GPU_DOUBLE_CUPTI_REFUSE", 0))
        return NOT_INITIALIZED;
    if (on)
        pause_ms("GPU_DOUBLE_CUPTI_SLOW");
    pthread_mutex_lock(&lock);
    enabled[kind] = on;
    pthread_mutex_unlock(&lock);
    return OK;
}
CUPTI(ActivityEnable, int kind)
{
    return set_kind(kind, 1);
}
CUPTI(ActivityDisable, int kind)
{
    return set_kind(kind, 0);
}
CUPTI(ActivityFlushAll, uint32_t flag)
{
    if (!when_completed)
        return 7; /* CUPTI_ERROR_INVALID_OPERATION */
    while (flag & 1 && number("GPU_DOUBLE_CUPTI_STUCK", 0) == 1)
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    pthread_mutex_lock(&lock);
    while (giving)
        pthread_cond_wait(&change, &lock);
    struct buffer *out = NULL, **end = &out;
    for (struct buffer **at = &full; *at;) {
        struct buffer *buffer = *at;
        if (buffer->open && !(flag & 1)) {
            at = &buffer->next;
            continue;
        }
        *at = buffer->next;
        *end = buffer;
        end = &buffer->next;
        buffer->next = NULL;
    }
    if (current && current->used && (!current->open || (flag & 1))) {
        *end = current;
        current->next = NULL;
        current = NULL;
    }
    for (struct buffer *buffer = out; buffer; buffer = buffer->next)
        for (size_t i = 0; i < RUNNING; i++)
            if (running[i].buffer == buffer)
                running[i].buffer = NULL; /* end that is never reported */
    pthread_mutex_unlock(&lock);
    while (out) {
        struct buffer *next = out->next;
        give_out(out);
        out = next;
    }
    pthread_mutex_lock(&lock);
    if (number("GPU_DOUBLE_CUPTI_EAGER", 0))
        room(1);
    pthread_mutex_unlock(&lock);
    return OK;
}
CUPTI(ActivityGetNextRecord, uint8_t *buffer, size_t valid, void **record)
{
    uint8_t *at = *record;
    uint32_t kind;
    while (number("GPU_DOUBLE_CUPTI_STUCK", 0) == 2)
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    if (at) {
        memcpy(&kind, at, sizeof kind);
        at += kind == MEMCPY ? sizeof(struct copy) : (size_t)number("GPU_DOUBLE_CUPTI_RECORD", 216);
    } else {
        at = buffer;
    }
    if (at >= buffer + valid)
        return MAX_LIMIT_REACHED;
    *record = at;
    return OK;
}
CUPTI(ActivityGetNumDroppedRecords, fgpu_context context, uint32_t stream, size_t *n)
{
    (void)context, (void)stream;
    pthread_mutex_lock(&lock);
    *n = dropped;
    dropped = 0;
    pthread_mutex_unlock(&lock);
    return OK;
}
CUPTI(Subscribe, void **subscriber, void *callback, void *user)
{
    (void)callback, (void)user;
    if (subscribed)
        return MULTIPLE_SUBSCRIBERS;
    subscribed = 1;
    *subscriber = &subscribed;
    return OK;
}
CUPTI(Unsubscribe, void *subscriber)
{
    (void)subscriber;
    subscribed = 0;
    return OK;
}
CUPTI(Finalize, void)
{
    return OK;
}
