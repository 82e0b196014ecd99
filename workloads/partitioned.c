/* partitioned: MPI-4 partitioned messages in a ring, TIMES rounds of PARTS partitions of 100 bytes each.
 * Truth per rank: one MPI_Psend_init and one MPI_Precv_init, which have the bytes; per round one MPI_Startall of
 * PARTS x 100 bytes each way, PARTS MPI_Pready, one MPI_Waitall; r -> r+1, TIMES messages of PARTS x 100 bytes.
 * Exits with 77 if the MPI is older than 4.0. */
#include "truth.h"
#include <mpi.h>

#define TIMES 10
#define PARTS 4
#define BYTES 100

int main(int argc, char **argv)
{
#if MPI_VERSION < 4 && !(defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5) /* defined by this MPI all the same */
    (void)argc;
    (void)argv;
    return 77;
#else
    int me, n, bad = 0;
    static char out[PARTS * BYTES], in[PARTS * BYTES];
    MPI_Request r[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Precv_init(in, PARTS, BYTES, MPI_CHAR, (me + n - 1) % n, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Psend_init(out, PARTS, BYTES, MPI_CHAR, (me + 1) % n, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
    for (int i = 0; i < TIMES; i++) {
        MPI_Startall(2, r);
        for (int p = 0; p < PARTS; p++)
            MPI_Pready(p, r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    if (me == 0) {
        long long bytes = TIMES * PARTS * BYTES;
        truth_frame(n);
        truth_each(n, "MPI_Psend_init", 1, bytes, 0);
        truth_each(n, "MPI_Precv_init", 1, 0, bytes);
        truth_each(n, "MPI_Startall", TIMES, 0, 0);
        truth_each(n, "MPI_Pready", TIMES * PARTS, 0, 0);
        truth_each(n, "MPI_Waitall", TIMES, 0, 0);
        truth_each(n, "MPI_Request_free", 2, 0, 0);
        for (int k = 0; k < n; k++)
            truth_pair(k, (k + 1) % n, TIMES, PARTS * BYTES);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
#endif
}
