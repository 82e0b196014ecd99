/* Fills the file (HPCTOP_LIMIT=1M) and starts a thread and makes a communicator only then.  Known answer: 60000
 * Sendrecv with 210000 bytes each way, 100 Allreduce, 1 Comm_dup, 50 Barrier. */
#include <mpi.h>
#include <pthread.h>

static void *work(void *unused)
{
    int one = 1, sum;
    for (int i = 0; i < 100; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    return unused;
}

int main(int argc, char **argv)
{
    char out[8] = "", in[8];
    int level;
    pthread_t thread;
    MPI_Comm twin;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    for (int i = 0; i < 60000; i++)
        MPI_Sendrecv(out, i % 8, MPI_BYTE, 0, i, in, 8, MPI_BYTE, 0, i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &twin);
    for (int i = 0; i < 50; i++)
        MPI_Barrier(twin);
    MPI_Finalize();
    return 0;
}
