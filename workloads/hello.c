/* hello: each rank says who and where it is.
 * Truth: each rank makes one MPI_Get_processor_name and one MPI_Barrier; no bytes. */
#include "truth.h"
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char host[MPI_MAX_PROCESSOR_NAME];
    int me, n, length, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Get_processor_name(host, &length);
    printf("hello from rank %d of %d on %s\n", me, n, host);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        truth_frame(n);
        for (int r = 0; r < n; r++) {
            truth_call(r, "MPI_Get_processor_name", 1, 0, 0);
            truth_call(r, "MPI_Barrier", 1, 0, 0);
        }
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
