/* deadlock MODULE: the constructor of a module that one thread loads waits for the communicator that another makes. */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static sem_t inside, made;
static char **arguments;

void host_constructor(void);
void host_constructor(void)
{
    sem_post(&inside);
    sem_wait(&made);
}

static void *load(void *unused)
{
    puts(dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) ? "loaded" : dlerror());
    return unused;
}

int main(int argc, char **argv)
{
    int level;
    pthread_t thread;
    MPI_Comm twin;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    sem_init(&inside, 0, 0);
    sem_init(&made, 0, 0);
    arguments = argv;
    alarm(60);
    pthread_create(&thread, NULL, load, NULL);
    sem_wait(&inside);
    for (int i = 0; i < 100; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &twin);
        MPI_Barrier(twin);
        MPI_Comm_free(&twin);
    }
    sem_post(&made);
    pthread_join(thread, NULL);
    puts("made");
    MPI_Finalize();
    return 0;
}
