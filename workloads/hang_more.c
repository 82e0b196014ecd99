/* hang_more MODE: more programs that hang on purpose after a few calls that work: windows, files, topologies, threads.
 * They end when they are killed, or after 180 seconds.  Ranks outside the trouble go on to MPI_Barrier.
 *
 *   win_lock        rank 1 locks the window of rank 0 and sleeps, as do 0 and 3; rank 2 wants that lock
 *   win_shared      the same, but rank 1 shares its lock with whoever wants that; rank 2 wants it for itself
 *   win_lock_order  rank 1 goes to MPI_Barrier without having unlocked
 *   win_fence       rank 2 sleeps instead of coming to MPI_Win_fence
 *   win_post        rank 1 waits in MPI_Win_complete for rank 0, which never posts and is in MPI_Barrier
 *   file_all        rank 2 sleeps instead of coming to MPI_File_write_at_all
 *   file_close      rank 2 forgets MPI_File_close and goes to MPI_Barrier
 *   split           rank 2 sleeps instead of coming to MPI_Comm_split
 *   inter_root      both sides of an intercommunicator expect MPI_Bcast's data from the other
 *   neighbor        rank 2 leaves out MPI_Neighbor_allgather on a ring, and sleeps
 *   neighbor_other  rank 2 leaves it out, and goes to MPI_Barrier
 *   ssend_self      rank 0 calls MPI_Ssend to itself
 *   lock_order      two threads a rank, each with a communicator: the ranks let in another one first
 *   taken_by_any    rank 1 takes what rank 0 sent by a receive from any source, and then waits for it by name
 *   truncate        rank 1 sends 8 bytes, rank 0 receives 4: MPI ends the job
 *   partition       rank 1 never calls MPI_Pready for the last of four partitions that rank 0 waits for */
#include "hang.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static MPI_Win window(void)
{
    MPI_Win win;
    int *memory;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, world, &memory, &win);
    return win;
}

static void lock_and(int kind, void (*then)(void))
{
    MPI_Win win = window();
    int one = 1;
    if (me == 1) {
        MPI_Win_lock(kind, 0, 0, win);
        MPI_Get(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
    }
    MPI_Barrier(world);
    if (me != 2 && then)
        then();
    if (me == 2) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
}

static void win_lock(void)
{
    lock_and(MPI_LOCK_EXCLUSIVE, sleep_for_ever);
}

static void win_shared(void)
{
    lock_and(MPI_LOCK_SHARED, sleep_for_ever);
}

static void win_lock_order(void)
{
    lock_and(MPI_LOCK_EXCLUSIVE, NULL);
}

static void win_fence(void)
{
    MPI_Win win = window();
    MPI_Win_fence(0, win);
    if (me == 2)
        sleep_for_ever();
    MPI_Win_fence(0, win);
}

static void win_post(void)
{
    MPI_Win win = window();
    MPI_Group all, zero;
    int first = 0;
    if (me != 1)
        return;
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 1, &first, &zero);
    MPI_Win_start(zero, 0, win);
    MPI_Win_complete(win);
}

