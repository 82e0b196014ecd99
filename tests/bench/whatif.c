/* whatif ROUNDS BYTES: each round every rank works (sleeps) for WORK, exchanges so many bytes with both neighbours in a
 * ring, and all agree on a number.  Rank 0 prints the seconds from MPI_Init to MPI_Finalize. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WORK 3000000 /* ns */

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    double begin = MPI_Wtime(), one = 1, sum;
    int me, n, rounds = argc > 1 ? atoi(argv[1]) : 100, bytes = argc > 2 ? atoi(argv[2]) : 262144;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    char *data = calloc(4, (size_t)bytes);
    for (int i = 0; data && i < rounds; i++) {
        MPI_Request request[4];
        int left = (me + n - 1) % n, right = (me + 1) % n;
        nanosleep(&(struct timespec){.tv_nsec = WORK}, NULL);
        MPI_Irecv(data, bytes, MPI_CHAR, left, 1, MPI_COMM_WORLD, &request[0]);
        MPI_Irecv(data + bytes, bytes, MPI_CHAR, right, 2, MPI_COMM_WORLD, &request[1]);
        MPI_Isend(data + 2L * bytes, bytes, MPI_CHAR, right, 1, MPI_COMM_WORLD, &request[2]);
        MPI_Isend(data + 3L * bytes, bytes, MPI_CHAR, left, 2, MPI_COMM_WORLD, &request[3]);
        MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (me == 0)
        printf("%.6f\n", MPI_Wtime() - begin);
    free(data);
    MPI_Finalize();
    return 0;
}
