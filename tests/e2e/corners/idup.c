/* Two duplicates made by MPI_Comm_idup, waited for and used in another order on each of the 2 ranks.  Known answer: two
 * messages, tag 1 of 10 bytes on "first", tag 2 of 20 bytes on "second"; each name is the same communicator on both. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Comm a, b;
    MPI_Request q[2];
    char data[64] = "";
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_idup(MPI_COMM_WORLD, &a, &q[0]);
    MPI_Comm_idup(MPI_COMM_WORLD, &b, &q[1]);
    MPI_Wait(&q[me], MPI_STATUS_IGNORE);
    MPI_Wait(&q[1 - me], MPI_STATUS_IGNORE);
    if (me == 0) {
        MPI_Comm_set_name(a, "first");
        MPI_Comm_set_name(b, "second");
        MPI_Send(data, 10, MPI_BYTE, 1, 1, a);
        MPI_Send(data, 20, MPI_BYTE, 1, 2, b);
    } else {
        MPI_Comm_set_name(b, "second");
        MPI_Comm_set_name(a, "first");
        MPI_Recv(data, 20, MPI_BYTE, 0, 2, b, MPI_STATUS_IGNORE);
        MPI_Recv(data, 10, MPI_BYTE, 0, 1, a, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
