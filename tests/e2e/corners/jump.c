/* An error handler leaves MPI_Send by longjmp; the rest runs deeper on the stack, over the frames that were left.
 * Known answer: 1000 Allreduce and 500 Barrier counted, three times 1000 and 500 in all. */
#include <mpi.h>
#include <setjmp.h>
#include <string.h>

static jmp_buf back;

static void leave(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    longjmp(back, 1);
}

static __attribute__((noinline)) int deeper(int depth)
{
    volatile char used[16384];
    memset((void *)used, 0xa5, sizeof used);
    if (depth > 0)
        return deeper(depth - 1) + used[depth];
    int one = 1, sum = 0;
    for (int i = 0; i < 1000; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    for (int i = 0; i < 500; i++)
        MPI_Barrier(MPI_COMM_SELF);
    return sum + used[0];
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    char byte = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (volatile int round = 0; round < 3; round++) {
        if (!setjmp(back))
            MPI_Send(&byte, 1, MPI_BYTE, 9999, 0, MPI_COMM_WORLD);
        deeper(3 * round);
    }
    MPI_Finalize();
    return 0;
}
