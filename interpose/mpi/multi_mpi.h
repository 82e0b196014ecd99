/* Several MPI libraries in one process: Python modules that were built with different ones, say, each loaded with
 * RTLD_LOCAL.  Every call must reach the library that its caller would have reached without us.  The one whose Init
 * comes first is recorded: it is the active one.  What belongs to another passes through. */
#ifndef IPO_MULTI_MPI_H
#define IPO_MULTI_MPI_H

#include "interpose/load/objects.h"
#include "interpose/mpi/calls.h"
#include <stddef.h>

#define IPO_MPI_PATH 1024u

/* One MPI library. */
struct ipo_mpi {
    void *handle;           /* of the object itself; pins it */
    struct ipo_range range; /* where it is mapped */
    char path[IPO_MPI_PATH];
    ipo_function real[IPO_CALLS]; /* as ipo_real; NULL where it lacks the call */
};

/* The library that code at `address` reaches by the name MPI_Init; NULL: none in its scope.  Asks the loader, once for
 * each object. */
const struct ipo_mpi *ipo_mpi_at(uintptr_t address);

/* Any that is loaded; NULL: this process has no MPI. */
const struct ipo_mpi *ipo_mpi_any(void);

/* From now on `mpi` is active.  `caller`: where its Init was called, 0 if nobody did yet. */
void ipo_mpi_activate(const struct ipo_mpi *mpi, uintptr_t caller);
extern IPO_OURS const struct ipo_mpi *ipo_active_mpi;

/* Another than the active one that was met, by number; NULL past the last. */
const struct ipo_mpi *ipo_mpi_other(unsigned i);
/* Names them in the trace, as facts "mpi.other", once each; those met later are named when they are. */
void ipo_mpi_name_others(void);

/* For the walk over loaded objects, in which the loader must not be asked; under its lock: lists those that need
 * another MPI than the active one. Of such an object (by its load address) only the slots that lead to the active MPI
 * are led to wrappers. */
void ipo_foreign_list(void);
bool ipo_is_foreign(uintptr_t load_address, uintptr_t slot);

/* Where calls of the active MPI come from: the object that made the first, or everywhere if that MPI is in the global
 * scope. */
extern IPO_OURS struct ipo_range ipo_active_range;
bool ipo_is_active_slow(uintptr_t site);

/* Whether a call from this place is one of the active MPI. */
static inline bool ipo_is_active(uintptr_t site)
{
    return __builtin_expect(site - ipo_active_range.base < ipo_active_range.size, 1) || ipo_is_active_slow(site);
}

#endif
