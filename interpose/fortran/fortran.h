/* Calls from Fortran: mpif.h, `use mpi`, `use mpi_f08`.  A wrapper hands its arguments to the Fortran profiling symbol
 * as they are, never to C, so that nothing has to be converted for the program's sake: only the record is made of C
 * values.  Their names are not exported: GOT slots lead to them (load/slots.c). */
#pragma once

#include "interpose/mpi/calls.h"
#include "interpose/mpi/record.h"
#include "interpose/mpi/thread.h"
#include <stddef.h>

/* Kinds of arguments of a binding: addresses, or (TS 29113) descriptors of choice buffers. */
enum ipo_binding { IPO_F77, IPO_F08, IPO_F08TS, IPO_BINDINGS };

/* After a call's own arguments come ierr and the lengths of at most two CHARACTER arguments. */
#define IPO_FORTRAN_MORE 3u

/* The real function behind a wrapper that something leads to. */
extern IPO_OURS ipo_function ipo_fortran_real[IPO_BINDINGS][IPO_CALLS];

/* ---- constants of the language that are addresses */

enum ipo_sentinel { IPO_IN_PLACE, IPO_STATUS_IGNORE, IPO_STATUSES_IGNORE, IPO_SENTINELS };
/* Whether an argument's address is this constant.  Record path. */
bool ipo_is_sentinel(enum ipo_sentinel which, uintptr_t address);

/* Finds the addresses of the constants; at the first recorded call from Fortran.  Asks the loader; keeps errno. */
void ipo_sentinels_find(void);

/* ---- the record (fortran.c) */

/* Records a call and makes the real one, once.  `words`: the arguments, ierr and two lengths; `address`: the wrapper's
 * stack frame; `site`: its return address; `stack`: its canonical frame address.  Keeps errno. */
void ipo_fortran_call(enum ipo_call_id id, enum ipo_binding binding, uintptr_t *words, const void *address,
                      const void *site, const void *stack);
