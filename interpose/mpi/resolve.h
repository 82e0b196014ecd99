/* Finds the MPI of this process and the real functions behind the wrappers. */
#pragma once

#include "interpose/mpi/calls.h"
#include <stddef.h>

struct ipo_mpi;

/* Decides which MPI is recorded (multi_mpi.h) and fills ipo_real and ipo_own.  `caller`: an address in the code that
 * calls Init, NULL if none does yet.  Later calls return at once.  False: this process has no MPI.  Takes the
 * loader's lock. */
bool ipo_resolve_all(const void *caller);

/* Fills `real` and `own` of a library whose handle is known.  Takes the loader's lock. */
void ipo_mpi_find_calls(struct ipo_mpi *mpi);

/* The function of this name in the active MPI library; NULL: the library lacks it.  Asks the loader. */
ipo_function ipo_resolve_name(const char *name);

/* Address of a data symbol of MPI as the program sees it (a copy relocation puts it into the executable); 0: there is
 * none.  Asks the loader. */
uintptr_t ipo_resolve_data(const char *name);

/* The function that a call must be passed on to, in the MPI of its caller; `site` is the return address.  Never
 * NULL: where no MPI has it, a function that returns an error code.  Any thread. */
ipo_function ipo_resolved(enum ipo_call_id id, const void *site);

/* Path of the active MPI library, valid for ever; "" before it is known. */
const char *ipo_mpi_object(void);
