/* Collectives on memory that the host may not read, as a GPU's is: a page without access.  Compiled with -DTOOL it is a
 * preloaded MPI that can: it opens the page for as long as a call lasts.  The calls look like Horovod's negotiation
 * rounds: on a thread of their own, bitwise ANDs of 64-bit words in place, then lists of bytes.
 * Answer: 6 ANDs of 8 bytes each, a Gather, Gatherv and Bcasts; exit 0. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#define PAGE 65536

#ifdef TOOL
static void open_page(const void *buffer, int access)
{
    uintptr_t at = (uintptr_t)buffer;
    if (at > 4096 && at != UINTPTR_MAX && at % PAGE == 0) /* addresses of the program's device buffers; nothing else has
                                                             such */
        mprotect((void *)at, PAGE, access);
}
#define CALL(name, buffer, parameters, ...)                                                                            \
    int MPI_##name parameters                                                                                          \
    {                                                                                                                  \
        open_page(buffer, PROT_READ | PROT_WRITE);                                                                     \
        int result = PMPI_##name(__VA_ARGS__);                                                                         \
        open_page(buffer, PROT_NONE);                                                                                  \
        return result;                                                                                                 \
    }
CALL(Allreduce, r, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), s, r, n, t, o, c)
CALL(Bcast, b, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), b, n, t, root, c)
CALL(Gatherv, s,
     (const void *s, int n, MPI_Datatype t, void *r, const int *rn, const int *rd, MPI_Datatype rt, int root,
      MPI_Comm c),
     s, n, t, r, rn, rd, rt, root, c)
#else
#include <pthread.h>

static void *loop(void *page)
{
    uint64_t *words = page;
    int length = 8, lengths[64], zeros[64] = {0}, counts[64], me;
    char gathered[8];
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int i = 0; i < 64; i++)
        counts[i] = i ? 0 : 8;
    for (int i = 0; i < 6; i++) {
        if (i % 2) /* readable before the call, not after it */
            mprotect(page, PAGE, PROT_READ | PROT_WRITE);
        MPI_Allreduce(MPI_IN_PLACE, words, 1, MPI_UINT64_T, MPI_BAND, MPI_COMM_WORLD);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Gather(&length, 1, MPI_INT, lengths, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Gatherv(page, me ? 0 : 8, MPI_BYTE, gathered, counts, zeros, MPI_BYTE, 0, MPI_COMM_WORLD);
        MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Bcast(page, length, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    char *memory = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *page = memory + (PAGE - (uintptr_t)memory % PAGE) % PAGE;
    pthread_create(&thread, NULL, loop, page);
    pthread_join(thread, NULL);
    MPI_Finalize();
    puts("done");
    return 0;
}
#endif
