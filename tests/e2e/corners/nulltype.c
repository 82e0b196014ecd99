/* A send of MPI_DATATYPE_NULL on a communicator with MPI_ERRORS_RETURN, while MPI_COMM_WORLD keeps
 * MPI_ERRORS_ARE_FATAL: nothing that the recorder asks MPI about it may fail the job.  Known answer: class 3
 * (MPI_ERR_TYPE) each, exit 0. */
#include <mpi.h>
#include <stdio.h>

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

int main(int argc, char **argv)
{
    MPI_Comm own;
    MPI_Request q;
    char byte = 0, in[8];
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    printf("send: class %d\n", class_of(MPI_Send(&byte, 1, MPI_DATATYPE_NULL, 0, 0, own)));
    printf("isend: class %d\n", class_of(MPI_Isend(&byte, 1, MPI_DATATYPE_NULL, 0, 0, own, &q)));
    printf("receive: class %d\n", class_of(MPI_Recv(in, 1, MPI_DATATYPE_NULL, 0, 0, own, MPI_STATUS_IGNORE)));
    printf("broadcast: class %d\n", class_of(MPI_Bcast(&byte, 1, MPI_DATATYPE_NULL, 0, own)));
    MPI_Finalize();
    return 0;
}
