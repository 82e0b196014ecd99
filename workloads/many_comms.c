/* many_comms: LIVE duplicates of MPI_COMM_WORLD alive at once, then PASSING made and freed one after the other, so that
 * handles come back; one MPI_Allreduce of 8 bytes and one MPI_Sendrecv of 16 bytes to the next rank on each.
 * Truth: LIVE + PASSING of each per rank; r -> r+1 that many messages of 16 bytes. */
#include "truth.h"
#include <mpi.h>

#define LIVE    100
#define PASSING 300

static void use(MPI_Comm comm, int me, int n)
{
    char out[16] = {0}, in[16];
    double one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Sendrecv(out, 16, MPI_CHAR, (me + 1) % n, 1, in, 16, MPI_CHAR, (me + n - 1) % n, 1, comm, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    MPI_Comm live[LIVE], passing;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; i < LIVE; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &live[i]);
    for (int i = 0; i < LIVE; i++)
        use(live[i], me, n);
    for (int i = 0; i < LIVE; i++)
        MPI_Comm_free(&live[i]);
    for (int i = 0; i < PASSING; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &passing);
        use(passing, me, n);
        MPI_Comm_free(&passing);
    }
    if (me == 0) {
        long all = LIVE + PASSING;
        truth_frame(n);
        truth_each(n, "MPI_Comm_dup", all, 0, 0);
        truth_each(n, "MPI_Comm_free", all, 0, 0);
        truth_each(n, "MPI_Allreduce", all, all * 8, all * 8);
        truth_each(n, "MPI_Sendrecv", all, all * 16, all * 16);
        for (int r = 0; r < n; r++)
            truth_pair(r, (r + 1) % n, all, 16);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
