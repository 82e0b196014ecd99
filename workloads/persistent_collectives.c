/* persistent_collectives: MPI-4 persistent collectives, TIMES starts each.
 * Truth per rank: the _init calls have the bytes of all starts, each Allreduce 8 both ways, Bcast 400 from rank 0,
 * Allgather sends 4 and receives 4n; TIMES x 3 MPI_Start and MPI_Wait. Exits with 77 if the MPI is older than 4.0.
 */
#include "truth.h"
#include <mpi.h>

#define TIMES 10

int main(int argc, char **argv)
{
#if MPI_VERSION < 4 && !(defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5) /* defined by this MPI all the same */
    (void)argc;
    (void)argv;
    return 77;
#else
    int me, n, bad = 0, one = 1, data[100] = {0};
    double value = 1, sum;
    MPI_Request r[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int *all = calloc((size_t)n, sizeof *all);
    MPI_Allreduce_init(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Bcast_init(data, 100, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
    MPI_Allgather_init(&one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &r[2]);
    for (int i = 0; i < TIMES; i++)
        for (int k = 0; k < 3; k++) {
            MPI_Start(&r[k]);
            MPI_Wait(&r[k], MPI_STATUS_IGNORE);
        }
    for (int k = 0; k < 3; k++)
        MPI_Request_free(&r[k]);
    free(all);
    if (me == 0) {
        truth_frame(n);
        truth_each(n, "MPI_Allreduce_init", 1, TIMES * 8, TIMES * 8);
        truth_each(n, "MPI_Allgather_init", 1, TIMES * 4, TIMES * 4 * n);
        truth_each(n, "MPI_Start", 3 * TIMES, 0, 0);
        truth_each(n, "MPI_Wait", 3 * TIMES, 0, 0);
        truth_each(n, "MPI_Request_free", 3, 0, 0);
        for (int k = 0; k < n; k++)
            truth_call(k, "MPI_Bcast_init", 1, k == 0 ? TIMES * 400 : 0, k == 0 ? 0 : TIMES * 400);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
#endif
}
