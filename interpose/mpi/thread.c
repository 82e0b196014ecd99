#include "interpose/mpi/thread.h"
#include "interpose/mpi/describe.h"
#include "interpose/core/source.h"
#include "interpose/core/state.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ipo_thread ipo_thread_none;
__thread struct ipo_thread *ipo_thread_current = &ipo_thread_none;
static __thread bool hopeless;               /* no live page could be had */
static _Atomic(struct ipo_thread *) threads; /* never shrinks: a page of a dead thread is taken over by a new one */

static void *map_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Whether a thread has died, by its tid.  A destructor would need newer glibc symbols, and may run at any point of the
 * thread's end. */
static bool is_dead(uint32_t tid)
{
    return syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH;
}

/* Assigns the state of a dead thread to the calling one, unless another thread is faster. */
static bool adopt(struct ipo_thread *thread, uint32_t tid, uint32_t mine)
{
    if (!__atomic_compare_exchange_n(&thread->tid, &tid, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return false;
    IPO_ASK_SOURCES(thread_left, thread); /* it may have died inside a call */
    thread->outer = thread->nccl = NULL;
    thread->nccl_depth = 0;
    thread->stream.page->thread.inside = 0;
    thread->stream.page->thread.tid = mine;
    return true;
}

#define LOOKS 64u /* threads that a new one looks at, in turn, for a dead one */
#define FEW   4u  /* threads to look at if none was dead at the last look at each */
static atomic_uint known, alive_in_a_row;
static _Atomic(struct ipo_thread *) next_look;

static struct ipo_thread *find_dead(uint32_t mine)
{
    struct ipo_thread *same = (struct ipo_thread *)ipo_thread_of(mine);
    if (same && adopt(same, mine, mine))
        return same;
    const uint32_t all = atomic_load(&known), most = atomic_load(&alive_in_a_row) < all ? LOOKS : FEW;
    for (uint32_t looks = 0; looks < all && looks < most; looks++) {
        struct ipo_thread *thread = atomic_load(&next_look);
        thread = thread ? thread : atomic_load(&threads);
        atomic_store(&next_look, thread->next);
        const uint32_t tid = __atomic_load_n(&thread->tid, __ATOMIC_RELAXED);
        if (!is_dead(tid)) {
            atomic_fetch_add(&alive_in_a_row, 1);
        } else if (adopt(thread, tid, mine)) {
            atomic_store(&alive_in_a_row, 0);
            return thread;
        }
    }
    return NULL;
}

static struct ipo_thread *open_thread(void)
{
    struct trc_writer *writer = &ipo_process.writer;
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    struct ipo_thread *thread = find_dead(tid);
    if (thread)
        return thread;
    thread = map_memory(sizeof *thread);
    if (!thread)
        return NULL;
    thread->tid = tid;
    thread->shared[0] = thread->shared_start;
    thread->statuses = (char *)thread->status;
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    name[15] = 0;
    if (!trc_stream_open(&thread->stream, writer, tid, name)) {
        __atomic_fetch_add(&writer->head->threads_not_kept, 1, __ATOMIC_RELAXED);
        munmap(thread, sizeof *thread);
        return NULL;
    }
    thread->next = atomic_load(&threads);
    while (!atomic_compare_exchange_weak(&threads, &thread->next, thread))
        ;
    atomic_fetch_add(&known, 1);
    return thread;
}

struct ipo_thread *ipo_thread_open(void)
{
    if (hopeless)
        return NULL;
    int kept = errno;
    struct ipo_thread *thread = open_thread();
    hopeless = !thread;
    if (thread) {
        IPO_ASK_SOURCES(on_thread, thread);
        ipo_thread_current = thread;
    }
    errno = kept;
    return thread;
}

__attribute__((cold)) void ipo_thread_moved(void)
{
    ipo_process_disarm();
    trc_writer_stop(
        &ipo_process.writer,
        "a call of MPI ended on another thread than it began on: user-level threads that move between threads "
        "are not recorded");
}

struct ipo_thread *ipo_threads(void)
{
    return atomic_load(&threads);
}

const struct ipo_thread *ipo_thread_first(void)
{
    return atomic_load(&threads);
}

const struct ipo_thread *ipo_thread_of(uint32_t tid)
{
    const struct ipo_thread *thread = atomic_load(&threads);
    while (thread && __atomic_load_n(&thread->tid, __ATOMIC_RELAXED) != tid)
        thread = thread->next;
    return thread;
}

void ipo_threads_forget(void)
{
    ipo_cache_forget();
    for (struct ipo_thread *thread = atomic_load(&threads); thread; thread = thread->next)
        for (unsigned i = 0; i < IPO_RECENT; i++)
            __atomic_store_n(&thread->recent[i].path, NULL, __ATOMIC_RELAXED);
}

bool ipo_thread_scratch_slow(struct ipo_thread *thread, uint32_t n)
{
    int kept = errno;
    uint32_t room = 1024;
    while (room < n && room < (1u << 30))
        room *= 2;
    uintptr_t *requests = map_memory(room * sizeof *requests);
    struct ipo_request **entries = map_memory(room * sizeof *entries);
    char *statuses = map_memory((size_t)room * 32); /* the largest status of the three families */
    if (!requests || !entries || !statuses) {
        errno = kept;
        return false; /* memory is short; the mapped pages stay: a few */
    }
    if (thread->scratch) {
        munmap(thread->requests, thread->scratch * sizeof *requests);
        munmap(thread->entries, thread->scratch * sizeof *entries);
        munmap(thread->statuses, (size_t)thread->scratch * 32);
    }
    thread->requests = requests;
    thread->entries = entries;
    thread->statuses = statuses;
    thread->scratch = room;
    errno = kept;
    return true;
}
