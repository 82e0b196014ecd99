#include "interpose/cuda/events.h"
#include "interpose/cuda/cuda.h"
#include "interpose/core/facts.h"
#include "interpose/core/state.h"
#include "interpose/core/own.h"
#include "trace/writer/system.h"

#include <limits.h>

#define SLOT(op)    ((uint32_t)((op) & (TRC_GPU_OPS - 1)))
#define CONTEXTS    16u
#define QUEUE       (4 * TRC_GPU_OPS)
#define BUSY_NS     5000000  /* between two rounds of queries while a launch is under way */
#define IDLE_NS     50000000 /* otherwise, when only memory is read */
#define STREAMS     64u      /* streams whose first launch under way is queried */
#define PATIENCE_NS 100000000

/* Launches by slot of their first operation. */
static struct launch {
    uintptr_t stream, context;
    struct pair *events;
    _Atomic uint64_t deferred; /* the operation, until its second event is recorded */
} launches[TRC_GPU_OPS];

/* The operations of a launch form a chain.  If `op` differs, the entry belongs to another operation now. */
static struct link {
    ipo_gpu_op op, next, last; /* last: of the chain, in its first entry */
} links[TRC_GPU_OPS];

static struct pair {
    _Atomic uintptr_t start, stop; /* 0: not made yet, or gone with its context */
} pairs[CONTEXTS][TRC_GPU_OPS];
static _Atomic uintptr_t contexts[CONTEXTS];
static _Atomic uint64_t context_ids[CONTEXTS]; /* the driver's, unique for ever; 0: it has none (before CUDA 12) */
#define CLEARING UINT64_MAX                    /* pairs are being dropped: none may be made meanwhile */

static const struct ipo_cuda *_Atomic driver;

/* Launches for the watching thread.  `put` hands out places; a place that is filled holds an operation. */
static _Atomic uint64_t queue[QUEUE];
static atomic_uint queue_put, queue_result;

/* The place of a context in `contexts`, which is entered if it is new; CONTEXTS: no room. */
static unsigned find_context(uintptr_t context)
{
    for (unsigned i = 0; i < CONTEXTS; i++) {
        uintptr_t there = atomic_load_explicit(&contexts[i], memory_order_relaxed);
        if (there == 0 && atomic_compare_exchange_strong(&contexts[i], &there, context))
            there = context;
        if (there == context)
            return i;
    }
    return CONTEXTS;
}

/* A context may have the address of one that was reset: then the events of the old one are dropped. */
static void check_context(const struct ipo_cuda *cuda, uintptr_t context)
{
    unsigned long long id = 0;
    if (!cuda->cuCtxGetId || cuda->cuCtxGetId(context, &id))
        return;
    unsigned i = find_context(context);
    uint64_t before = i < CONTEXTS ? atomic_load(&context_ids[i]) : id;
    if (before == id || before == CLEARING)
        return;
    if (!atomic_compare_exchange_strong(&context_ids[i], &before, before ? CLEARING : id) || !before)
        return; /* another thread does it, or no context was here before */
    for (unsigned k = 0; k < TRC_GPU_OPS; k++) {
        atomic_store(&pairs[i][k].start, 0); /* address may be an event of the program now */
        atomic_store(&pairs[i][k].stop, 0);
    }
    atomic_store(&context_ids[i], id);
}

uintptr_t ipo_cuda_context(void)
{
    const struct ipo_cuda *cuda = ipo_cuda();
    uintptr_t context = 0;
    if (!cuda || cuda->cuCtxGetCurrent(&context) || !context)
        return 0;
    check_context(cuda, context);
    return context;
}

/* ---- launches */

/* The events of a context and a slot; NULL: no room, or they are being dropped. */
static struct pair *find_pair(uintptr_t context, uint32_t slot)
{
    unsigned i = find_context(context);
    return i < CONTEXTS && atomic_load(&context_ids[i]) != CLEARING ? &pairs[i][slot] : NULL;
}

static __attribute__((noinline, cold)) bool make_pair(const struct ipo_cuda *cuda, struct pair *pair)
{
    uintptr_t start, stop;
    if (cuda->cuEventCreate(&start, IPO_CUDA_DISABLE_TIMING) || cuda->cuEventCreate(&stop, IPO_CUDA_DISABLE_TIMING))
        return false;
    atomic_store(&pair->start, start);
    atomic_store(&pair->stop, stop);
    return true;
}