static MPI_File file(void)
{
    MPI_File file;
    MPI_File_open(world, "hang_more.data", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    return file;
}

static void file_all(void)
{
    static char block[65536];
    MPI_File f = file();
    MPI_File_write_at_all(f, me * (MPI_Offset)sizeof block, block, sizeof block, MPI_CHAR, MPI_STATUS_IGNORE);
    if (me == 2)
        sleep_for_ever();
    MPI_File_write_at_all(f, me * (MPI_Offset)sizeof block, block, sizeof block, MPI_CHAR, MPI_STATUS_IGNORE);
}

static void file_close(void)
{
    MPI_File f = file();
    if (me != 2)
        MPI_File_close(&f);
}

static void split(void)
{
    MPI_Comm half;
    if (me == 2)
        sleep_for_ever();
    MPI_Comm_split(world, me % 2, me, &half);
}

static void inter_root(void)
{
    MPI_Comm half, both;
    int one = 1;
    MPI_Comm_split(world, me % 2, me, &half);
    MPI_Intercomm_create(half, 0, world, 1 - me % 2, 11, &both);
    MPI_Bcast(&one, 1, MPI_INT, 0, both);
}

static void ring(void (*then)(void))
{
    MPI_Comm cart;
    int periodic = 1, mine = me, of[2];
    MPI_Cart_create(world, 1, &n, &periodic, 0, &cart);
    for (int i = 0; i < 5; i++)
        MPI_Neighbor_allgather(&mine, 1, MPI_INT, of, 1, MPI_INT, cart);
    if (me == 2 && then)
        then();
    if (me != 2)
        MPI_Neighbor_allgather(&mine, 1, MPI_INT, of, 1, MPI_INT, cart);
}

static void neighbor(void)
{
    ring(sleep_for_ever);
}

static void neighbor_other(void)
{
    ring(NULL);
}

static void ssend_self(void)
{
    char byte = 0;
    if (me == 0)
        MPI_Ssend(&byte, 1, MPI_CHAR, 0, 3, world);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *behind_mutex(void *comm_of_thread)
{
    pthread_mutex_lock(&mutex);
    MPI_Barrier(*(MPI_Comm *)comm_of_thread);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void lock_order(void)
{
    MPI_Comm comm[2];
    pthread_t other[2];
    MPI_Comm_dup(world, &comm[0]);
    MPI_Comm_dup(world, &comm[1]);
    MPI_Comm_set_name(comm[0], "A");
    MPI_Comm_set_name(comm[1], "B");
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&other[i], NULL, behind_mutex, &comm[(i + me) % 2]))
            MPI_Abort(world, 99);
        usleep(300000); /* the first one has the mutex */
    }
    pthread_join(other[0], NULL);
    pthread_join(other[1], NULL);
}

static void taken_by_any(void)
{
    int one = 1;
    MPI_Request request;
    if (me == 0)
        MPI_Send(&one, 1, MPI_INT, 1, 7, world);
    if (me == 1) {
        MPI_Irecv(&one, 1, MPI_INT, MPI_ANY_SOURCE, 7, world, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Recv(&one, 1, MPI_INT, 0, 7, world, MPI_STATUS_IGNORE);
    }
}

static void truncate_it(void)
{
    int pair[2] = {0};
    MPI_Datatype one; /* nobody has used it before */
    MPI_Type_contiguous(1, MPI_INT, &one);
    MPI_Type_commit(&one);
    if (me == 1)
        MPI_Send(pair, 2, one, 0, 4, world);
    if (me == 0)
        MPI_Recv(pair, 1, one, 1, 4, world, MPI_STATUS_IGNORE);
}

static void partition(void)
{
#if MPI_VERSION >= 4
    static int data[4];
    MPI_Request request;
    if (me == 0)
        MPI_Precv_init(data, 4, 1, MPI_INT, 1, 5, world, MPI_INFO_NULL, &request);
    else if (me == 1)
        MPI_Psend_init(data, 4, 1, MPI_INT, 0, 5, world, MPI_INFO_NULL, &request);
    for (int round = 0; me < 2 && round < 2; round++) {
        MPI_Start(&request);
        for (int i = 0; me == 1 && i < 4 - round; i++)
            MPI_Pready(i, request);
        if (me == 0 || round == 0)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
#else
    fprintf(stderr, "hang_more: this MPI has no partitions\n");
    MPI_Abort(world, 77);
#endif
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"win_lock", win_lock},
    {"win_lock_order", win_lock_order},
    {"win_fence", win_fence},
    {"win_post", win_post},
    {"file_all", file_all},
    {"file_close", file_close},
    {"split", split},
    {"inter_root", inter_root},
    {"neighbor", neighbor},
    {"neighbor_other", neighbor_other},
    {"ssend_self", ssend_self},
    {"lock_order", lock_order},
    {"truncate", truncate_it},
    {"partition", partition},
    {"taken_by_any", taken_by_any},
    {"win_shared", win_shared},
};

int main(int argc, char **argv)
{
    int level;
    size_t mode = 0, count = sizeof modes / sizeof *modes;
    alarm(180);
    MPI_Init_thread(&argc, &argv,
                    argc > 1 && strcmp(argv[1], "lock_order") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &n);
    while (mode < count && (argc < 2 || strcmp(modes[mode].name, argv[1]) != 0))
        mode++;
    if (mode == count) {
        fprintf(stderr, "hang_more: no such mode\n");
        MPI_Abort(world, 64);
    }
    warm_up();
    modes[mode].run();
    MPI_Barrier(world);
    sleep_for_ever();
}
