/* An MPI for tests of the recorder, behind its tables of real functions.  It moves no data: communicators, groups and
 * datatypes are rows of tables, requests complete when they are waited for, and a collective returns at once.
 *
 * Handles come in two kinds: addresses of objects, as Open MPI has them, and 32-bit numbers, as MPICH has.  Freed ones
 * are given out again, the lowest first.  Functions may be called from several threads. */
#ifndef TESTS_FAKE_MPI_H
#define TESTS_FAKE_MPI_H

#include "interpose/mpi/calls.h"

typedef uintptr_t w;

enum fake_family { FAKE_OPENMPI, FAKE_MPICH, FAKE_FAMILIES };
enum { FAKE_RANKS = 64, FAKE_SHORT = 64 }; /* sends of fewer bytes are finished at once */

/* Fills ipo_own, ipo_real and ipo_abi, as this rank of a world; nothing of an earlier world is left. */
void fake_mpi_start(enum fake_family family, int rank, int size);

/* The calling thread, one of 8, gets its handles from a part of its own: the tables of the fake order nothing between
 * threads, and a sanitizer sees what the recorder does. */
void fake_mpi_thread(unsigned number);

/* Number of calls of one of its functions. */
unsigned fake_mpi_calls(enum ipo_call_id id);
/* Makes each later call of this function return `error` and do nothing; 0: it works. */
void fake_mpi_fail(enum ipo_call_id id, int error);

/* Writes a handle into a variable of the program, as wide as this family has it. */
void fake_mpi_store(void *variable, uintptr_t handle);

/* A communicator with these world ranks, one of them ours; `remote`: ranks of the other group, 0: none.  Made as if
 * by a call that the recorder has not seen.  MPI_COMM_NULL where the table is full. */
uintptr_t fake_comm_new(const int *ranks, int size, const int *remote, int remote_size);
void fake_comm_free(uintptr_t comm);

/* A datatype of `size` bytes; predefined ones are never freed. */
uintptr_t fake_type_new(int size);
void fake_type_free(uintptr_t type);
uintptr_t fake_type_predefined(int size); /* 1, 4 or 8 bytes */

#endif