/* Whether a result means that the handle's context was destroyed. */
static bool is_context_gone(int result)
{
    return result == IPO_CUDA_INVALID_HANDLE || result == IPO_CUDA_INVALID_CONTEXT ||
           result == IPO_CUDA_CONTEXT_IS_DESTROYED;
}

/* Makes `context` current, if it is not.  *pushed: leave_context must pop it. */
static bool enter_context(const struct ipo_cuda *cuda, uintptr_t context, bool *pushed)
{
    uintptr_t current = 0;
    *pushed = false;
    if (cuda->cuCtxGetCurrent(&current))
        return false;
    if (current == context)
        return true;
    *pushed = !cuda->cuCtxPushCurrent(context);
    return *pushed;
}

static void leave_context(const struct ipo_cuda *cuda, bool pushed)
{
    uintptr_t was;
    if (pushed)
        cuda->cuCtxPopCurrent(&was);
}

enum ipo_launch ipo_cuda_launch_begin(ipo_gpu_op op, uintptr_t stream, uintptr_t home)
{
    const struct ipo_cuda *cuda = atomic_load_explicit(&driver, memory_order_acquire);
    struct launch *launch = &launches[SLOT(op)];
    uintptr_t context = home;
    int capturing = 0;
    bool pushed, special = stream <= 2;
    if (!cuda || op == 0)
        return IPO_LAUNCH_BLIND;
    /* The null stream may not even be asked while somebody captures globally: an error then, and nothing is recorded.
     */
    if (cuda->cuStreamIsCapturing(stream, &capturing))
        return IPO_LAUNCH_BLIND;
    if (capturing)
        return IPO_LAUNCH_CAPTURED;
    if ((!special && cuda->cuStreamGetCtx(stream, &context)) || !context)
        return IPO_LAUNCH_BLIND;
    if (context != home) /* not checked when the communicator was made */
        check_context(cuda, context);
    struct pair *pair = find_pair(context, SLOT(op));
    if (!pair || !enter_context(cuda, context, &pushed))
        return IPO_LAUNCH_BLIND;
    bool good = __builtin_expect(pair->stop != 0, 1) || make_pair(cuda, pair);
    int result = good ? cuda->cuEventRecord(pair->start, stream) : 0;
    if (__builtin_expect(result != 0, 0)) /* the event was made before its context was reset: once more */
        good = is_context_gone(result) && make_pair(cuda, pair) && !cuda->cuEventRecord(pair->start, stream);
    leave_context(cuda, pushed);
    launch->stream = stream;
    launch->context = context;
    launch->events = pair;
    links[SLOT(op)] = (struct link){op, 0, op};
    return good ? IPO_LAUNCH_OPEN : IPO_LAUNCH_BLIND;
}

void ipo_cuda_launch_add(ipo_gpu_op first, ipo_gpu_op op)
{
    links[SLOT(op)] = (struct link){op, 0, 0};
    links[SLOT(links[SLOT(first)].last)].next = op;
    links[SLOT(first)].last = op;
}

/* Sets a state of all operations of a launch. */
static void set_all(ipo_gpu_op first, void (*what)(ipo_gpu_op, uint64_t, uint8_t), uint64_t ticks, uint8_t how)
{
    for (ipo_gpu_op op = first; op && links[SLOT(op)].op == op;) {
        ipo_gpu_op next = links[SLOT(op)].next; /* before the slot may go to another */
        what(op, ticks, how);
        op = next;
    }
}

static bool queue_launch(ipo_gpu_op first)
{
    unsigned at = atomic_load(&queue_put);
    do {
        if (at - atomic_load(&queue_result) >= QUEUE)
            return false;
    } while (!atomic_compare_exchange_weak(&queue_put, &at, at + 1));
    atomic_store_explicit(&queue[at % QUEUE], first, memory_order_release);
    return true;
}

void ipo_cuda_launch_end(ipo_gpu_op first, uint8_t how)
{
    const struct ipo_cuda *cuda = atomic_load_explicit(&driver, memory_order_acquire);
    const struct launch *launch = &launches[SLOT(first)];
    bool pushed = false, good = false;
    if (cuda) { /* events may have been given up since the launch began */
        good =
            enter_context(cuda, launch->context, &pushed) && !cuda->cuEventRecord(launch->events->stop, launch->stream);
        leave_context(cuda, pushed);
    }
    set_all(first, ipo_gpu_op_enqueued, 0, how | (good ? TRC_GPU_BY_EVENTS : TRC_GPU_BLIND));
    if (good && !queue_launch(first))
        set_all(first, ipo_gpu_op_enqueued, 0, TRC_GPU_BLIND);
}

