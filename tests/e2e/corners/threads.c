/* Four threads, each with its own duplicate of MPI_COMM_SELF, make and complete requests at the same time.  Thread t
 * sends 40000 messages of 8 (t + 1) bytes.  Known answer: 160000 Isend and Irecv, 320000 Wait, 3200000 bytes each way.
 */
#include <mpi.h>
#include <pthread.h>

static MPI_Comm own[4];
static pthread_barrier_t together;

static void *talk(void *argument)
{
    int t = (int)(long)argument;
    char in[64], out[64] = "";
    pthread_barrier_wait(&together);
    for (int i = 0; i < 40000; i++) {
        MPI_Request receive, send;
        MPI_Irecv(in, sizeof in, MPI_BYTE, 0, t, own[t], &receive);
        MPI_Isend(out, 8 * (t + 1), MPI_BYTE, 0, t, own[t], &send);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int level;
    pthread_t thread[4];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 77);
    pthread_barrier_init(&together, NULL, 4);
    for (int i = 0; i < 4; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
    for (long i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, talk, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    MPI_Finalize();
    return 0;
}
