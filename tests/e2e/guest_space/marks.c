/* marks THREADS BATCHES [LOOK]: calls of MPI in that number of threads; a getppid after each batch of the first one
 * marks it in strace's log.  LOOK: prints how many bytes of the trace's mapping have no file, after MPI_Init, in the
 * end and after MPI_Finalize; each readable page of the process is read then, as a leak search does. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BATCH = 20000 };
static int batches;

static void *call(void *marks)
{
    int me;
    for (int i = 0; i < batches; i++) {
        for (int k = 0; k < BATCH; k++)
            MPI_Comm_rank(MPI_COMM_WORLD, &me);
        if (marks)
            getppid();
    }
    return NULL;
}

static void look(const char *when)
{
    static volatile char read;
    static char line[8192];
    char rights[8], path[4096];
    unsigned long from, to, offset, beyond = 0, ends = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        struct stat is;
        path[0] = 0;
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &from, &to, rights, &offset, path) < 4 || rights[0] != 'r')
            continue;
        if (strstr(path, ".hpctop") && !stat(path, &is)) {
            ends = ((unsigned long)is.st_size + 4095) & ~4095ul;
            beyond += offset + (to - from) > ends ? offset + (to - from) - ends : 0;
        }
        if (path[0] != '[' && !strstr(path, "/dev/") && !strstr(path, "/sys"))
            for (unsigned long at = from; at < to; at += 4096)
                read = *(volatile char *)at;
    }
    fclose(maps);
    printf("%s: %lu beyond\n", when, beyond);
}

int main(int argc, char **argv)
{
    int level, threads = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t thread[64];
    batches = argc > 2 ? atoi(argv[2]) : 10;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (argc > 3)
        look("begin");
    for (int i = 1; i < threads; i++)
        pthread_create(&thread[i], NULL, call, NULL);
    getppid();
    call(&level);
    for (int i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    if (argc > 3)
        look("end");
    MPI_Finalize();
    if (argc > 3)
        look("after");
    return 0;
}
