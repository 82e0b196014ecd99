#include "interpose/base/oldglibc.h"
#include "interpose/core/own.h"
#include "interpose/base/procfs.h"
#include "interpose/core/filter.h"
#include "interpose/core/heartbeat.h"
#include "interpose/core/source.h"
#include "trace/writer/system.h"
#include "trace/format/format.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS   8u
#define END_TRIES 2000u             /* a millisecond each */
#define STACK     ((size_t)4 << 20) /* the user's limit may be a gigabyte of address space */

atomic_bool ipo_own_ending;
static struct own {
    atomic_uint tid; /* 0: free */
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

void ipo_own_prepare(void)
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
    atomic_store(&own->tid, 0);
    return result;
}

static struct own *take_place(void)
{
    for (unsigned i = 0; i < THREADS; i++) {
        unsigned nobody = 0;
        if (atomic_compare_exchange_strong(&threads[i].tid, &nobody, UINT32_MAX))
            return &threads[i];
    }
    return NULL;
}

bool ipo_own_thread(const char *name, void *(*run)(void *), void *argument)
{
    ipo_own_prepare();
    if (ipo_filter_is_there()) /* it would have the filter, too */
        return false;
    struct own *own = calls.create && calls.mask && calls.detached ? take_place() : NULL;
    if (!own)
        return false;
    own->name = name;
    own->run = run;
    own->argument = argument;
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, kept;
    calls.begin_attributes(&attributes);
    calls.detached(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    sigdelset(&all, SIGBUS);              /* our own fault in the mapped file (stacks/guard.h) */
    calls.mask(SIG_SETMASK, &all, &kept); /* the thread inherits the mask */
    calls.stack(&attributes, STACK);
    bool created =
        !calls.create(&thread, &attributes, enter_thread, own) || !calls.create(&thread, NULL, enter_thread, own);
    calls.mask(SIG_SETMASK, &kept, NULL);
    calls.end_attributes(&attributes);
    if (!created)
        atomic_store(&own->tid, 0);
    return created;
}

/* A thread gives its place back before it has left. */
bool ipo_own_end(void)
{
    unsigned tid[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        tid[i] = atomic_load(&threads[i].tid);
    atomic_store(&ipo_own_ending, true);
    IPO_ASK_SOURCES(over);
    ipo_heartbeat_wake();
    for (unsigned i = 0, tries = 0; i < THREADS; i++)
        while (tid[i] && !syscall(SYS_tgkill, getpid(), (int)tid[i], 0)) {
            if (++tries > END_TRIES)
                return false;
            trc_sys_sleep(1000000);
        }
    return true;
}

bool ipo_is_own(uint32_t tid)
{
    for (unsigned i = 0; i < THREADS; i++)
        if (atomic_load(&threads[i].tid) == tid)
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
