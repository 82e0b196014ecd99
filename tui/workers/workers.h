/* Other processes of an MPI launch that read parts of a job. */
#pragma once

#include "trace/job/parts.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The MPI job that this process was started in, if it is in one: hpctop neither needs MPI to be built nor to run.  The
 * library is found when it is needed, as the launcher's variables suggest, and only bytes are sent.
 *
 * Who waits sleeps: a processor may have more to do.  One thread; not the thread of signals. */

/* The launcher's data about this process. */
struct tui_launch {
    long rank;    /* 0: it is the first, or was started alone */
    bool has_mpi; /* others exist, and the launcher tells an MPI how to find them */
};
/* Reads it from the environment. */
struct tui_launch tui_launch(void);

struct tui_mpi;

/* Joins the others: `library` is MPI's, NULL: one that fits the launcher.  NULL, with a line in `said`: there is
 * none, or it finds nobody else.  End with tui_mpi_leave. */
struct tui_mpi *tui_mpi_join(const char *library, char *said, size_t size);
/* Leaves the others, who all must. */
void tui_mpi_leave(struct tui_mpi *mpi);
/* Number of this process, from 0 on. */
int tui_mpi_rank(const struct tui_mpi *mpi);
/* Number of processes, two at least. */
int tui_mpi_size(const struct tui_mpi *mpi);

/* A message under way. */
struct tui_mpi_message {
    uint64_t request[2];
};
/* Begins to send bytes to another process.  They belong to the message until tui_mpi_finish. */
void tui_mpi_send(struct tui_mpi *mpi, const void *bytes, size_t size, int to, struct tui_mpi_message *message);
/* Begins to receive the next bytes from another process, at most `size`; `bytes` belongs to the message as above. */
void tui_mpi_receive(struct tui_mpi *mpi, void *bytes, size_t size, int from, struct tui_mpi_message *message);
/* Waits until it is done. */
void tui_mpi_finish(struct tui_mpi *mpi, struct tui_mpi_message *message);

/* One analysis by the processes of a job of MPI: `mpirun -n K hpctop analyze DIR`.  All processes open the same
 * trace.  The first finds messages, waits and causes; each other process reads a part of the ranks for it, sorts their
 * items, and sends them (trace/relations/parts.h).  Results do not depend on the number of processes.  The first names
 * the part to be read and the clock, and says when all is over. */

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
