/* CUPTI's activity API: started when CUDA is initialised, read by a thread of our own, left to any other profiler. */
#include "interpose/cuda/cupti.h"
#include "interpose/cuda/cupti_inside.h"
#include "interpose/cuda/cupti_records.h"
#include "interpose/core/facts.h"
#include "interpose/mpi/record.h"
#include "interpose/load/slots.h"
#include "interpose/base/text.h"
#include "interpose/core/own.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct ipo_cupti_calls ipo_cupti;
static char library[1024];

atomic_int ipo_cupti_state;
__thread bool ipo_cupti_own;
const int ipo_cupti_kinds[IPO_CUPTI_KINDS] = {IPO_CUPTI_CONCURRENT_KERNEL, IPO_CUPTI_MEMCPY, IPO_CUPTI_MEMCPY2};

/* ---- our thread */

#define ROUND_US   1000000
#define GRACE_US   1000000
#define PATIENCE_S 2

static atomic_int stopping, running, writing;
enum { ASKED = 1, GIVEN_UP, PAUSED }; /* values of stopping; GIVEN_UP: nothing is written any more */

/* Ends when recording does. */
static void pause_us(long us)
{
    struct timespec pause = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    syscall(SYS_futex, &stopping, FUTEX_WAIT_PRIVATE, 0, &pause, NULL, 0);
}

static void announce_end(atomic_int *of)
{
    atomic_store(of, 0);
    syscall(SYS_futex, of, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0); /* two threads may wait */
}

/* Waits until a word is 0.  False: it is not 0 at the time `until` (CLOCK_MONOTONIC, so that signals do not prolong
 * it). */
static bool wait_until(const struct timespec *until, atomic_int *of)
{
    while (atomic_load(of))
        if (syscall(SYS_futex, of, FUTEX_WAIT_BITSET_PRIVATE, 1, until, NULL, FUTEX_BITSET_MATCH_ANY) &&
            errno == ETIMEDOUT)
            return !atomic_load(of);
    return true;
}

/* Writes nothing after GIVEN_UP; a thread that gives up meanwhile waits for the end of the writing. */
static void write_completed(bool last)
{
    atomic_store(&writing, 1);
    if (atomic_load(&stopping) != GIVEN_UP) {
        ipo_cupti_write_completed();
        const char *missing = last ? ipo_device_missing() : "";
        if (*missing)
            ipo_fact("gpu.missing", missing);
    }
    announce_end(&writing);
}

static bool is_ours(void)
{
    return atomic_load(&ipo_cupti_state) <= IPO_CUPTI_ON; /* our thread may run before the state is set */
}

static void leave_pause(void)
{
    int paused = PAUSED;
    atomic_compare_exchange_strong(&stopping, &paused, 0);
}

