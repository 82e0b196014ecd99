/* Finding the real functions.  RTLD_NEXT alone is not enough: Python loads MPI with RTLD_LOCAL, where it finds nothing.
 * So one handle on the object that defines PMPI_Init is kept (multi_mpi.h), and all names come from it. */
#include "interpose/mpi/resolve.h"
#include "interpose/mpi/multi_mpi.h"
#include "interpose/base/elf.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdatomic.h>
#include <string.h>

static const struct ipo_mpi *get_active(void)
{
    return __atomic_load_n(&ipo_active_mpi, __ATOMIC_ACQUIRE);
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

/* A function that an object defines, found without the loader.  *ask: the loader must choose its version. */
static const void *find_defined(const struct ipo_elf *elf, const char *name, bool *ask)
{
    const ElfW(Sym) *symbol = ipo_elf_find(elf, name, 0);
    bool plain = symbol && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
                 !(elf->versions && elf->versions[symbol - elf->symbols] & 0x8000 /* not the default version */);
    *ask |= symbol && !plain;
    return plain ? (const void *)(elf->base + symbol->st_value) : NULL;
}

/* The library's function of this name ("MPI_Send"), past any other tool; NULL: it lacks it. */
static const void *ask_for_own(const struct ipo_mpi *mpi, const char *profiling)
{
    const void *own = dlsym(mpi->handle, profiling);
    if (!own) { /* some libraries lack a few PMPI names */
        own = dlsym(mpi->handle, profiling + 1);
        own = own && ipo_is_ours(own) ? NULL : own;
    }
    return own;
}

/* A second tool's function, loaded behind us and in front of the library: it must see the call, too.  `public`: the
 * library's function of that name. */
static const void *find_next_tool(const struct ipo_mpi *mpi, const char *name, const void *public)
{
    const void *next = dlsym(RTLD_NEXT, name);
    bool other = next && next != public && !ipo_is_ours(next);
    return other && next != dlsym(mpi->handle, name) ? next : NULL;
}

static void find_call(struct ipo_mpi *mpi, const struct ipo_elf *elf, int i, bool ask)
{
    char profiling[80] = "P";
    strcpy(profiling + 1, ipo_calls[i].name);
    const void *public = find_defined(elf, ipo_calls[i].name, &ask), *own = find_defined(elf, profiling, &ask);
    own = own ? own : public ? public : ask ? ask_for_own(mpi, profiling) : NULL;
    const void *tool = own || ask ? find_next_tool(mpi, ipo_calls[i].name, public) : NULL;
    mpi->own[i] = (ipo_function)(uintptr_t)own;
    mpi->real[i] = tool ? (ipo_function)(uintptr_t)tool : mpi->own[i];
}

/* Each question for a name that nothing has costs 10,000 instructions.  An object that has all parts of MPI has all
 * functions that this MPI has. */
void ipo_mpi_find_calls(struct ipo_mpi *mpi)
{
    struct ipo_elf elf;
    ipo_elf_of(mpi->handle, &elf);
    bool whole = ipo_elf_find(&elf, "PMPI_Send", 0) && ipo_elf_find(&elf, "PMPI_Win_create", 0) &&
                 ipo_elf_find(&elf, "PMPI_File_open", 0) && ipo_elf_find(&elf, "PMPI_Type_create_darray", 0);
    for (int i = 0; i < IPO_CALLS; i++)
        find_call(mpi, &elf, i, !whole);
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
        ipo_own[own_calls[i]] = found->own[own_calls[i]];
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
