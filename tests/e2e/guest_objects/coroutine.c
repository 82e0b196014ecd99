/* Three calls of MPI that coroutines leave for good: by an error handler and by an operation of the program's.  Their
 * stacks are unmapped; the next coroutine's lies below.  Known answer: 300 MPI_Allreduce, 100 after each, 1
 * MPI_Barrier. */
#include <mpi.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK (256 << 10)
static ucontext_t home, coroutine;
static MPI_Op op;
static volatile int kind;

static void leave(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    setcontext(&home);
}

static void leave_operation(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)n, (void)type;
    setcontext(&home);
}

static void is_left(void)
{
    int word = 0, sum = 0;
    if (kind == 0)
        MPI_Send(&word, 1, MPI_INT, 9999, 0, MPI_COMM_WORLD);
    else if (kind == 1)
        MPI_Reduce_local(&word, &sum, 1, MPI_INT, op);
    else
        MPI_Bcast(&word, 1, MPI_INT, 77, MPI_COMM_WORLD);
}

static void comes_next(void)
{
    int one = 1, sum = 0;
    for (int i = 0; i < 100; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}

static void run(void (*what)(void), char *stack)
{
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = STACK;
    coroutine.uc_link = &home;
    makecontext(&coroutine, what, 0);
    swapcontext(&home, &coroutine);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Op_create(leave_operation, 1, &op);
    for (kind = 0; kind < 3; kind++) {
        char *both = mmap(NULL, 4 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        run(is_left, both + 3 * STACK);
        munmap(both + STACK, 3 * STACK);
        run(comes_next, both);
        munmap(both, STACK);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("done\n");
    MPI_Finalize();
    return 0;
}
