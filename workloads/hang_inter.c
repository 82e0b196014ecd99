/* hang_inter MODE [SECONDS]: two groups that do not meet, or a callback of MPI that waits.  They end when they are
 * killed, or after 180 seconds.
 *
 *   tags       the leaders give MPI_Intercomm_create other tags
 *   leader     the second group names rank 1 as the first group's leader, which is rank 0
 *   late       no hang: the second group computes for SECONDS before it comes to MPI_Intercomm_create
 *   root       rank 1 gives root 0 to MPI_Bcast on an intercommunicator whose root is rank 0 of its own group
 *   handler    rank 1's handler of an error calls MPI_Barrier, the others MPI_Allreduce
 *   finalizer  in a callback of MPI_Finalize, rank 0 waits for a message that nobody sends
 *   group      rank 2 counts tags of MPI_Comm_create_group otherwise than ranks 0 and 1; rank 3 is in a barrier
 *   member     rank 1 does not come to MPI_Comm_create_group of ranks 0 to 2, but to the barrier
 *   signal     a signal's handler of rank 0 calls MPI_Barrier inside MPI_Allreduce, to which rank 3 comes late
 *   listener   rank 1 waits for a condition that nobody signals; a thread of it waits for orders
 *   offset     rank 3 gives a negative offset to MPI_File_write_at_all, and goes on to a barrier
 *   win_test   rank 0 polls with MPI_Win_test for the epoch of rank 2, which is in a barrier
 *   line       rank 2 calls MPI_Allreduce on another of three communicators that one line has made
 *   refused    rank 1 sends with a tag that there is not, and MPI ends the job
 *   itself     rank 1 sends itself SIGTERM */
#include "hang.h"
#include <pthread.h>
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

static void make_group(const char *mode)
{
    const int three[] = {0, 1, 2}, two[] = {2, 3};
    int tag = 4;
    MPI_Group all, some;
    MPI_Comm made;
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 2, two, &some);
    if (me >= 2 && is_mode(mode, "group"))
        MPI_Comm_create_group(world, some, tag++, &made);
    MPI_Group_incl(all, 3, three, &some);
    if (me < 3 && !(me == 1 && is_mode(mode, "member")))
        MPI_Comm_create_group(world, some, tag, &made);
    MPI_Barrier(world);
}

static void meet(int number)
{
    (void)number;
    MPI_Barrier(world);
}

static void interrupt(void)
{
    int one = 1, sum;
    signal(SIGALRM, meet);
    if (me == 0)
        alarm(1);
    if (me == 3)
        sleep(3);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
    MPI_Barrier(world);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
}

static void *serve(void *comm)
{
    for (int order = 0; order >= 0;)
        MPI_Recv(&order, 1, MPI_INT, MPI_ANY_SOURCE, 3, *(MPI_Comm *)comm, MPI_STATUS_IGNORE);
    return NULL;
}

static void listen_only(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    static MPI_Comm orders;
    pthread_t thread;
    MPI_Comm_dup(world, &orders);
    if (me == 1) {
        pthread_create(&thread, NULL, serve, &orders);
        pthread_mutex_lock(&mutex);
        pthread_cond_wait(&never, &mutex);
    }
    MPI_Barrier(world);
}

static void write_file(void)
{
    MPI_File file;
    MPI_File_open(world, "offset.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, me == 3 ? -8 : 8 * me, &me, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Barrier(world);
}

static void test_epoch(void)
{
    const int origin[] = {1, 2}, target[] = {0};
    int room[4] = {0}, done = 0;
    MPI_Group all, origins, targets;
    MPI_Win win;
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 2, origin, &origins);
    MPI_Group_incl(all, 1, target, &targets);
    MPI_Win_create(room, sizeof room, sizeof *room, MPI_INFO_NULL, world, &win);
    if (me == 0)
        for (MPI_Win_post(origins, 0, win); !done;)
            MPI_Win_test(win, &done);
    if (me == 1) {
        MPI_Win_start(targets, 0, win);
        MPI_Put(&me, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
        MPI_Win_complete(win);
    }
    MPI_Barrier(world);
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

/* Two models: rank 1 leaves out a reduction to the other one once. */
static void couple(void)
{
    MPI_Comm part, both;
    MPI_Comm_split(world, me == 3, me, &part);
    MPI_Intercomm_create(part, 0, world, me == 3 ? 0 : 3, 4, &both);
    for (int step = 0, sum; step < 9; step++) {
        if (me != 1 || step != 6)
            MPI_Reduce(&me, &sum, 1, MPI_INT, MPI_SUM, me == 3 ? MPI_ROOT : 0, both);
        MPI_Barrier(part);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int key, one = 1, sum;
    MPI_Errhandler handler;
    alarm(180);
    MPI_Init_thread(&argc, &argv, is_mode(mode, "listener") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &key);
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
    } else if (is_mode(mode, "group") || is_mode(mode, "member")) {
        make_group(mode);
    } else if (is_mode(mode, "signal")) {
        interrupt();
    } else if (is_mode(mode, "listener")) {
        listen_only();
    } else if (is_mode(mode, "offset")) {
        write_file();
    } else if (is_mode(mode, "win_test")) {
        test_epoch();
    } else if (is_mode(mode, "line")) {
        use_line();
    } else if (is_mode(mode, "models")) {
        couple();
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
