/* Finding the real functions.  RTLD_NEXT alone is not enough: Python loads MPI with RTLD_LOCAL, where it finds nothing.
 * So one handle on the object that defines PMPI_Init is kept (multi_mpi.h), and all names come from it. */
#include "interpose/base/oldglibc.h"
#include "interpose/mpi/resolve.h"
#include "interpose/mpi/multi_mpi.h"
#include "interpose/load/objects.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

static const struct ipo_mpi *get_active(void)
{
    return __atomic_load_n(&ipo_active_mpi, __ATOMIC_ACQUIRE);
}

static bool is_ours(const void *address)
{
    return ipo_object_base(address) == ipo_object_base((const void *)(uintptr_t)&ipo_resolve_all);
}

ipo_function ipo_resolve_name(const char *name)
{
    return get_active() ? (ipo_function)(uintptr_t)dlsym(get_active()->handle, name) : NULL;
}

uintptr_t ipo_resolve_data(const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    if (!address && get_active())
        address = dlsym(get_active()->handle, name);
    return (uintptr_t)address;
}

const char *ipo_mpi_object(void)
{
    return get_active() ? get_active()->path : "";
}

ipo_function ipo_mpi_own(const struct ipo_mpi *mpi, const char *name)
{
    char profiling[80] = "P";
    strncpy(profiling + 1, name, sizeof profiling - 2);
    void *own = dlsym(mpi->handle, profiling);
    if (!own) { /* some libraries lack a few PMPI names */
        own = dlsym(mpi->handle, name);
        if (own && is_ours(own))
            own = NULL;
    }
    return (ipo_function)(uintptr_t)own;
}

static const uint16_t own_calls[] = {
#define OWN(name, refuses, guard) IPO_##name,
#include "interpose/mpi/own_calls.def"
#undef OWN
};

bool ipo_resolve_all(const void *caller)
{
    static atomic_flag resolving = ATOMIC_FLAG_INIT;
    if (get_active())
        return true;
    const struct ipo_mpi *found = caller ? ipo_mpi_at((uintptr_t)caller) : NULL;
    if (!found)
        found = ipo_mpi_any();
    if (!found || atomic_flag_test_and_set(&resolving))
        return get_active() != NULL;
    for (int i = 0; i < IPO_CALLS; i++)
        ipo_real[i] = found->real[i];
    for (unsigned i = 0; i < sizeof own_calls / sizeof *own_calls; i++)
        ipo_own[own_calls[i]] = ipo_mpi_own(found, ipo_calls[own_calls[i]].name);
    ipo_mpi_activate(found, (uintptr_t)caller);
    return true;
}

static int return_absent(void)
{
    return 16; /* MPI_ERR_OTHER in the families we know: some error code */
}

/* MPI_Initialized and the like in a process without MPI, for a program that found our exported name. */
static int return_absent_flag(int *flag)
{
    *flag = 0;
    return 0;
}

ipo_function ipo_resolved(enum ipo_call_id id, const void *site)
{
    ipo_function real = NULL;
    if (get_active() && ipo_is_active((uintptr_t)site)) {
        real = ipo_real[id];
    } else {
        const struct ipo_mpi *mpi = ipo_mpi_at((uintptr_t)site);
        mpi = mpi ? mpi : get_active();
        mpi = mpi ? mpi : ipo_mpi_any();
        real = mpi ? mpi->real[id] : NULL;
    }
    if (real)
        return real;
    return id == IPO_Initialized || id == IPO_Finalized ? (ipo_function)return_absent_flag
                                                        : (ipo_function)return_absent;
}
