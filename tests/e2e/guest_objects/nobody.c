/* Messages of nobody: MPI_MESSAGE_NO_PROC, three times, received by MPI_Imrecv and once by MPI_Mrecv. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Message message;
    MPI_Request request;
    int flag, word;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        if (i == 1)
            MPI_Improbe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
        else
            MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(&word, 1, MPI_INT, &message, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&word, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
