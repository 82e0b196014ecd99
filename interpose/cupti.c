/* CUPTI's activity API: started when CUDA is up, read by a thread of our own, left to others who want it. */
#include "interpose/oldglibc.h"
#include "interpose/cupti.h"
#include "interpose/cupti_records.h"
#include "interpose/facts.h"
#include "interpose/heartbeat.h"
#include "interpose/process.h"
#include "interpose/resolve.h"
#include "interpose/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef void (*requested_function)(uint8_t **buffer, size_t *size, size_t *records);
typedef void (*completed_function)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* The functions that are called: ASK(name, parameters); those of the second list tell of another user of CUPTI. */
#define CALLED(ASK)                                                                                                    \
    ASK(GetVersion, (uint32_t * version))                                                                              \
    ASK(GetTimestamp, (uint64_t * now))                                                                                \
    ASK(GetContextId, (void *context, uint32_t *id))                                                                   \
    ASK(GetStreamIdEx, (void *context, void *stream, uint8_t per_thread, uint32_t *id))                                \
    ASK(ActivityEnable, (int kind))                                                                                    \
    ASK(ActivityDisable, (int kind))                                                                                   \
    ASK(ActivityFlushAll, (uint32_t flag))                                                                             \
    ASK(ActivityGetNextRecord, (uint8_t * buffer, size_t valid, void **record))                                        \
    ASK(ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped))
#define REGISTER(ASK) ASK(ActivityRegisterCallbacks, (requested_function ask, completed_function done), ask, done)
#define FOREIGN(ASK)                                                                                                   \
    ASK(ActivityRegisterTimestampCallback, (uint64_t(*now)(void)), now)                                                \
    ASK(Subscribe, (void *subscriber, void *callback, void *user), subscriber, callback, user)                         \
    ASK(Subscribe_v2, (void *subscriber, void *callback, void *user, void *params), subscriber, callback, user,        \
        params)                                                                                                        \
    ASK(Finalize, (void))

static struct {
#define ASK(name, parameters, ...) int(*name) parameters;
    CALLED(ASK)
    REGISTER(ASK)
    FOREIGN(ASK)
#undef ASK
    int (*stream_context)(void *stream, void **context);    /* cuStreamGetCtx */
    int (*stream_id)(void *stream, unsigned long long *id); /* cuStreamGetId, from CUDA 12 on */
    int (*current_context)(void **context);                 /* cuCtxGetCurrent */
    int (*is_capturing)(void *stream, int *status);         /* cuStreamIsCapturing */
} cupti;
static char library[1024];

enum { OFF, STARTING, ON, STEPPING, NEVER };
static atomic_int state;
static __thread bool own;                   /* a call of ours to CUPTI, not somebody else's */
static _Atomic(const char *) first_foreign; /* a call of somebody else's, before we began */
static atomic_bool gave_buffers;

#define FLUSH_FORCED 1u
enum { KINDS = 3 };
static const int kinds[KINDS] = {IPO_CUPTI_CONCURRENT_KERNEL, IPO_CUPTI_MEMCPY, IPO_CUPTI_MEMCPY2};

/* ---- time: CUPTI's, nanoseconds, to ticks of the trace by two samples ----------------------------------------------
 */

struct sample {
    uint64_t time, ticks;
};
static struct sample first, latest;
static bool clock_is_ours;

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What CUPTI uses when nobody has registered another (cupti_activity.h, on Linux). */
static uint64_t realtime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct sample look_at_clocks(void)
{
    struct sample best = {0};
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t time = 0, before = ipo_ticks();
        if (clock_is_ours)
            time = monotonic_ns();
        else
            cupti.GetTimestamp(&time);
        uint64_t after = ipo_ticks();
        if (after - before < narrowest) {
            narrowest = after - before;
            best = (struct sample){time, before + (after - before) / 2};
        }
    }
    return best;
}

static uint64_t to_ticks(uint64_t time)
{
    double rate =
        latest.time > first.time ? (double)(latest.ticks - first.ticks) / (double)(latest.time - first.time) : 1;
    double ticks = (double)((int64_t)(time - latest.time)) * rate;
    uint64_t at = latest.ticks + (uint64_t)(int64_t)ticks;
    return (int64_t)at < 0 ? 0 : at;
}

/* ---- buffers ------------------------------------------------------------------------------------------------------
 */

#define BLOCK (256u << 10) /* small: one kernel that does not end holds back all of its buffer */
#define KEPT  8

