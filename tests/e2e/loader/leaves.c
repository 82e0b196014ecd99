/* The main thread leaves by pthread_exit after MPI_Finalize, while a worker works on and ends 300 ms later.  Then the
 * process ends, with exit status 0 and its output complete. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *work(void *unused)
{
    usleep(300000);
    puts("the worker has ended"); /* comes out when exit() runs */
    return unused;
}

int main(int argc, char **argv)
{
    int level;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    pthread_create(&thread, NULL, work, NULL);
    MPI_Finalize();
    pthread_exit(NULL);
}
