/* cancelled calls|forks LIBRARY: a thread with a pending pthread_cancel, which is to end at its next cancellation point
 * and not before.  calls: calls of MPI, and the trace file grows.  forks: forks while the list of loaded objects
 * changes and is read. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS = 3000000, FORKS = 60 };
static atomic_int cancelled, done, over;
static const char *library;

static void *call(void *unused)
{
    int me;
    while (!cancelled)
        ;
    for (int i = 0; i < CALLS; i++, done++)
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
    pthread_testcancel();
    return unused;
}

static void *forks(void *unused)
{
    while (!cancelled)
        ;
    for (int i = 0; i < FORKS; i++, done++) {
        long child = fork();
        if (child == 0)
            syscall(SYS_exit_group, 0);
        while (child > 0 && syscall(SYS_wait4, child, NULL, 0, NULL) != child)
            ; /* wait is a cancellation point */
    }
    pthread_testcancel();
    return unused;
}

static int linger(struct dl_phdr_info *info, size_t size, void *looked)
{
    (void)info, (void)size;
    if (!(*(int *)looked)++)
        usleep(20000);
    return 0;
}

/* Holds the loader's lock most of the time. */
static void *load(void *unused)
{
    while (!over) {
        int looked = 0;
        void *handle = dlopen(library, RTLD_NOW);
        dl_iterate_phdr(linger, &looked);
        if (handle)
            dlclose(handle);
        usleep(1000);
    }
    return unused;
}

int main(int argc, char **argv)
{
    int level, forking = argc > 1 && !strcmp(argv[1], "forks");
    pthread_t worker, loader;
    void *result;
    library = argv[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (forking)
        pthread_create(&loader, NULL, load, NULL);
    pthread_create(&worker, NULL, forking ? forks : call, NULL);
    pthread_cancel(worker);
    cancelled = 1;
    pthread_join(worker, &result);
    over = 1;
    if (forking)
        pthread_join(loader, NULL);
    printf("%d of %d done, %s\n", (int)done, forking ? FORKS : CALLS, result == PTHREAD_CANCELED ? "cancelled" : "not");
    MPI_Finalize();
    return 0;
}
