#include "interpose/mpi/multi_mpi.h"
#include "interpose/core/facts.h"
#include "interpose/core/state.h"
#include "interpose/base/elf.h"
#include "interpose/load/objects.h"
#include "interpose/mpi/resolve.h"
#include "interpose/load/loader.h"
#include "interpose/load/loads.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#define MAX_MPIS   4u
#define MAX_PLACES 256u

struct ipo_range ipo_active_range;
const struct ipo_mpi *ipo_active_mpi;

static struct ipo_mpi mpis[MAX_MPIS];
static atomic_uint mpis_n;

/* The library whose functions the program has from dlsym: NULL, none. */
static const struct ipo_mpi *_Atomic named;

/* The objects that have called so far, and the MPI that each reaches; only grows. */
static struct place {
    struct ipo_range range;
    const struct ipo_mpi *mpi; /* NULL: nothing in its scope, so the active one */
} places[MAX_PLACES];
static atomic_uint places_n;

/* The library that this function is in. */
static const struct ipo_mpi *add_library(void *init, void *scope)
{
    Dl_info info;
    if (!init || ipo_is_ours(init) || !dladdr(init, &info) || !info.dli_fname)
        return NULL;
    unsigned n = atomic_load(&mpis_n);
    for (unsigned i = 0; i < n; i++)
        if ((uintptr_t)init - mpis[i].range.base < mpis[i].range.size)
            return &mpis[i];
    if (n == MAX_MPIS)
        return NULL;
    struct ipo_mpi *mpi = &mpis[n];
    /* A handle of the defining object itself: in its scope its own dependencies come first. */
    void *own = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    mpi->handle = own ? own : scope;
    mpi->range = ipo_object_range((uintptr_t)init);
    strncpy(mpi->path, info.dli_fname, sizeof mpi->path - 1);
    ipo_mpi_find_calls(mpi);
    atomic_store(&mpis_n, n + 1);
    return mpi;
}

/* Some MPI libraries have no profiling interface. */
static const struct ipo_mpi *find_in_scope(void *scope)
{
    void *init = dlsym(scope, "PMPI_Init");
    return add_library(init ? init : dlsym(scope, "MPI_Init"), scope);
}

/* The library in the global scope behind us, which all objects reach. */
static const struct ipo_mpi *find_global(void)
{
    return add_library(dlsym(RTLD_NEXT, "PMPI_Init"), RTLD_NEXT);
}

static const struct ipo_mpi *find_reached(const void *address)
{
    const struct ipo_mpi *found = find_global();
    Dl_info info;
    if (found || ipo_is_ours(address) || !dladdr(address, &info) || !info.dli_fname)
        return found;
    void *scope = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    found = scope ? find_in_scope(scope) : NULL;
    if (scope && (!found || found->handle != scope))
        dlclose(scope); /* the handle is not needed any more */
    return found;
}

static const struct place *add_place(uintptr_t address)
{
    unsigned n = atomic_load(&places_n);
    if (n == MAX_PLACES)
        return NULL;
    places[n] = (struct place){ipo_object_range(address), find_reached((const void *)address)};
    atomic_store(&places_n, n + 1);
    if (n + 1 == MAX_PLACES && ipo_process.writer.head)
        ipo_fact("mpi.callers", "more objects call MPI than are told apart: calls of the rest count as this library's");
    return &places[n];
}

/* Code in whose scope there is no library (a program that loads one with RTLD_LOCAL, libffi, compiled at run time)
 * calls what dlsym has returned. */
static const struct ipo_mpi *get_library(const struct place *place)
{
    return place && place->mpi ? place->mpi : atomic_load(&named);
}

static const struct place *find_place(uintptr_t address)
{
    unsigned n = atomic_load(&places_n);
    for (unsigned i = 0; i < n; i++)
        if (address - places[i].range.base < places[i].range.size)
            return &places[i];
    return NULL;
}

/* Names each other library in the trace, once. */
static void write_others(void)
{
    static unsigned told;
    const struct ipo_mpi *mpi;
    for (; ipo_process.writer.head && ipo_active_mpi && (mpi = ipo_mpi_other(told)); told++)
        ipo_fact("mpi.other", mpi->path);
}

static void place_address(uintptr_t address)
{
    if (!find_place(address)) /* another thread may have done it meanwhile */
        add_place(address);
    write_others();
}
static void place_caller(void *address)
{
    place_address(*(uintptr_t *)address);
}

/* For the first call from an object the loader is asked, by our thread: an object that is being loaded may wait for
 * this very call.  If our thread cannot answer, it is the only library there is; among several the call itself asks. */
const struct ipo_mpi *ipo_mpi_at(uintptr_t address)
{
    const struct place *place = find_place(address);
    int kept = errno;
    if (!place && atomic_load(&places_n) == MAX_PLACES)
        return atomic_load(&named);
    if (!place && (!*ipo_armed || (!ipo_loads_ask(place_address, address) && atomic_load(&mpis_n) > 1)))
        ipo_loader_run(place_caller, &address);
    errno = kept;
    return get_library(place ? place : find_place(address));
}

struct lookup {
    void *scope;
    uintptr_t found, caller;
    bool ours;
};

