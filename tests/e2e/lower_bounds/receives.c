/* receives N: N receives at a time, each of 4 bytes, and one blocking receive of 8. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1;
    int out[2] = {0}, last[2], *in = calloc((size_t)n, sizeof *in);
    MPI_Request *requests = malloc((size_t)n * sizeof *requests);
    MPI_Status *statuses = malloc((size_t)n * sizeof *statuses);
    MPI_Init(&argc, &argv);
    for (int i = 0; i < n; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < n; i++)
        MPI_Send(out, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Waitall(n, requests, statuses);
    MPI_Isend(out, 2, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[0]);
    MPI_Recv(last, 2, MPI_INT, 0, 2, MPI_COMM_SELF, &statuses[0]);
    MPI_Wait(&requests[0], &statuses[0]);
    MPI_Finalize();
    puts("done");
    return 0;
}
