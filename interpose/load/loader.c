/* No function takes the loader's lock for a caller.  But dlsym searches names under it, and for an indirect function
 * (STT_GNU_IFUNC) it calls the function that chooses the version.  Ours is such a function, and does the work there. */
#include "interpose/load/loader.h"
#include "interpose/base/bind.h"
#include "interpose/core/state.h"
#include "trace/writer/system.h"

#include <dlfcn.h>

/* Volatile: the headers declare dlsym a leaf, which calls nothing of this file. */
static __thread struct job {
    void (*what)(void *);
    void *with;
} *volatile job;

static void do_nothing(void) {}

__attribute__((used)) static void (*run_as_chooser(void))(void)
{
    struct job *mine = job;
    job = NULL;
    if (mine)
        mine->what(mine->with);
    return do_nothing;
}
__attribute__((visibility("default"), ifunc("run_as_chooser"))) void hpctop_quiet(void);

static void *open_own(void)
{
    static _Atomic(void *) handle;
    Dl_info info;
    void *known = atomic_load(&handle);
    if (!known && dladdr((const void *)(uintptr_t)&ipo_loader_run, &info) && info.dli_fname)
        atomic_store(&handle, known = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD));
    return known;
}

void ipo_loader_run(void (*what)(void *), void *with)
{
    ipo_bind();
    struct job mine = {what, with}, *before = job;
    void *handle = open_own();
    job = &mine;
    if (handle)
        dlsym(handle, "hpctop_quiet");
    if (job == &mine) /* another libc, without indirect functions */
        what(with);
    job = before;
}

/* ---- walks and forks ------------------------------------------------------------------------------------------------
 */

#define PATIENT 1000 /* milliseconds */

static atomic_int walks, forks;

static void wait_for_none(atomic_int *count)
{
    for (int tries = 0; atomic_load(count) > 0 && tries < PATIENT; tries++)
        trc_sys_sleep(1000000);
}

int ipo_loader_walk(int (*look)(struct dl_phdr_info *, size_t, void *), void *with)
{
    for (bool waited = false; atomic_fetch_add(&walks, 1), !waited && atomic_load(&forks); waited = true) {
        atomic_fetch_sub(&walks, 1);
        wait_for_none(&forks);
    }
    int result = dl_iterate_phdr(look, with);
    atomic_fetch_sub(&walks, 1);
    return result;
}

static void wait_before_fork(void)
{
    int kept = errno;
    atomic_fetch_add(&forks, 1);
    wait_for_none(&walks);
    errno = kept;
}
static void resume_in_parent(void)
{
    atomic_fetch_sub(&forks, 1);
}
static void reset_in_child(void)
{
    atomic_store(&walks, 0);
    atomic_store(&forks, 0);
}

void ipo_loader_start(void)
{
    ipo_at_fork(wait_before_fork, resume_in_parent, reset_in_child);
}