static void look_up(void *with)
{
    struct lookup *lookup = with;
    const struct ipo_mpi *mpi = add_library(dlsym(lookup->scope, "PMPI_Init"), lookup->scope), *known = named;
    if (!mpi || lookup->found - mpi->range.base >= mpi->range.size || (known && known != mpi) ||
        (ipo_active_mpi && ipo_active_mpi != mpi))
        return;
    place_address(lookup->caller);
    const struct place *place = find_place(lookup->caller);
    lookup->ours = !place || !place->mpi || place->mpi == mpi;
    if (lookup->ours)
        atomic_store(&named, mpi);
}

bool ipo_mpi_looked_up(void *scope, const void *found, const void *caller)
{
    struct lookup lookup = {scope, (uintptr_t)found, (uintptr_t)caller, false};
    ipo_loader_run(look_up, &lookup);
    return lookup.ours;
}

static struct ipo_object_names names; /* filled under the loader's lock */

static void find_any(void *out)
{
    const struct ipo_mpi *found = find_global();
    ipo_objects_list(&names, 0);
    for (unsigned i = 0; i < names.n && !found; i++) {
        void *scope = dlopen(names.name[i], RTLD_LAZY | RTLD_NOLOAD);
        found = scope ? find_in_scope(scope) : NULL;
        if (scope && (!found || found->handle != scope))
            dlclose(scope);
    }
    *(const struct ipo_mpi **)out = found;
}

const struct ipo_mpi *ipo_mpi_any(void)
{
    const struct ipo_mpi *found = NULL;
    ipo_loader_run(find_any, &found);
    return found;
}

static void write_others_locked(void *unused)
{
    (void)unused;
    write_others();
}

void ipo_mpi_name_others(void)
{
    ipo_loader_run(write_others_locked, NULL);
}

/* ---- loaded objects, after ipo_objects_list */

#define MAX_FOREIGN 128u
static uintptr_t foreign[MAX_FOREIGN];
static unsigned foreign_n;

/* Address of PMPI_Init in the scope of the object of this name; 0: none.  *found: the object's entry in the list. */
static uintptr_t find_init(const char *name, struct link_map *found)
{
    struct link_map *object = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (!object)
        return 0;
    *found = *object;
    uintptr_t init = (uintptr_t)dlsym(object, "PMPI_Init");
    dlclose(object);
    return init;
}

static bool is_in(const struct ipo_mpi *mpi, uintptr_t address)
{
    return address - mpi->range.base < mpi->range.size;
}

/* Whether an object from number `first` on is another MPI than this.  Names are compared first: most processes have one
 * MPI and many objects. */
static bool has_other(const struct ipo_mpi *mpi, unsigned first)
{
    struct link_map object;
    unsigned n = 0;
    for (const struct link_map *map = ipo_elf_first(); map; map = map->l_next) {
        const char *slash = n++ < first ? NULL : strrchr(map->l_name, '/');
        if (!slash || strncmp(slash + 1, "libmpi", 6) != 0)
            continue;
        uintptr_t init = find_init(map->l_name, &object);
        if (init && !is_in(mpi, init))
            return true;
    }
    return false;
}

/* Notes which MPI each object reaches now.  Open MPI makes itself global in its Init, which does not change objects
 * that are bound already. */
static void place_all(void)
{
    struct link_map object;
    ipo_objects_list(&names, 0);
    for (unsigned i = 0; i < names.n; i++)
        if (find_init(names.name[i], &object) && !find_place((uintptr_t)object.l_ld))
            add_place((uintptr_t)object.l_ld);
}

struct activation {
    const struct ipo_mpi *mpi;
    uintptr_t caller;
};

static void make_active(void *with)
{
    const struct activation *active = with;
    const struct place *place = active->caller ? find_place(active->caller) : NULL;
    ipo_active_mpi = active->mpi;
    if (find_global() == active->mpi) {
        ipo_active_range = (struct ipo_range){0, UINTPTR_MAX};
        return;
    }
    if (has_other(active->mpi, 0))
        place_all();
    if (place && get_library(place) == active->mpi)
        ipo_active_range = place->range;
}

void ipo_mpi_activate(const struct ipo_mpi *mpi, uintptr_t caller)
{
    struct activation active = {mpi, caller};
    ipo_loader_run(make_active, &active);
}

void ipo_foreign_list(unsigned first)
{
    static bool other; /* another MPI was met, and later objects may need it */
    struct link_map object;
    foreign_n = 0;
    if (!ipo_active_mpi)
        return;
    other = other || has_other(ipo_active_mpi, first);
    if (other)
        ipo_objects_list(&names, first);
    for (unsigned i = 0; other && i < names.n && foreign_n < MAX_FOREIGN; i++) {
        uintptr_t init = find_init(names.name[i], &object);
        if (!init || is_in(ipo_active_mpi, init))
            continue;
        foreign[foreign_n++] = object.l_addr;
        add_library((void *)init, NULL);
    }
    write_others();
}

bool ipo_is_foreign(uintptr_t load_address, uintptr_t slot)
{
    for (unsigned i = 0; i < foreign_n; i++)
        if (foreign[i] == load_address)
            return !is_in(ipo_active_mpi, slot);
    return false;
}

const struct ipo_mpi *ipo_mpi_other(unsigned i)
{
    unsigned n = atomic_load(&mpis_n);
    for (unsigned at = 0; at < n; at++)
        if (&mpis[at] != ipo_active_mpi && i-- == 0)
            return &mpis[at];
    return NULL;
}

bool ipo_is_active_slow(uintptr_t site)
{
    const struct ipo_mpi *mpi = ipo_mpi_at(site);
    return !mpi || mpi == ipo_active_mpi;
}
