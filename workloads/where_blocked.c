/* Ranks that wait in places whose stacks are known.  where_blocked MODE; rank 0 then is, besides a thread of it that
 * waits for a mutex in take_lock():
 *
 *   read      in read() of an empty pipe, in read_batch()
 *   test      polling with MPI_Test, in spin_in_test()
 *   compute   computing, in compute()
 *   late      sleeping 8 s before the last of 100 barriers, in which the others wait; then all finish
 *   sleep     in nanosleep() for 6 s, in sleep_once(); exits with 9 if it was interrupted, else with 0
 *
 * The others are in MPI_Recv, called by wait_for_zero(). */
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile double sum;

__attribute__((noinline)) static void *take_lock(void *unused)
{
    pthread_mutex_lock(&lock);
    return unused;
}

__attribute__((noinline)) static void read_batch(void)
{
    int ends[2];
    char byte;
    if (!pipe(ends) && read(ends[0], &byte, 1) < 0)
        sum = 1;
    sum += 1;
}

__attribute__((noinline)) static void spin_in_test(void)
{
    int value, flag = 0;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

__attribute__((noinline)) static void compute(void)
{
    for (;;)
        sum += 1;
}

__attribute__((noinline)) static int sleep_once(void)
{
    struct timespec t = {.tv_sec = 6};
    int failed = nanosleep(&t, NULL);
    return failed && errno == EINTR ? 9 : 0;
}

__attribute__((noinline)) static void wait_for_zero(void)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += value;
}

int main(int argc, char **argv)
{
    int rank, provided;
    const char *mode = argc > 1 ? argv[1] : "";
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(mode, "late")) {
        for (int i = 0; i < 100; i++) {
            if (i == 99 && rank == 0)
                sleep(8);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Finalize();
        return 0;
    }
    if (rank == 0) {
        pthread_t thread;
        pthread_mutex_lock(&lock);
        pthread_create(&thread, NULL, take_lock, NULL);
        if (!strcmp(mode, "read"))
            read_batch();
        else if (!strcmp(mode, "test"))
            spin_in_test();
        else if (!strcmp(mode, "compute"))
            compute();
        else if (!strcmp(mode, "sleep"))
            _exit(sleep_once());
    }
    wait_for_zero();
    MPI_Finalize();
    return 0;
}
