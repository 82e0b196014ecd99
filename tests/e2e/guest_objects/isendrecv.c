/* Each of three ranks gets ten ints of rank 2 by MPI_Isendrecv, twice: posted are source 2 and tag 7, and the second
 * time, but for rank 2 itself, any source and any tag. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int out[10] = {0}, in[10], me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int any = 0; any < 2; any++) {
        MPI_Request request, sent[3];
        for (int r = 0; r < 2 && me == 2; r++)
            MPI_Isend(out, 10, MPI_INT, r, 7, MPI_COMM_WORLD, &sent[r]);
        /* Rank 2 sends to itself; the others send to it messages that it never looks for until the end. */
        MPI_Isendrecv(out, me == 2 ? 10 : 1, MPI_INT, 2, me == 2 ? 7 : 9, in, 10, MPI_INT,
                      any && me != 2 ? MPI_ANY_SOURCE : 2, any && me != 2 ? MPI_ANY_TAG : 7, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (me == 2)
            MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 4 && me == 2; i++)
        MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
