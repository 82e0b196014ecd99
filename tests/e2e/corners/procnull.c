/* 3000 MPI_Isend to MPI_PROC_NULL, which Open MPI gives one request between them, and a real one.  Known answer: one
 * message of 8 bytes, no request that the recorder does not know. */
#include <mpi.h>

int main(int argc, char **argv)
{
    static MPI_Request q[3001];
    char out[8] = "", in[8];
    MPI_Init(&argc, &argv);
    MPI_Isend(out, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &q[0]);
    for (int i = 1; i <= 3000; i++)
        MPI_Isend(out, 8, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &q[i]);
    MPI_Recv(in, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Waitall(3001, q, MPI_STATUSES_IGNORE);
    MPI_Finalize();
    return 0;
}