struct block {
    struct block *next, *self;
    size_t valid;
    uint8_t reserved[40];
    uint8_t data[];
};
_Static_assert(sizeof(struct block) == 64, "records lie aligned");
static _Atomic(struct block *) unused[KEPT], completed;

static void requested(uint8_t **buffer, size_t *size, size_t *records)
{
    struct block *block = NULL;
    for (int i = 0; i < KEPT && !block; i++)
        block = atomic_exchange(&unused[i], NULL);
    if (!block) {
        void *fresh = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        block = fresh == MAP_FAILED ? NULL : fresh;
    }
    if (block)
        block->self = block;
    *buffer = block ? block->data : NULL;
    *size = block ? BLOCK - sizeof *block : 0;
    *records = 0; /* as many as fit */
}

static void give_back(struct block *block)
{
    for (int i = 0; i < KEPT && block; i++)
        block = atomic_exchange(&unused[i], block);
    if (block)
        munmap(block, BLOCK);
}

/* NULL: somebody else's, who gave it before our functions replaced theirs.  Ours begin behind the start of a page, so
 * that what stands before any that could be one may be read. */
static struct block *block_of(uint8_t *buffer)
{
    if (!buffer)
        return NULL;
    struct block *block = (struct block *)(void *)(buffer - sizeof *block);
    return (uintptr_t)block % 4096 == 0 && block->self == block ? block : NULL;
}

/* On a thread of CUPTI's, or on one that flushes. */
static void was_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)size;
    struct block *block = block_of(buffer);
    if (!block)
        return;
    size_t dropped = 0;
    if (cupti.ActivityGetNumDroppedRecords(context, stream, &dropped) == 0 && dropped)
        __atomic_fetch_add(&ipo_process.writer.head->lost_records, dropped, __ATOMIC_RELAXED);
    block->valid = valid;
    block->next = atomic_load(&completed);
    while (!atomic_compare_exchange_weak(&completed, &block->next, block))
        ;
}

static void write_completed(void)
{
    static const struct ipo_device_times times = {to_ticks};
    struct block *newest = atomic_exchange(&completed, NULL), *block = NULL;
    if (!newest)
        return;
    latest = look_at_clocks();
    while (newest) { /* in the order in which they came */
        struct block *next = newest->next;
        newest->next = block;
        block = newest;
        newest = next;
    }
    while (block) {
        struct block *next = block->next;
        void *record = NULL;
        while (cupti.ActivityGetNextRecord(block->data, block->valid, &record) == 0)
            ipo_device_record(record, &times);
        give_back(block);
        block = next;
    }
    ipo_device_write();
}

/* ---- our thread -----------------------------------------------------------------------------------------------------
 */

#define ROUND_NS 1000000000

static atomic_int stopping, running;

