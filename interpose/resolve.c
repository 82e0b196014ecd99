/* Finding the real functions.  RTLD_NEXT alone is not enough: Python loads MPI with RTLD_LOCAL, where it finds nothing.
 * So one handle on the object that defines PMPI_Init is kept, and all names come from it. */
#include "interpose/oldglibc.h"
#include "interpose/resolve.h"

#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_OBJECTS 512
#define MAX_NAME    256

static void *library; /* a handle whose scope has MPI; pins it */
static char library_name[1024];
static atomic_int resolving; /* 0 not yet, 1 at it, 2 done */
static atomic_int resolver;  /* thread that is at it */

static char names[MAX_OBJECTS][MAX_NAME];
static unsigned names_n;

static int collect(struct dl_phdr_info *info, size_t size, void *own)
{
    (void)size;
    size_t n = strlen(info->dlpi_name);
    if (n > 0 && strcmp(info->dlpi_name, (const char *)own) != 0 && n < MAX_NAME && names_n < MAX_OBJECTS)
        memcpy(names[names_n++], info->dlpi_name, n + 1);
    return 0;
}

const void *ipo_object_base(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fbase : NULL;
}

static bool is_ours(const void *address)
{
    return ipo_object_base(address) == ipo_object_base((const void *)(uintptr_t)&ipo_resolve_all);
}

/* Keeps `handle` if an MPI other than our wrappers can be reached through it. */
static bool try_handle(void *handle)
{
    if (!handle)
        return false;
    void *init = dlsym(handle, "PMPI_Init");
    if (!init) { /* a stub MPI without a profiling interface */
        init = dlsym(handle, "MPI_Init");
        if (!init || is_ours(init))
            return false;
    }
    Dl_info info;
    if (!dladdr(init, &info) || !info.dli_fname)
        return false;
    /* The defining object itself, not the scope that led to it: its own dependencies come first. */
    void *own = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    library = own ? own : handle;
    strncpy(library_name, info.dli_fname, sizeof library_name - 1);
    return true;
}

static bool find_library(const void *caller)
{
    Dl_info info;
    if (caller && !is_ours(caller) && dladdr(caller, &info) && info.dli_fname &&
        try_handle(dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)))
        return true;
    if (try_handle(RTLD_NEXT))
        return true;
    /* Names first, dlopen afterwards: the loader's lock order forbids it inside the walk. */
    names_n = 0;
    const char *own = dladdr((const void *)(uintptr_t)&ipo_resolve_all, &info) && info.dli_fname ? info.dli_fname : "";
    dl_iterate_phdr(collect, (void *)(uintptr_t)own);
    for (unsigned i = 0; i < names_n; i++)
        if (try_handle(dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD)))
            return true;
    return false;
}

void *ipo_scope_with(const char *name)
{
    names_n = 0;
    dl_iterate_phdr(collect, (void *)(uintptr_t) "");
    for (unsigned i = 0; i < names_n; i++) {
        void *handle = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
        if (handle && dlsym(handle, name))
            return handle;
        if (handle)
            dlclose(handle);
    }
    return NULL;
}

ipo_function ipo_resolve_name(const char *name)
{
    return library ? (ipo_function)(uintptr_t)dlsym(library, name) : NULL;
}

uintptr_t ipo_resolve_data(const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    if (!address && library)
        address = dlsym(library, name);
    return (uintptr_t)address;
}

const char *ipo_mpi_object(void)
{
    return library_name;
}

/* MPI_x of a second tool that is loaded behind us and in front of the library: it must see the call too. */
static void *next_tool(const char *name)
{
    void *next = dlsym(RTLD_NEXT, name);
    return next && next != dlsym(library, name) && !is_ours(next) ? next : NULL;
}

bool ipo_resolve_all(const void *caller)
{
    int fresh = 0;
    if (atomic_load(&resolving) == 2)
        return library != NULL;
    if (!atomic_compare_exchange_strong(&resolving, &fresh, 1)) {
        /* First calls of two threads: wait for the other's walk.  The same thread again: a constructor that dlopen ran.
         */
        while (atomic_load(&resolving) == 1 && atomic_load(&resolver) != (int)syscall(SYS_gettid))
            sched_yield();
        return library != NULL;
    }
    atomic_store(&resolver, (int)syscall(SYS_gettid));
    if (find_library(caller)) {
        for (int i = 0; i < IPO_CALLS; i++) {
            char profiling[80] = "P";
            strncpy(profiling + 1, ipo_calls[i].name, sizeof profiling - 2);
            void *own = dlsym(library, profiling);
            if (!own) { /* some libraries lack a few PMPI names */
                own = dlsym(library, ipo_calls[i].name);
                if (own && is_ours(own))
                    own = NULL;
            }
            ipo_own[i] = (ipo_function)(uintptr_t)own;
            void *next = next_tool(ipo_calls[i].name);
            ipo_real[i] = next ? (ipo_function)(uintptr_t)next : ipo_own[i];
        }
    }
    atomic_store(&resolving, 2);
    return library != NULL;
}

static int absent(void)
{
    return 16; /* MPI_ERR_OTHER in the families we know: some error code */
}

/* Without MPI in the process, a program that asks (it found our name) is told the truth. */
static int absent_flag(int *flag)
{
    *flag = 0;
    return 0;
}

ipo_function ipo_resolved(enum ipo_call_id id)
{
    if (!ipo_real[id])
        ipo_resolve_all(NULL);
    if (ipo_real[id])
        return ipo_real[id];
    return id == IPO_Initialized || id == IPO_Finalized ? (ipo_function)absent_flag : (ipo_function)absent;
}
