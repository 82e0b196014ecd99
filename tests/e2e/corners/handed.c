/* A request that one thread starts and another completes: sends of 8 bytes to itself, which have finished when they are
 * started and in Open MPI all have the same handle.  In even rounds the other thread waits for the variable itself, in
 * odd ones for a copy, while two more requests of the first thread are left for that to complete.
 * With an argument at MPI_THREAD_SERIALIZED: no two calls overlap.
 * Known answer: 3000 Isend and Irecv, 24000 bytes each way; no request unknown.  77: this MPI has no such level. */
#include <mpi.h>
#include <pthread.h>

#define ROUNDS 1000

static MPI_Request send[3];
static pthread_barrier_t turn;

static void *other(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&turn);
        if (i % 2) {
            MPI_Request copy = send[1];
            MPI_Wait(&copy, MPI_STATUS_IGNORE);
        } else {
            MPI_Wait(&send[1], MPI_STATUS_IGNORE);
        }
        pthread_barrier_wait(&turn);
    }
    return unused;
}

int main(int argc, char **argv)
{
    int level;
    char in[3][8], out[8] = "";
    pthread_t thread;
    const int wanted = argc > 1 ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
    MPI_Init_thread(&argc, &argv, wanted, &level);
    if (level < wanted)
        return MPI_Finalize(), 77;
    pthread_barrier_init(&turn, NULL, 2);
    pthread_create(&thread, NULL, other, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request receive[3];
        for (int k = 0; k < 3; k++) {
            MPI_Irecv(in[k], sizeof in[k], MPI_BYTE, 0, k, MPI_COMM_SELF, &receive[k]);
            MPI_Isend(out, sizeof out, MPI_BYTE, 0, k, MPI_COMM_SELF, &send[k]);
        }
        pthread_barrier_wait(&turn);
        pthread_barrier_wait(&turn);
        MPI_Wait(&send[2], MPI_STATUS_IGNORE);
        MPI_Wait(&send[0], MPI_STATUS_IGNORE);
        MPI_Waitall(3, receive, MPI_STATUSES_IGNORE);
    }
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