static void *live(void *unused_)
{
    (void)unused_;
    prctl(PR_SET_NAME, "hpctop gpu");
    own = true;
    while (!atomic_load(&stopping)) {
        struct timespec pause = {.tv_sec = ROUND_NS / 1000000000};
        syscall(SYS_futex, &stopping, FUTEX_WAIT_PRIVATE, 0, &pause, NULL, 0);
        if (!atomic_load(&stopping) && atomic_load(&state) == ON) {
            cupti.ActivityFlushAll(0);
            ipo_patch_slots(); /* of what was loaded since: it may be a profiler */
        }
        if (!atomic_load(&stopping))
            write_completed();
    }
    if (atomic_load(&state) == ON)
        cupti.ActivityFlushAll(FLUSH_FORCED);
    if (atomic_load(&stopping) == 1) {
        write_completed();
        const char *missing = ipo_device_missing();
        if (*missing)
            ipo_fact("gpu.missing", missing);
    }
    atomic_store(&running, 0);
    syscall(SYS_futex, &running, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return NULL;
}

void ipo_cupti_stop(void)
{
    int going = 0;
    atomic_compare_exchange_strong(&stopping, &going, 1); /* nor is anything begun any more */
    syscall(SYS_futex, &stopping, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    if (going == 2) /* waited for in vain before */
        return;
    struct timespec patience = {.tv_sec = 1}; /* a GPU that hangs must not hang the program's end */
    while (atomic_load(&running))
        if (syscall(SYS_futex, &running, FUTEX_WAIT_PRIVATE, 1, &patience, NULL, 0) && errno == ETIMEDOUT) {
            atomic_store(&stopping, 2); /* what comes now finds no file */
            return;
        }
}

/* A program that ends without MPI_Finalize: its driver is taken down by handlers that were registered before ours and
 * run after it.  Nobody should be inside then. */
static void at_exit(void *unused_)
{
    (void)unused_;
    if (ipo_process.writer.head->pid == (uint32_t)getpid()) /* not a child of the traced process */
        ipo_cupti_stop();
}
int __cxa_atexit(void (*function)(void *), void *argument, void *dso);

/* ---- beginning ------------------------------------------------------------------------------------------------------
 */

static void tell(const char *what, const char *more)
{
    struct ipo_text text = {0};
    ipo_text_add(&text, what);
    ipo_text_add(&text, more);
    ipo_fact("gpu.kernels", text.text);
}

static bool resolve(void *handle)
{
#define ASK(name, parameters, ...) cupti.name = (int(*) parameters)(uintptr_t)dlsym(handle, "cupti" #name);
    CALLED(ASK)
    REGISTER(ASK)
    FOREIGN(ASK)
#undef ASK
    void *driver = ipo_loaded("libcuda.so.1");
    if (driver) {
        cupti.stream_context = (int (*)(void *, void **))(uintptr_t)dlsym(driver, "cuStreamGetCtx");
        cupti.stream_id = (int (*)(void *, unsigned long long *))(uintptr_t)dlsym(driver, "cuStreamGetId");
        cupti.current_context = (int (*)(void **))(uintptr_t)dlsym(driver, "cuCtxGetCurrent");
        cupti.is_capturing = (int (*)(void *, int *))(uintptr_t)dlsym(driver, "cuStreamIsCapturing");
    }
    bool good = cupti.ActivityRegisterCallbacks != NULL;
#define ASK(name, parameters) good = good && cupti.name;
    CALLED(ASK)
#undef ASK
    Dl_info info;
    if (good && dladdr((const void *)(uintptr_t)cupti.GetVersion, &info) && info.dli_fname)
        ipo_copy(library, sizeof library, info.dli_fname);
    return good;
}

/* Whether the program has initialised CUDA: doing so for it would be too early for its CUDA_VISIBLE_DEVICES. */
static bool cuda_is_up(void)
{
    void *driver = ipo_loaded("libcuda.so.1");
    int (*count)(int *) = driver ? (int (*)(int *))(uintptr_t)dlsym(driver, "cuDeviceGetCount") : NULL;
    int n = 0;
    return count && count(&n) == 0;
}

/* NULL: it is on; else why not. */
static const char *start(void)
{
    uint32_t version = 0;
    const char *taken = ipo_cupti_taken(), *first_call = atomic_load(&first_foreign);
    if (!ipo_process.options.cupti)
        return "HPCTOP_CUPTI=0";
    if (taken || first_call)
        return taken ? taken : "another profiler was there first";
    void *handle = ipo_cupti_find();
    if (!handle || !resolve(handle))
        return "no libcupti was found";
    if (cupti.GetVersion(&version) || version == 130000)
        return "CUPTI 13.0.0, which can deadlock: 13.0.1 and later are used";
    clock_is_ours =
        cupti.ActivityRegisterTimestampCallback && cupti.ActivityRegisterTimestampCallback(monotonic_ns) == 0;
    if (cupti.ActivityRegisterCallbacks(requested, was_completed))
        return "CUPTI takes no callbacks";
    atomic_store(&gave_buffers, true);
    first = latest = look_at_clocks();
    if (cupti.ActivityEnable(kinds[0]))
        return "CUPTI refuses: not permitted here, used by another tool, or too new for the driver";
    for (int i = 1; i < KINDS; i++)
        cupti.ActivityEnable(kinds[i]);
    return NULL;
}

void ipo_cupti_start(bool up)
{
    int fresh = OFF, kept = errno;
    if (atomic_load(&state) != OFF || atomic_load(&stopping) || !(up || cuda_is_up()) ||
        !atomic_compare_exchange_strong(&state, &fresh, STARTING)) {
        errno = kept;
        return;
    }
    own = true;
    const char *why = start();
    own = false;
    atomic_store(&running, 1);
    if (!why && !ipo_own_thread(live)) {
        why = "no thread could be made";
        cupti.ActivityDisable(kinds[0]);
    }
    if (why) {
        atomic_store(&running, 0);
        tell("not timed: ", why);
    } else {
        tell("timed by CUPTI, ", library);
        __cxa_atexit(at_exit, NULL, NULL);
    }
    atomic_store(&state, why ? NEVER : ON);
    ipo_patch_slots(); /* CUPTI's calls, too, now that there is one */
    errno = kept;
}

/* CUDA's driver was loaded; the program will initialise it in a moment. */
static void *await(void *unused_)
{
    (void)unused_;
    prctl(PR_SET_NAME, "hpctop gpu");
    for (unsigned rounds = 0; atomic_load(&state) == OFF && !atomic_load(&stopping); rounds++) {
        ipo_cupti_start(false);
        /* Libraries load the driver in programs that never use it. */
        struct timespec pause = {.tv_nsec = rounds < 500 ? 20000000 : 500000000};
        syscall(SYS_futex, &stopping, FUTEX_WAIT_PRIVATE, 0, &pause, NULL, 0);
    }
    return NULL;
}

void ipo_cupti_round(void)
{
    static unsigned rounds;
    static bool awaiting;
    if (!awaiting && atomic_load(&state) == OFF && rounds++ % 10 == 0)
        awaiting = ipo_loads_have("libcuda.so") && ipo_own_thread(await);
}

const char *ipo_cupti_object(void)
{
    return library;
}

/* The driver calls this at cuInit in a process that has CUDA_INJECTION64_PATH=libtrace.so: from the first kernel on. */
int InitializeInjection(void);
__attribute__((visibility("default"))) int InitializeInjection(void)
{
    if (*ipo_armed || *ipo_nccl_armed)
        ipo_cupti_start(true);
    return 1;
}

/* ---- streams of NCCL's calls ----------------------------------------------------------------------------------------
 */

#define HANDLES 256u
static struct {
    _Atomic uint64_t key;    /* of the driver's number for a stream, or the context for its special ones; 0 free */
    _Atomic uint64_t number; /* in the upper half the key's lower one, in case that two threads fill the place */
} handles[HANDLES];

static uint32_t number_of(uintptr_t stream)
{
    void *context = NULL;
    uint32_t context_id = 0, id = 0;
    if (!cupti.stream_context || cupti.stream_context((void *)stream, &context) ||
        cupti.GetContextId(context, &context_id) || cupti.GetStreamIdEx(context, (void *)stream, stream == 2, &id))
        return 0;
    return ipo_device_stream(context_id, id);
}

uint32_t ipo_cupti_stream(uintptr_t stream)
{
    if (__builtin_expect(atomic_load_explicit(&state, memory_order_relaxed) != ON, 1))
        return 0;
    int capturing = 0;
    if (cupti.is_capturing && (cupti.is_capturing((void *)stream, &capturing) || capturing))
        return 0; /* its kernel comes with the graph, as often as that is launched */
    unsigned long long id = 0;
    uint64_t key = 0;
    if (stream > 2) { /* by a number that is never used again; an older driver is asked each time */
        if (!cupti.stream_id || cupti.stream_id((void *)stream, &id))
            return number_of(stream);
        key = ((uint64_t)id + 1) * 0x9e3779b97f4a7c15u | (uint64_t)1 << 63;
    } else { /* the default streams: of the context that is current, and 2 of each thread */
        void *context = NULL;
        if (stream == 2 || !cupti.current_context || cupti.current_context(&context))
            return number_of(stream);
        key = ((uint64_t)(uintptr_t)context + stream + 1) & ~((uint64_t)1 << 63);
    }
    const uint32_t home = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 40) % HANDLES;
    uint32_t at = home;
    uint64_t there = 0;
    for (uint32_t i = 0; i < 16 && (there = atomic_load(&handles[at].key)) && there != key; i++)
        at = (at + 1) % HANDLES;
    uint64_t known = there == key ? atomic_load(&handles[at].number) : 0;
    if (known >> 32 == (uint32_t)key && (uint32_t)known)
        return (uint32_t)known;
    const uint32_t number = number_of(stream);
    at = there && there != key ? home : at; /* no room: the first one has to make it */
    if (number) {
        atomic_store(&handles[at].key, key);
        atomic_store(&handles[at].number, key << 32 | number);
    }
    return number;
}

/* ---- another profiler
 * ------------------------------------------------------------------------------------------------ */

/* Leaves CUPTI as if we had not been there, but for what was recorded so far. */
static void step_aside(const char *because)
{
    int on = ON;
    if (own || !(*ipo_armed || *ipo_nccl_armed) || !atomic_compare_exchange_strong(&state, &on, STEPPING))
        return;
    own = true;
    cupti.ActivityFlushAll(FLUSH_FORCED);
    for (int i = 0; i < KINDS; i++)
        cupti.ActivityDisable(kinds[i]);
    if (clock_is_ours)
        cupti.ActivityRegisterTimestampCallback(realtime_ns);
    own = false;
    tell("timed until another profiler came: it called cupti", because);
    atomic_store(&state, NEVER);
}

/* What a caller means by a name: another copy of CUPTI than the one in use may be in its scope. */
static void *meant(const void *caller, const char *name)
{
    Dl_info info;
    void *scope = dladdr(caller, &info) && info.dli_fname ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = scope ? dlsym(scope, name) : NULL;
    if (scope)
        dlclose(scope);
    return found ? found : dlsym(RTLD_DEFAULT, name);
}

static void met(const char *call)
{
    if (own)
        return;
    const char *nobody = NULL;
    if (atomic_load(&state) == OFF)
        atomic_compare_exchange_strong(&first_foreign, &nobody, call);
    step_aside(call);
}

/* CUPTI may still have a buffer of ours when somebody else takes over, and put records of his into it: they go to him
 * in one of his own. */
static _Atomic(requested_function) their_request;
static _Atomic(completed_function) their_completed;

static void completed_for_them(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    struct block *block = block_of(buffer);
    completed_function done = atomic_load(&their_completed);
    if (!block) {
        done(context, stream, buffer, size, valid);
        return;
    }
    uint8_t *theirs = NULL;
    size_t room = 0, records = 0;
    if (valid)
        atomic_load (&their_request)(&theirs, &room, &records);
    if (theirs) {
        memcpy(theirs, buffer, valid < room ? valid : 0);
        done(context, stream, theirs, room, valid < room ? valid : 0);
    }
    give_back(block);
}

/* Two wrappers for each: for those who call by name, and for those who looked the name up (what they found: looked_up).
 */
static struct {
#define ASK(name, parameters, ...) int(*name) parameters;
    REGISTER(ASK)
    FOREIGN(ASK)
#undef ASK
} looked_up;
#define NO_CUPTI 15 /* CUPTI_ERROR_NOT_INITIALIZED */

#define BODY(function, found, name, parameters, ...)                                                                   \
    static int function parameters                                                                                     \
    {                                                                                                                  \
        int(*real) parameters = (int(*) parameters)(uintptr_t)(found);                                                 \
        met(#name);                                                                                                    \
        return real ? real(__VA_ARGS__) : NO_CUPTI;                                                                    \
    }
#define ASK(name, parameters, ...)                                                                                     \
    BODY(foreign_##name, meant(__builtin_return_address(0), "cupti" #name), name, parameters, __VA_ARGS__)             \
    BODY(found_##name, (uintptr_t)looked_up.name, name, parameters, __VA_ARGS__)
FOREIGN(ASK)
#undef ASK

static int take_over(int (*real)(requested_function, completed_function), requested_function ask,
                     completed_function done)
{
    met("ActivityRegisterCallbacks");
    if (!real)
        return NO_CUPTI;
    if (own || !atomic_load(&gave_buffers) || !ask || !done)
        return real(ask, done);
    atomic_store(&their_request, ask);
    atomic_store(&their_completed, done);
    return real(ask, completed_for_them);
}
static int foreign_ActivityRegisterCallbacks(requested_function ask, completed_function done)
{
    void *real = meant(__builtin_return_address(0), "cuptiActivityRegisterCallbacks");
    return take_over((int (*)(requested_function, completed_function))(uintptr_t)real, ask, done);
}
static int found_ActivityRegisterCallbacks(requested_function ask, completed_function done)
{
    return take_over(looked_up.ActivityRegisterCallbacks, ask, done);
}

static const struct {
    const char *name;
    ipo_function called, found;
    size_t at;
} wrappers[] = {
#define ASK(name, parameters, ...)                                                                                     \
    {"cupti" #name, (ipo_function)foreign_##name, (ipo_function)found_##name, offsetof(__typeof__(looked_up), name)},
    REGISTER(ASK) FOREIGN(ASK)
#undef ASK
};
#define WRAPPERS (sizeof wrappers / sizeof *wrappers)

ipo_function ipo_cupti_wrapper_of(const char *name)
{
    for (size_t i = 0; i < WRAPPERS; i++)
        if (strcmp(name, wrappers[i].name) == 0)
            return wrappers[i].called;
    return NULL;
}

void *ipo_cupti_looked_up(void *handle, const char *name)
{
    void *found = dlsym(handle, name);
    for (size_t i = 0; found && i < WRAPPERS; i++)
        if (strcmp(name, wrappers[i].name) == 0) {
            _Atomic(void *) *place = (_Atomic(void *) *)(void *)((char *)&looked_up + wrappers[i].at);
            void *none = NULL;
            if (atomic_compare_exchange_strong(place, &none, found) || none == found) /* else of a second copy */
                return (void *)(uintptr_t)wrappers[i].found;
        }
    return found;
}
