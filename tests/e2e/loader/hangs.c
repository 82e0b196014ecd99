/* hangs MODULE: a module's constructor does not return until this process has been told to go on (SIGUSR1 comes), while
 * the main thread calls MPI from a place that it has not called from before. */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static sem_t inside, go;
static char **arguments;

void host_constructor(void);
void host_constructor(void)
{
    sem_post(&inside);
    while (sem_wait(&go))
        ;
}

static void on_go(int number)
{
    (void)number;
    sem_post(&go);
}

static void *load(void *unused)
{
    puts(dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) ? "loaded" : "not loaded");
    return unused;
}

int main(int argc, char **argv)
{
    int level;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    sem_init(&inside, 0, 0);
    sem_init(&go, 0, 0);
    arguments = argv;
    signal(SIGUSR1, on_go);
    alarm(120);
    pthread_create(&thread, NULL, load, NULL);
    sem_wait(&inside);
    MPI_Barrier(MPI_COMM_SELF);
    puts("inside");
    fflush(stdout);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
