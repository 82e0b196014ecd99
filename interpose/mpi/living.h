/* Objects that the program has made and must free: communicators, groups, datatypes, operations, windows, files.
 * Objects that are left after MPI_Finalize are written to the trace.  Any thread, record path: no lock that is waited
 * for long, memory of the arena only. */
#pragma once

#include "interpose/mpi/calls.h"

/* A call has made an object at `site`.  Handles may be given out several times (groups): each must be freed. */
void ipo_living_made(enum ipo_makes kind, uintptr_t handle, uint32_t call, uint64_t site);
/* A call has freed the object; nothing where it is not known. */
void ipo_living_forget(enum ipo_makes kind, uintptr_t handle);

/* Whether the object was made and not freed, as far as is known. */
bool ipo_living_is(enum ipo_makes kind, uintptr_t handle);

/* Writes the objects that are left, with persistent requests that were not freed.  Once, after MPI_Finalize has
 * returned: it may have run the program's own callbacks. */
void ipo_living_write(void);
