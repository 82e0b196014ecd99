/* A user-level thread that begins MPI_Comm_dup on one thread of the system and ends it on another, as under Argobots.
 * Known answer: done. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <ucontext.h>

static ucontext_t first, second, user;
static char stack[1 << 20];

static int copied(MPI_Comm from, int key, void *extra, void *in, void *out, int *flag)
{
    (void)from, (void)key, (void)extra, (void)in, (void)out;
    *flag = 0;
    swapcontext(&user, &first);
    return MPI_SUCCESS;
}

static void run(void)
{
    MPI_Comm twin;
    int key;
    MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
    MPI_Comm_dup(MPI_COMM_SELF, &twin);
    for (int i = 0; i < 100; i++)
        MPI_Barrier(twin);
    MPI_Comm_free(&twin);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    swapcontext(&user, &second);
}

static void *go_on(void *unused)
{
    swapcontext(&second, &user);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t other;
    MPI_Init(&argc, &argv);
    getcontext(&user);
    user.uc_stack.ss_sp = stack;
    user.uc_stack.ss_size = sizeof stack;
    makecontext(&user, run, 0);
    swapcontext(&first, &user);
    pthread_create(&other, NULL, go_on, NULL);
    pthread_join(other, NULL);
    MPI_Finalize();
    puts("done");
    return 0;
}