void ipo_cuda_launch_defer(ipo_gpu_op first, _Atomic uint64_t *deferred)
{
    atomic_store(&launches[SLOT(first)].deferred, first);
    atomic_store(deferred, 1);
}

/* The thread that takes an operation out of its place ends its launch.  If the slot has another operation now, the
 * launch was aborted. */
void ipo_cuda_launch_settle(uint32_t comm, _Atomic uint64_t *deferred)
{
    if (__builtin_expect(atomic_load_explicit(deferred, memory_order_relaxed) == 0, 1))
        return;
    atomic_store(deferred, 0);
    for (unsigned i = 0; i < TRC_GPU_OPS; i++) {
        uint64_t first = atomic_load(&launches[i].deferred);
        const struct trc_gpu_op *slot = first ? ipo_gpu_op_of(first) : NULL;
        bool ours = !slot || __atomic_load_n(&slot->comm, __ATOMIC_RELAXED) == comm;
        if (first && ours && atomic_compare_exchange_strong(&launches[i].deferred, &first, 0) && slot)
            ipo_cuda_launch_end(first, TRC_GPU_APPROXIMATE);
    }
}

/* ---- the thread that asks */

static atomic_int stopping, ended, refused; /* refused: the driver does not work any more */

/* Queries one event.  The table has the time at which the query began, in case it never returns. */
#define PAST (-1) /* the state will never be known */
static int query_event(const struct ipo_cuda *cuda, uintptr_t event)
{
    if (!event)
        return PAST;
    struct trc_gpu_head *head = &ipo_gpu_table->head;
    __atomic_store_n(&head->inside_since, ipo_ticks(), __ATOMIC_RELEASE);
    int result = cuda->cuEventQuery(event);
    __atomic_store_n(&head->inside_since, 0, __ATOMIC_RELEASE);
    bool other = result != IPO_CUDA_SUCCESS && result != IPO_CUDA_NOT_READY &&
                 !(result >= IPO_CUDA_CAPTURE_FIRST && result <= IPO_CUDA_CAPTURE_LAST);
    if (!other)
        return result == IPO_CUDA_SUCCESS ? IPO_CUDA_SUCCESS : IPO_CUDA_NOT_READY;
    if (is_context_gone(result))
        return PAST;
    /* Driver ends first at the end of the process: this is no error. */
    head->error = result == IPO_CUDA_DEINITIALIZED ? 0 : result;
    __atomic_store_n(&head->watch, TRC_GPU_WATCH_STOPPED, __ATOMIC_RELEASE);
    atomic_store(&driver, NULL);
    atomic_store(&refused, 1);
    return result;
}

/* Launches under way, in order. */
static uint64_t under_way[2 * TRC_GPU_OPS];
static size_t under_way_n;

static void add_new(void)
{
    unsigned at = atomic_load(&queue_result);
    while (at != atomic_load(&queue_put) && under_way_n < sizeof under_way / sizeof *under_way) {
        uint64_t first = atomic_exchange(&queue[at % QUEUE], 0);
        if (!first)
            return; /* the place is handed out and not filled yet */
        under_way[under_way_n++] = first;
        atomic_store(&queue_result, ++at);
    }
}

static void lose_operation(ipo_gpu_op op, uint64_t ticks, uint8_t how)
{
    (void)ticks, (void)how;
    ipo_gpu_op_lost(op);
}

/* Whether the table has its end, or says that it will never be known. */
static bool is_settled(ipo_gpu_op op)
{
    const struct trc_gpu_op *slot = ipo_gpu_op_of(op);
    return !slot || __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) >= TRC_GPU_COMPLETED ||
           __atomic_load_n(&slot->flags, __ATOMIC_RELAXED) & TRC_GPU_BLIND;
}

/* Sets the end of all operations of a launch, of the first one last: while that one has no end the launch is queried
 * again.  False: another thread held an operation for too long, so it must be set again. */
static bool set_end(ipo_gpu_op first, void (*what)(ipo_gpu_op, uint64_t, uint8_t))
{
    bool all = true;
    for (ipo_gpu_op op = links[SLOT(first)].next, next; op && links[SLOT(op)].op == op; op = next) {
        next = links[SLOT(op)].next; /* before the slot may go to another */
        what(op, 0, TRC_GPU_BY_EVENTS);
        all = is_settled(op) && all;
    }
    if (all)
        what(first, 0, TRC_GPU_BY_EVENTS);
    return all && is_settled(first);
}

