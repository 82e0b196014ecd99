/* The calls of MPI that start and end the recording. */
#ifndef IPO_MPI_START_H
#define IPO_MPI_START_H

#include <stdbool.h>

/* Before the first Init call of the process: finds MPI, makes the file, arms the wrappers.  `caller`: an address in the
 * code that calls.  False: not traced (switched off, no file could be made ..).  errno is not kept. */
bool ipo_mpi_start(const void *caller);

/* After an Init call succeeded: rank, size, world; the process is traced from the first one on. */
void ipo_mpi_ready(void);

/* After a call of MPI_Finalize or MPI_Session_finalize succeeded: with the last one recording ends. */
void ipo_mpi_finalized(void);

/* MPI_Abort is entered with this code. */
void ipo_mpi_aborting(int code);

#endif
