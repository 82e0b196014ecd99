/* Several MPI libraries in one process: Python modules that were built with different ones, say, each loaded with
 * RTLD_LOCAL.  Every call must reach the library that its caller would have reached without us.  The one whose Init
 * comes first is recorded: it is the active one.  What belongs to another passes through. */
#pragma once

#include "interpose/load/objects.h"
#include "interpose/mpi/calls.h"
#include <stddef.h>

#define IPO_MPI_PATH 1024u

/* One MPI library. */
struct ipo_mpi {
    void *handle;           /* handle of the object itself; pins it */
    struct ipo_range range; /* mapped range of the library */
    char path[IPO_MPI_PATH];
    ipo_function real[IPO_CALLS], own[IPO_CALLS]; /* counterparts of ipo_real and ipo_own; NULL: no such call */
};

/* The library that code at `address` reaches by the name MPI_Init; NULL: none in its scope.  Asks the loader once
 * for each object that calls.  Any thread; keeps errno. */
const struct ipo_mpi *ipo_mpi_at(uintptr_t address);

/* Whether a call of dlsym with the handle `scope`, which has found `found`, must return a wrapper instead: it is a
 * function of the only MPI library that the program has looked up so far, and `caller`, the code that asks, reaches no
 * other.  Takes the loader's lock; changes what dlerror returns. */
bool ipo_mpi_looked_up(void *scope, const void *found, const void *caller);

/* Any MPI library that is loaded; NULL: this process has none.  Takes the loader's lock. */
const struct ipo_mpi *ipo_mpi_any(void);

/* Makes `mpi` the active one.  `caller`: the code that called its Init, 0 if none did yet.  Once; takes the loader's
 * lock. */
void ipo_mpi_activate(const struct ipo_mpi *mpi, uintptr_t caller);
extern IPO_OURS const struct ipo_mpi *ipo_active_mpi;

/* Returns library number `i` among the libraries met beside the active one; NULL past the last. */
const struct ipo_mpi *ipo_mpi_other(unsigned i);
/* Writes a fact "mpi.other" for each other library; for libraries that are met later when they are met.  Takes the
 * loader's lock. */
void ipo_mpi_name_others(void);

/* Lists the loaded objects, from number `first` on, that need another MPI than the active one.  Before a walk over the
 * objects, inside which the loader cannot be asked; under its lock. */
void ipo_foreign_list(unsigned first);
/* Whether a slot of the object with this load address must keep its value: the object is in that list, and the slot
 * does not lead to the active MPI.  After ipo_foreign_list, under the same lock. */
bool ipo_is_foreign(uintptr_t load_address, uintptr_t slot);

/* Origin of calls of the active MPI: the object that made the first, or everywhere if that MPI is in the global
 * scope. */
extern IPO_OURS struct ipo_range ipo_active_range;
/* Does the work of ipo_is_active for a call site outside of ipo_active_range. */
bool ipo_is_active_slow(uintptr_t site);

/* Whether a call from this call site is one of the active MPI.  Record path. */
static inline bool ipo_is_active(uintptr_t site)
{
    return __builtin_expect(site - ipo_active_range.base < ipo_active_range.size, 1) || ipo_is_active_slow(site);
}