void ipo_cupti_over(void)
{
    int going = 0;
    atomic_compare_exchange_strong(&stopping, &going, PAUSED);
    syscall(SYS_futex, &stopping, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void *run_thread(void *unused_)
{
    (void)unused_;
    ipo_cupti_own = true;
    leave_pause();
    atomic_store(&running, 1);
    while (!atomic_load(&stopping) && atomic_load(&ipo_own_runs)) {
        pause_us(ROUND_US);
        if (!atomic_load(&stopping) && is_ours()) {
            ipo_cupti.ActivityFlushAll(0);
        }
        if (!atomic_load(&stopping))
            write_completed(false);
    }
    if (is_ours())
        ipo_cupti.ActivityFlushAll(IPO_CUPTI_FLUSH_FORCED);
    write_completed(true);
    announce_end(&running);
    return NULL;
}

void ipo_cupti_stop(void)
{
    int going = 0;
    atomic_compare_exchange_strong(&stopping, &going, ASKED); /* CUPTI is not started either once this is set */
    syscall(SYS_futex, &stopping, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    if (going == GIVEN_UP)
        return;
    struct timespec until; /* a GPU that hangs must not delay the program's end for ever */
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    if (wait_until(&until, &running))
        return;
    atomic_store(&stopping, GIVEN_UP);
    /* A disk that hangs must not delay it either, nor a lock that the caller of exit() holds.  Later records stay in
     * the file's chunks. */
    until.tv_sec++;
    wait_until(&until, &writing);
    ipo_fact("gpu.missing", "what CUPTI had not given back when recording ended");
}

/* A program that ends without MPI_Finalize: exit handlers that were registered before ours take the driver down
 * after it. No thread should be inside the driver then. */
static void stop_at_exit(void *unused_)
{
    (void)unused_;
    if (ipo_process.writer.head->pid == (uint32_t)getpid()) /* not a child of the traced process */
        ipo_cupti_stop();
}
int __cxa_atexit(void (*function)(void *), void *argument, void *dso);

/* ---- beginning */

void ipo_cupti_fact(const char *what, const char *more)
{
    struct ipo_text text = {0};
    ipo_text_add(&text, what);
    ipo_text_add(&text, more);
    ipo_fact("gpu.kernels", text.text);
}

static bool resolve_calls(void *handle)
{
#define ASK(name, parameters, ...) ipo_cupti.name = (int(*) parameters)(uintptr_t)dlsym(handle, "cupti" #name);
    IPO_CUPTI_CALLED(ASK)
    IPO_CUPTI_REGISTER(ASK)
    IPO_CUPTI_FOREIGN(ASK)
#undef ASK
    void *driver = ipo_loaded("libcuda.so.1");
    if (driver) {
        ipo_cupti.stream_context = (int (*)(void *, void **))(uintptr_t)dlsym(driver, "cuStreamGetCtx");
        ipo_cupti.stream_id = (int (*)(void *, unsigned long long *))(uintptr_t)dlsym(driver, "cuStreamGetId");
        ipo_cupti.current_context = (int (*)(void **))(uintptr_t)dlsym(driver, "cuCtxGetCurrent");
        ipo_cupti.is_capturing = (int (*)(void *, int *))(uintptr_t)dlsym(driver, "cuStreamIsCapturing");
    }
    bool good = ipo_cupti.ActivityRegisterCallbacks != NULL;
#define ASK(name, parameters) good = good && ipo_cupti.name;
    IPO_CUPTI_CALLED(ASK)
#undef ASK
    Dl_info info;
    if (good && dladdr((const void *)(uintptr_t)ipo_cupti.GetVersion, &info) && info.dli_fname)
        ipo_copy(library, sizeof library, info.dli_fname);
    return good;
}

/* Whether the program has initialised CUDA.  To do it for the program would be too early for its
 * CUDA_VISIBLE_DEVICES. */
static bool cuda_is_up(void)
{
    void *driver = ipo_loaded("libcuda.so.1");
    int (*count)(int *) = driver ? (int (*)(int *))(uintptr_t)dlsym(driver, "cuDeviceGetCount") : NULL;
    int n = 0;
    return count && count(&n) == 0;
}

/* Starts CUPTI.  NULL: it runs; else the reason why not. */
static const char *start_activity(void)
{
    uint32_t version = 0;
    const char *taken = ipo_cupti_refusal(), *first_call = ipo_cupti_others_call();
    if (!ipo_process.options.cupti)
        return "HPCTOP_CUPTI=0";
    if (taken || first_call)
        return taken ? taken : "another profiler was there first";
    void *handle = ipo_cupti_find();
    if (!handle || !resolve_calls(handle))
        return "no libcupti was found";
    if (ipo_cupti.GetVersion(&version) || version == 130000)
        return "CUPTI 13.0.0, which can deadlock: 13.0.1 and later are used";
    if (!ipo_cupti_register_buffers())
        return "CUPTI takes no callbacks";
    if (ipo_cupti.ActivityEnable(ipo_cupti_kinds[0]))
        return "CUPTI refuses: not permitted here, used by another tool, or too new for the driver";
    for (int i = 1; i < IPO_CUPTI_KINDS; i++)
        ipo_cupti.ActivityEnable(ipo_cupti_kinds[i]);
    return NULL;
}

static void enter_state(int state)
{
    atomic_store(&ipo_cupti_state, state);
    syscall(SYS_futex, &ipo_cupti_state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void begin_activity(void)
{
    ipo_cupti_own = true;
    const char *why = start_activity();
    ipo_cupti_own = false;
    if (!why && !ipo_own_thread("hpctop gpu", run_thread, NULL)) {
        why = "no thread could be made";
        ipo_cupti.ActivityDisable(ipo_cupti_kinds[0]);
    }
    if (why || !atomic_load(&ipo_own_runs)) /* no thread, or not yet */
        announce_end(&running);
    if (why) {
        ipo_cupti_fact("not timed: ", why);
    } else {
        ipo_cupti_fact("timed by CUPTI, ", library);
        __cxa_atexit(stop_at_exit, NULL, NULL);
    }
    enter_state(why ? IPO_CUPTI_NEVER : IPO_CUPTI_ON);
    ipo_patch_slots(); /* now also the slots of CUPTI's calls */
}

/* Not for ever: inside cuInit the driver holds a lock that CUPTI may need. */
void ipo_cupti_settle(void)
{
    struct timespec until;
    if (ipo_cupti_own || atomic_load(&ipo_cupti_state) != IPO_CUPTI_STARTING)
        return; /* CUPTI itself may call this, by cuInit */
    if (!*ipo_armed && !*ipo_nccl_armed)
        return; /* no thread starts it in a child that was forked meanwhile */
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_S;
    while (atomic_load(&ipo_cupti_state) == IPO_CUPTI_STARTING)
        if (syscall(SYS_futex, &ipo_cupti_state, FUTEX_WAIT_BITSET_PRIVATE, IPO_CUPTI_STARTING, &until, NULL,
                    FUTEX_BITSET_MATCH_ANY) &&
            errno == ETIMEDOUT)
            return;
}

void ipo_cupti_start(bool up)
{
    int fresh = IPO_CUPTI_OFF, kept = errno;
    if (atomic_load(&ipo_cupti_state) == IPO_CUPTI_OFF && !atomic_load(&stopping) && (up || cuda_is_up()) &&
        atomic_compare_exchange_strong(&ipo_cupti_state, &fresh, IPO_CUPTI_STARTING)) {
        atomic_store(&running, 1);
        if (atomic_load(&stopping)) { /* the stop did not wait for the start */
            announce_end(&running);
            enter_state(IPO_CUPTI_NEVER);
        } else {
            begin_activity();
        }
    } else { /* another thread starts it: wait, so that the caller's next kernel is timed, too */
        ipo_cupti_settle();
    }
    errno = kept;
}

static atomic_bool was_injected; /* loaded by the driver */

/* The driver was loaded: waits until the program has initialised it. */
static void *await_cuda(void *unused_)
{
    (void)unused_;
    leave_pause();
    for (unsigned rounds = 0;
         atomic_load(&ipo_cupti_state) == IPO_CUPTI_OFF && !atomic_load(&stopping) && atomic_load(&ipo_own_runs);
         rounds++) {
        if (cuda_is_up()) {
            if (ipo_cupti_is_injected() && !atomic_load(&was_injected)) /* it will start CUPTI, or never */
                pause_us(GRACE_US);
            ipo_cupti_start(true);
        }
        /* Libraries load the driver in programs that never use it. */
        pause_us(rounds < 500 ? 20000 : 500000);
    }
    return NULL;
}

static atomic_bool expected;
void ipo_cupti_expect(void)
{
    atomic_store(&expected, true);
}

void ipo_cupti_await(void)
{
    static bool awaiting;
    if (!awaiting && atomic_load(&expected) && atomic_load(&ipo_cupti_state) == IPO_CUPTI_OFF)
        awaiting = ipo_own_thread("hpctop gpu", await_cuda, NULL);
}

const char *ipo_cupti_object(void)
{
    return library;
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
    atomic_store(&was_injected, true);
    if (*ipo_armed || *ipo_nccl_armed)
        ipo_cupti_start(true);
    return 1;
}
