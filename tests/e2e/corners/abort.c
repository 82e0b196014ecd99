/* MPI_Abort from an error handler, that is inside another MPI call.  Known answer: the file says aborted, code 3. */
#include <mpi.h>

static void give_up(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    MPI_Abort(*comm, 3);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    char byte = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(give_up, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Send(&byte, 1, MPI_BYTE, 9999, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
