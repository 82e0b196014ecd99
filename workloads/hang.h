/* Shared parts of the programs that hang: rank and size, a healthy beginning, and ways to stand still. */
#ifndef HANG_H
#define HANG_H

#include <mpi.h>
#include <unistd.h>

static int me, n;
static const MPI_Comm world = MPI_COMM_WORLD;

static inline void sleep_for_ever(void)
{
    for (;;)
        pause();
}

static void warm_up(void)
{
    int one = 1, sum;
    for (int i = 0; i < 5; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
        MPI_Sendrecv(&one, 1, MPI_INT, (me + 1) % n, 1, &sum, 1, MPI_INT, (me + n - 1) % n, 1, world,
                     MPI_STATUS_IGNORE);
    }
}

#endif
