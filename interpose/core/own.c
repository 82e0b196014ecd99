#include "interpose/core/own.h"
#include "interpose/base/procfs.h"
#include "interpose/core/filter.h"
#include "interpose/core/heartbeat.h"
#include "interpose/core/source.h"
#include "trace/writer/now.h"
#include "trace/writer/system.h"
#include "trace/format/format.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS     8u
#define PATIENCE_NS 500000000         /* a disk that hangs must not hang the program */
#define LOOK_NS     50000             /* between looks at threads that end */
#define STACK       ((size_t)4 << 20) /* the user's limit may be a gigabyte of address space */

atomic_int ipo_own_runs;
enum { FREE, FILLING, WANTED, STARTED };
static struct own {
    atomic_int state;
    atomic_uint tid; /* Linux thread; 0: it has not run yet */
    const char *name;
    void *(*run)(void *);
    void *argument;
} threads[THREADS];

/* Found by name at run time: they moved from libpthread to libc in glibc 2.34, and an MPI program has them loaded.  The
 * program's own are taken, since another tool must know of every thread it meets. */
static struct {
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*mask)(int, const sigset_t *, sigset_t *);
    int (*begin_attributes)(pthread_attr_t *);
    int (*end_attributes)(pthread_attr_t *);
    int (*stack)(pthread_attr_t *, size_t);
    int (*detached)(pthread_attr_t *, int);
} calls;

static void find_calls(void)
{
    static const char *const names[] = {
        "pthread_create",       "pthread_sigmask",           "pthread_attr_init",
        "pthread_attr_destroy", "pthread_attr_setstacksize", "pthread_attr_setdetachstate"};
    for (unsigned i = 0; !calls.detached && i < sizeof names / sizeof *names; i++)
        ((void **)(void *)&calls)[i] = dlsym(RTLD_DEFAULT, names[i]);
}

static void *enter_thread(void *at)
{
    struct own *own = at;
    trc_is_own = true;
    atomic_store(&own->tid, (unsigned)syscall(SYS_gettid));
    prctl(PR_SET_NAME, own->name);
    void *result = own->run(own->argument);
    atomic_store(&own->state, atomic_load(&ipo_own_runs) ? FREE : WANTED);
    return result;
}

static bool create_thread(struct own *own)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, kept;
    if (!calls.create || !calls.mask || !calls.detached || ipo_filter_is_there()) /* it would have the filter, too */
        return false;
    calls.begin_attributes(&attributes);
    calls.detached(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    sigdelset(&all, SIGBUS);              /* our own fault in the mapped file (stacks/guard.c) */
    calls.mask(SIG_SETMASK, &all, &kept); /* the thread inherits the mask */
    calls.stack(&attributes, STACK);
    bool created =
        !calls.create(&thread, &attributes, enter_thread, own) || !calls.create(&thread, NULL, enter_thread, own);
    calls.mask(SIG_SETMASK, &kept, NULL);
    calls.end_attributes(&attributes);
    return created;
}

/* False: it could not be created, and is not wanted any more. */
static bool start_wanted(struct own *own)
{
    int wanted = WANTED;
    if (!atomic_load(&ipo_own_runs) || !atomic_compare_exchange_strong(&own->state, &wanted, STARTED))
        return true;
    atomic_store(&own->tid, 0);
    if (create_thread(own))
        return true;
    atomic_store(&own->state, FREE);
    return false;
}

bool ipo_own_thread(const char *name, void *(*run)(void *), void *argument)
{
    for (struct own *own = threads; own < threads + THREADS; own++) {
        int nobody = FREE;
        if (!atomic_compare_exchange_strong(&own->state, &nobody, FILLING))
            continue;
        own->name = name;
        own->run = run;
        own->argument = argument;
        atomic_store(&own->state, WANTED);
        return start_wanted(own);
    }
    return false;
}

void ipo_own_start(void)
{
    find_calls();
    atomic_store(&ipo_own_runs, 1);
    for (unsigned i = 0; i < THREADS; i++)
        start_wanted(&threads[i]);
}

void ipo_own_leave(void)
{
    atomic_store(&ipo_own_runs, 0);
    trc_sys_wake(&ipo_own_runs, INT_MAX);
    IPO_ASK_SOURCES(over);
    ipo_heartbeat_wake();
}

void ipo_own_pause(uint64_t ns)
{
    trc_sys_wait(&ipo_own_runs, 1, ns);
}

/* A thread announces its end before it has left. */
static bool is_there(const struct own *own)
{
    unsigned tid = atomic_load(&own->tid);
    return tid ? !syscall(SYS_tgkill, getpid(), (int)tid, 0) : atomic_load(&own->state) == STARTED;
}

bool ipo_own_end(void)
{
    uint64_t until = trc_now_ns() + PATIENCE_NS;
    ipo_own_leave();
    for (unsigned i = 0; i < THREADS; i++)
        while (!trc_is_own && is_there(&threads[i])) { /* the last of a process leaves it by exit() */
            if (trc_now_ns() > until)
                return false;
            trc_sys_sleep(LOOK_NS);
        }
    return true;
}

bool ipo_is_own(uint32_t tid)
{
    for (unsigned i = 0; i < THREADS; i++)
        if (atomic_load(&threads[i].tid) == tid && atomic_load(&threads[i].state) == STARTED)
            return true;
    return false;
}

/* A main thread that has left stays as a zombie while the process goes on.  Only a thread of the program can start
 * another one, so when none is left none will come. */
bool ipo_own_alone(void)
{
    uint32_t main_thread = (uint32_t)getpid(), tid[THREADS + 2];
    unsigned all, count;
    if (ipo_task_state(main_thread) != 'Z')
        return false;
    count = ipo_tasks(tid, THREADS + 2, &all);
    for (unsigned i = 0; i < count; i++)
        if (tid[i] != main_thread && !ipo_is_own(tid[i]))
            return false;
    return count > 0 && all == count;
}
