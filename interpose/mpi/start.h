/* The calls of MPI that start and end the recording. */
#pragma once

#include <stdbool.h>

/* Before the first Init call of the process: finds MPI, makes the file, arms the wrappers.  `caller`: an address in the
 * calling code.  False: not traced (switched off, no file could be made).  In the calling thread; errno is not kept. */
bool ipo_mpi_start(const void *caller);

/* After an Init call succeeded: learns rank, size and world.  With the first one tracing begins. */
void ipo_mpi_ready(void);

/* After MPI_Finalize succeeded, or MPI_Session_finalize (`session`).  Recording ends with MPI_Finalize if no session is
 * open; otherwise it ends when the process leaves, because another session may begin. */
void ipo_mpi_finalized(bool session);

/* Before MPI_Abort with this code: ends the trace as aborted. */
void ipo_mpi_aborting(int code);
