/* MPI_Wait on MPI_REQUEST_NULL, three times, after a receive from rank 0 with tag 7.  Known answer: those three concern
 * no communicator, no rank and no tag. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int in = 0, out = 1;
    MPI_Init(&argc, &argv);
    MPI_Request request, none = MPI_REQUEST_NULL;
    MPI_Irecv(&in, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
    MPI_Send(&out, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; i++)
        MPI_Wait(&none, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
