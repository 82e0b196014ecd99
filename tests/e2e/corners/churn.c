/* 300 threads at once, each in MPI, and while they last 500 short ones.  Prints by how many kB VmSize grew during the
 * short ones.  Known answer: as without the recorder, give or take 8 MB. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t all_in, all_done;

static long vm_size(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kb = 0;
    while (fgets(line, sizeof line, f))
        if (strncmp(line, "VmSize:", 7) == 0)
            kb = atol(line + 7);
    fclose(f);
    return kb;
}

static void *brief(void *stay)
{
    int me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (stay)
        pthread_barrier_wait(&all_in), pthread_barrier_wait(&all_done);
    return NULL;
}

int main(int argc, char **argv)
{
    int level;
    long before = 0;
    pthread_t held[300], one;
    pthread_attr_t small;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&all_in, NULL, 301);
    pthread_barrier_init(&all_done, NULL, 301);
    for (int i = 0; i < 300; i++)
        pthread_create(&held[i], &small, brief, &held);
    pthread_barrier_wait(&all_in);
    for (int i = 0; i < 520; i++) {
        if (i == 20)
            before = vm_size();
        pthread_create(&one, &small, brief, NULL);
        pthread_join(one, NULL);
    }
    printf("%ld\n", vm_size() - before);
    pthread_barrier_wait(&all_done);
    for (int i = 0; i < 300; i++)
        pthread_join(held[i], NULL);
    MPI_Finalize();
    return 0;
}
