/* Finds the MPI of this process and the real functions behind the wrappers. */
#ifndef IPO_RESOLVE_H
#define IPO_RESOLVE_H

#include "interpose/mpi/calls.h"
#include <stddef.h>

struct ipo_mpi;

/* Settles which MPI is recorded (multi_mpi.h) and fills ipo_real; `caller` is an address in the code that calls Init,
 * NULL if nobody does yet.  Once; later calls return at once.  False: no MPI in this process. */
bool ipo_resolve_all(const void *caller);

/* The library's own function of a call, past any other tool; NULL if it lacks it. */
ipo_function ipo_mpi_own(const struct ipo_mpi *mpi, const char *name);

/* A function by name, from the MPI library; NULL if it lacks it. */
ipo_function ipo_resolve_name(const char *name);

/* Address of a data symbol as the program sees it (copy relocations make that the executable's); 0 if absent. */
uintptr_t ipo_resolve_data(const char *name);

/* The real function of a call for passing through, which is that of the caller's MPI; `site` is the return address.
 * Never NULL: where no MPI has it, a function that returns an error code. */
ipo_function ipo_resolved(enum ipo_call_id id, const void *site);

/* File name of the MPI library; "" before it is known. */
const char *ipo_mpi_object(void);

#endif
