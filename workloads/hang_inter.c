/* hang_inter MODE [SECONDS]: two groups that do not meet, or a callback of MPI that waits.  They end when they are
 * killed, or after 180 seconds.
 *
 *   tags       the leaders give MPI_Intercomm_create other tags
 *   leader     the second group names rank 1 as the first group's leader, which is rank 0
 *   late       no hang: the second group computes for SECONDS before it comes to MPI_Intercomm_create
 *   root       rank 1 gives root 0 to MPI_Bcast on an intercommunicator whose root is rank 0 of its own group
 *   handler    rank 1's handler of an error calls MPI_Barrier, the others MPI_Allreduce
 *   finalizer  in a callback of MPI_Finalize, rank 0 waits for a message that nobody sends
 *   line       rank 2 calls MPI_Allreduce on another of three communicators that one line has made
 *   refused    rank 1 sends with a tag that there is not, and MPI ends the job
 *   itself     rank 1 sends itself SIGTERM */
#include "hang.h"
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_mode(const char *mode, const char *name)
{
    return strcmp(mode, name) == 0;
}

static void join_groups(const char *mode, double seconds)
{
    static int data[100000];
    const bool second = me >= 2;
    MPI_Comm local, inter;
    MPI_Comm_split(world, second, me, &local);
    for (double end = MPI_Wtime() + seconds; second && is_mode(mode, "late") && MPI_Wtime() < end;)
        continue;
    const int leader = !second ? 2 : is_mode(mode, "leader");
    MPI_Intercomm_create(local, 0, world, leader, second && is_mode(mode, "tags") ? 8 : 7, &inter);
    const int root = second ? 0 : me == 0 ? MPI_ROOT : is_mode(mode, "root") ? 0 : MPI_PROC_NULL;
    MPI_Bcast(data, 100000, MPI_INT, root, inter);
}

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    MPI_Barrier(world);
}

static int leave(MPI_Comm comm, int key, void *value, void *extra)
{
    int one;
    (void)comm, (void)key, (void)value, (void)extra;
    if (me == 0)
        MPI_Recv(&one, 1, MPI_INT, 1, 9, world, MPI_STATUS_IGNORE);
    return MPI_SUCCESS;
}

static void use_line(void)
{
    MPI_Comm made[3];
    int one = 1, sum;
    for (int i = 0; i < 3; i++)
        MPI_Comm_dup(world, &made[i]);
    for (int step = 0; step < 9; step++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made[me == 2 && step == 7 ? 2 : step % 3]);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int key, one = 1, sum;
    MPI_Errhandler handler;
    alarm(180);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &n);
    warm_up();
    if (is_mode(mode, "handler")) {
        MPI_Comm_create_errhandler(handle, &handler);
        MPI_Comm_set_errhandler(world, handler);
        if (me == 1)
            MPI_Send(&one, 1, MPI_INT, n + 3, 0, world);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
    } else if (is_mode(mode, "finalizer")) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    } else if (is_mode(mode, "line")) {
        use_line();
    } else if (is_mode(mode, "refused") || is_mode(mode, "itself")) {
        sleep(1);
        if (me == 1 && is_mode(mode, "itself"))
            kill(getpid(), SIGTERM);
        if (me == 1)
            MPI_Send(&one, 1, MPI_INT, 0, -7, world);
        MPI_Barrier(world);
    } else {
        join_groups(mode, argc > 2 ? atof(argv[2]) : 0);
    }
    MPI_Finalize();
    return 0;
}