/* Queries a launch and sets its state.  True: it is over. */
static bool query_launch(const struct ipo_cuda *cuda, ipo_gpu_op first)
{
    const struct trc_gpu_op *slot = ipo_gpu_op_of(first);
    const struct launch *launch = &launches[SLOT(first)];
    uint8_t state = slot ? __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) : TRC_GPU_ABORTED;
    if (state >= TRC_GPU_COMPLETED)
        return true;
    int result = state < TRC_GPU_STARTED ? query_event(cuda, launch->events->start) : IPO_CUDA_SUCCESS;
    if (result == IPO_CUDA_SUCCESS && state < TRC_GPU_STARTED)
        set_all(first, ipo_gpu_op_started, 0, TRC_GPU_BY_EVENTS);
    if (result == IPO_CUDA_SUCCESS)
        result = query_event(cuda, launch->events->stop);
    if (result == IPO_CUDA_SUCCESS)
        return set_end(first, ipo_gpu_op_completed);
    return result == PAST && set_end(first, lose_operation);
}

/* Queries of each stream only the first launch that is not over. */
static void query_all(const struct ipo_cuda *cuda)
{
    uintptr_t waiting[STREAMS];
    size_t streams = 0, kept = 0;
    for (size_t i = 0; i < under_way_n; i++) {
        uintptr_t stream = launches[SLOT(under_way[i])].stream;
        bool behind = false;
        for (size_t k = 0; k < streams && !behind; k++)
            behind = waiting[k] == stream;
        if (!behind && !atomic_load(&refused) && query_launch(cuda, under_way[i]))
            continue;
        if (!behind && streams < STREAMS && stream > 2)
            waiting[streams++] = stream;
        under_way[kept++] = under_way[i];
    }
    under_way_n = kept;
}

static void *run_watch(void *of)
{
    const struct ipo_cuda *cuda = of;
    atomic_store(&ended, 0);
    int mode = IPO_CUDA_CAPTURE_RELAXED;
    /* Else a query would invalidate a capture of the program. */
    if (cuda->cuThreadExchangeStreamCaptureMode)
        cuda->cuThreadExchangeStreamCaptureMode(&mode);
    struct trc_gpu_head *head = &ipo_gpu_table->head;
    for (bool last = false; !last && !atomic_load(&refused);) {
        last = atomic_load(&stopping) || !atomic_load(&ipo_own_runs);
        add_new();
        if (under_way_n)
            query_all(cuda);
        __atomic_store_n(&head->round_ticks, ipo_ticks(), __ATOMIC_RELAXED);
        __atomic_store_n(&head->rounds, head->rounds + 1, __ATOMIC_RELAXED);
        ipo_own_pause(under_way_n ? BUSY_NS : IDLE_NS);
    }
    atomic_store(&ended, 1);
    return NULL;
}

/* Stops at exit.  The driver's own handlers, which were registered before ours, take the driver down afterwards.  No
 * thread should be inside the driver then.  Queries once more before.  Nothing relies on this. */
static void stop_at_exit(void *unused)
{
    (void)unused;
    if (ipo_process.writer.head->pid != (uint32_t)getpid())
        return; /* a child of the traced process */
    atomic_store(&stopping, 1);
    trc_sys_wake(&ipo_own_runs, INT_MAX);
    for (int i = 0; i < 100 && !atomic_load(&ended); i++)
        trc_sys_sleep(PATIENCE_NS / 100);
}
int __cxa_atexit(void (*function)(void *), void *argument, void *dso);

void ipo_cuda_watch_start(void)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    const struct ipo_cuda *cuda = ipo_gpu_table ? ipo_cuda() : NULL;
    if (ipo_gpu_table && !cuda)
        ipo_fact("nccl.states", "known up to enqueued: no CUDA driver in the process");
    if (!cuda || atomic_flag_test_and_set(&begun))
        return;
    if (!ipo_own_thread("hpctop-gpu", run_watch, (void *)(uintptr_t)cuda))
        return;
    __cxa_atexit(stop_at_exit, NULL, NULL);
    ipo_gpu_table->head.watch = TRC_GPU_WATCH_EVENTS;
    atomic_store_explicit(&driver, cuda, memory_order_release);
    ipo_fact("nccl.states", "by events of the CUDA driver");
}
