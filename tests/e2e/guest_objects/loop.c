/* Communicators in a loop.  `loop N` makes and frees N by MPI_Comm_dup and N by MPI_Comm_split, does nothing with them,
 * and says how often this thread called mmap or munmap meanwhile, and by how many kilobytes the process grew.
 * `loop N used` makes N parents, and two duplicates of each with a barrier on both: 2 N communicators whose identities
 * must all differ.  `loop N late` frees a communicator of reversed ranks on which a receive is posted, makes and frees
 * N others, and only then waits. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static pid_t counted;
static int maps;

static void count(void)
{
    if (counted && syscall(SYS_gettid) == counted)
        maps++;
}
/* The recorder's calls come here, too: the program's names are the first. */
void *mmap(void *at, size_t bytes, int access, int flags, int fd, off_t offset)
{
    count();
    return (void *)syscall(SYS_mmap, at, bytes, access, flags, fd, offset);
}
int munmap(void *at, size_t bytes)
{
    count();
    return (int)syscall(SYS_munmap, at, bytes);
}

static long kilobytes(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
}

static void unused(int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Comm dup, split;
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        MPI_Comm_split(MPI_COMM_WORLD, i % 2, -i, &split);
        MPI_Comm_free(&dup);
        MPI_Comm_free(&split);
    }
}

static void used(int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Comm of[3];
        MPI_Comm_dup(MPI_COMM_WORLD, &of[0]);
        for (int k = 1; k < 3; k++) {
            MPI_Comm_dup(of[0], &of[k]);
            MPI_Barrier(of[k]);
        }
        for (int k = 0; k < 3; k++)
            MPI_Comm_free(&of[k]);
    }
}

static void late(int n)
{
    int me, size, word = 0;
    MPI_Comm reversed;
    MPI_Request request;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - me, &reversed);
    if (me == 0)
        MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 5, reversed, &request);
    if (me == 1)
        MPI_Isend(&word, 1, MPI_INT, size - 1, 5, reversed, &request);
    MPI_Comm_free(&reversed);
    for (int i = 0; i < n; i++) {
        MPI_Comm other;
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        MPI_Comm_free(&other);
    }
    if (me < 2)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int n = atoi(argv[1]);
    if (argc > 2) {
        (strcmp(argv[2], "used") ? late : used)(n);
    } else {
        unused(1000);
        long before = kilobytes();
        counted = (pid_t)syscall(SYS_gettid);
        unused(n);
        counted = 0;
        printf("maps %d grown %ld\n", maps, kilobytes() - before);
    }
    MPI_Finalize();
    return 0;
}
