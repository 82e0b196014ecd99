/* Calls with a communicator that was freed, and with a datatype that never was, under an error handler of the
 * program's: says how often that was called. */
#include <mpi.h>
#include <stdio.h>

static int called;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    called++;
}

int main(int argc, char **argv)
{
    int word = 0;
    MPI_Comm comm, freed;
    MPI_Errhandler mine;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, mine);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    freed = comm;
    MPI_Comm_free(&comm);
    MPI_Send(&word, 1, MPI_INT, 0, 1, freed);
    MPI_Barrier(freed);
    MPI_Comm_rank(freed, &word);
    MPI_Comm_dup(freed, &comm);
    const MPI_Datatype gone = (MPI_Datatype)MPI_COMM_WORLD;
    MPI_Send(&word, 1, gone, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Isend(&word, 1, gone, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
    MPI_Bcast(&word, 1, gone, 0, MPI_COMM_WORLD);
    MPI_Recv_init(&word, 1, gone, 0, 1, MPI_COMM_WORLD, &request);
    printf("called %d\n", called);
    MPI_Errhandler_free(&mine);
    MPI_Finalize();
    return 0;
}
