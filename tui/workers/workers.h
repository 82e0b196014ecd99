/* One analysis by the processes of a job of MPI: `mpirun -n K hpctop analyze DIR`.  All processes open the same
 * trace.  The first finds messages, waits and causes; each other process reads a part of the ranks for it, sorts their
 * items, and sends them (trace/relations/parts.h).  Results do not depend on the number of processes.  The first names
 * the part to be read and the clock, and says when all is over. */
#ifndef TUI_WORKERS_H
#define TUI_WORKERS_H

#include "trace/job/parts.h"
#include "tui/workers/mpi.h"

struct tui_workers;

/* The others of `mpi`, with whom this process reads a trace; NULL: out of memory. */
struct tui_workers *tui_workers_new(struct tui_mpi *mpi);
/* Frees them.  Of the first process: tells the others that all is over. */
void tui_workers_free(struct tui_workers *workers);

/* Runs in the first process: has the events of a job read by the others.  False, with a line in `said`: one process
 * cannot, or sees other files. */
bool tui_workers_read(struct tui_workers *workers, struct ana_job *job, char *said, size_t size);
/* Any other: reads what the first asks for, until all is over; `job` NULL: it could not be opened, `why` says the
 * reason. */
void tui_workers_serve(struct tui_workers *workers, struct ana_job *job, const char *why);

#endif
