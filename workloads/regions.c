/* Regions of the program's own (include/hpctop.h).  usage: regions [threads]
 *
 * Known answer, on each rank: "main" begins before MPI_Init and ends after MPI_Finalize.  ROUNDS times "step", and in
 * it "compute" without a call, for 2 ms on rank 0, 4 on rank 1 and so on, and "exchange" with one MPI_Allreduce, where
 * all ranks but the last wait.  Then, once, "outer" with "never ended" inside, ended by "outer" alone; and an end of
 * "nowhere", which was never begun.  With `threads`, a second thread runs "helper" once, and in it "compute" 3
 * times. */
#include <hpctop.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ROUNDS 20

static int rank;

static void compute(void)
{
    HPCTOP_REGION("compute");
    nanosleep(&(struct timespec){.tv_nsec = 2000000L * (rank + 1)}, NULL);
}

static void *help(void *unused)
{
    int size;
    hpctop_begin("helper");
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 3; i++)
        compute();
    hpctop_end(NULL);
    return unused;
}

int main(int argc, char **argv)
{
    int level, sum, one = 1;
    HPCTOP_BEGIN("main");
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < ROUNDS; i++) {
        HPCTOP_REGION("step");
        compute();
        HPCTOP_BEGIN("exchange");
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        HPCTOP_END("exchange");
    }
    HPCTOP_BEGIN("outer");
    HPCTOP_BEGIN("never ended");
    HPCTOP_END("outer");
    HPCTOP_END("nowhere");
    pthread_t thread;
    if (argc > 1 && strcmp(argv[1], "threads") == 0 && level == MPI_THREAD_MULTIPLE &&
        pthread_create(&thread, NULL, help, NULL) == 0)
        pthread_join(thread, NULL);
    MPI_Finalize();
    HPCTOP_END("main");
    printf("sum %d, %s\n", sum, hpctop_recorder_ ? "recorded" : "not recorded");
    return 0;
}
