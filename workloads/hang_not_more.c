/* hang_not_more MODE [seconds]: more healthy programs in which somebody waits for long, or seems to.  All end by
 * themselves after about `seconds` (default 8).
 *
 *   file          rank 2 writes a file for 3 s at a time while the others wait in MPI_Barrier
 *   io_server     rank 0 waits in MPI_Recv for the whole job, for rank 1's word that it is over; the others work
 *   idle_workers  rank 0 has orders for rank 1 only: the others wait in MPI_Recv for theirs
 *   idle_group    ranks 0 and 1 work together; the others have no part and wait in MPI_Barrier for the end
 *   alone         all compute without a call
 *   spawned       a spawned process waits in MPI_Recv for an order that comes at the end
 *   ibarrier      all poll MPI_Test for MPI_Ibarrier while rank 2 computes for 1 s
 *   win_lock      ranks lock, read and unlock the window of rank 0 until it says that it is over
 *   win_wait      rank 0 holds its window locked for 1 s at a time, rank 1 waits for the lock
 *   file_all      rank 2 comes 1 s late to MPI_File_write_at_all
 *   types         MPI_Bcast of 4 ints on one rank and of 16 bytes on the others
 *   late_init     rank 2 calls MPI_Init after `seconds`
 *   neighbor      rank 2 comes 1 s late to MPI_Neighbor_allgather */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int me, n;
static double until;
static const char *program;
static const MPI_Comm world = MPI_COMM_WORLD;

static void compute(double seconds)
{
    volatile double x = 1;
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
        for (int i = 0; i < 10000; i++)
            x = x * 1.0000001 + 1e-9;
}

/* All of `comm` agree on it: the clock of its rank 0. */
static int more(MPI_Comm comm)
{
    int yes = MPI_Wtime() < until;
    MPI_Bcast(&yes, 1, MPI_INT, 0, comm);
    return yes;
}

static void write_file(double seconds)
{
    static char block[1 << 20];
    FILE *f = fopen("hang_not_more.data", "w");
    if (!f)
        return;
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) {
        rewind(f);
        fwrite(block, sizeof block, 1, f);
        fflush(f);
        usleep(200000); /* a slow disk */
    }
    fclose(f);
    remove("hang_not_more.data");
}

static void file(void)
{
    while (more(world)) {
        if (me == 2)
            write_file(3);
        MPI_Barrier(world);
    }
}

static MPI_Comm without(int least)
{
    MPI_Comm some;
    MPI_Comm_split(world, me >= least ? 1 : MPI_UNDEFINED, me, &some);
    return some;
}

static void io_server(void)
{
    int over = 0, sum;
    MPI_Comm workers = without(1);
    if (me == 0)
        MPI_Recv(&over, 1, MPI_INT, 1, 6, world, MPI_STATUS_IGNORE);
    while (me && more(workers)) {
        usleep(100000);
        MPI_Allreduce(&over, &sum, 1, MPI_INT, MPI_SUM, workers);
    }
    if (me == 1)
        MPI_Send(&over, 1, MPI_INT, 0, 6, world);
}

static void idle_workers(void)
{
    int order = 1;
    while (me == 0 && MPI_Wtime() < until) {
        MPI_Send(&order, 1, MPI_INT, 1, 6, world);
        MPI_Recv(&order, 1, MPI_INT, 1, 6, world, MPI_STATUS_IGNORE);
    }
    order = 0;
    for (int r = 1; me == 0 && r < n; r++)
        MPI_Send(&order, 1, MPI_INT, r, 6, world);
    while (me) {
        MPI_Recv(&order, 1, MPI_INT, 0, 6, world, MPI_STATUS_IGNORE);
        if (!order)
            break;
        usleep(200000);
        MPI_Send(&order, 1, MPI_INT, 0, 6, world);
    }
}

static void idle_group(void)
{
    int order = 0;
    MPI_Comm two;
    MPI_Comm_split(world, me < 2 ? 1 : MPI_UNDEFINED, me, &two);
    while (me < 2 && !order) {
        usleep(100000);
        order = me == 0 && MPI_Wtime() > until;
        MPI_Bcast(&order, 1, MPI_INT, 0, two);
    }
    MPI_Barrier(world);
}

static void alone(void)
{
    compute(until - MPI_Wtime());
}

static void spawned(void)
{
    MPI_Comm child, parent;
    char *arguments[] = {"child", NULL};
    int order = 0, sum;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Recv(&order, 1, MPI_INT, 0, 6, parent, MPI_STATUS_IGNORE);
        MPI_Comm_disconnect(&parent);
        return;
    }
    MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, world, &child, MPI_ERRCODES_IGNORE);
    while (more(world)) {
        usleep(100000);
        MPI_Allreduce(&order, &sum, 1, MPI_INT, MPI_SUM, world);
    }
    if (me == 0)
        MPI_Send(&order, 1, MPI_INT, 0, 6, child);
    MPI_Comm_disconnect(&child);
}

static void ibarrier(void)
{
    while (more(world)) {
        MPI_Request request;
        int done = 0;
        if (me == 2)
            compute(1);
        MPI_Ibarrier(world, &request);
        while (!done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

static MPI_Win window(int **memory)
{
    MPI_Win win;
    MPI_Win_allocate(sizeof **memory, sizeof **memory, MPI_INFO_NULL, world, memory, &win);
    **memory = 0;
    MPI_Barrier(world);
    return win;
}

static void win_lock(void)
{
    int *over, seen = 0, one = 1;
    MPI_Win win = window(&over);
    if (me == 0) {
        compute(until - MPI_Wtime());
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    while (me && !seen) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Get(&seen, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Win_free(&win);
}

static void win_wait(void)
{
    int *memory, one = 1;
    MPI_Win win = window(&memory);
    while (more(world)) {
        if (me == 0)
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Barrier(world);
        if (me == 0) {
            usleep(1000000);
            MPI_Win_unlock(0, win);
        }
        if (me == 1) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_unlock(0, win);
        }
    }
    MPI_Win_free(&win);
}

static void file_all(void)
{
    static char block[65536];
    MPI_File f;
    MPI_File_open(world, "hang_not_more.shared", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &f);
    while (more(world)) {
        if (me == 2)
            usleep(1000000);
        MPI_File_write_at_all(f, me * (MPI_Offset)sizeof block, block, sizeof block, MPI_CHAR, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&f);
}

static void types(void)
{
    int four[4] = {0};
    while (more(world)) {
        usleep(50000);
        MPI_Bcast(four, me == 0 ? 4 : 16, me == 0 ? MPI_INT : MPI_BYTE, 0, world);
    }
}

static void neighbor(void)
{
    MPI_Comm cart;
    int periodic = 1, mine = me, of[2];
    MPI_Cart_create(world, 1, &n, &periodic, 0, &cart);
    while (more(world)) {
        if (me == 2)
            usleep(1000000);
        MPI_Neighbor_allgather(&mine, 1, MPI_INT, of, 1, MPI_INT, cart);
    }
}

static void late_init(void)
{
    MPI_Barrier(world);
}

/* The rank before MPI_Init: as the launcher has it. */
static int early_rank(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    return rank ? atoi(rank) : -1;
}

/* A driver sleeps for once, longer than the limit. */
static void asleep(void)
{
    if (me == 0)
        usleep((useconds_t)((until - MPI_Wtime()) * 1e6));
    MPI_Bcast(&me, 1, MPI_INT, 0, world);
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"file", file},
    {"io_server", io_server},
    {"idle_workers", idle_workers},
    {"idle_group", idle_group},
    {"alone", alone},
    {"spawned", spawned},
    {"child", spawned},
    {"ibarrier", ibarrier},
    {"win_lock", win_lock},
    {"win_wait", win_wait},
    {"file_all", file_all},
    {"types", types},
    {"neighbor", neighbor},
    {"late_init", late_init},
    {"asleep", asleep},
};

int main(int argc, char **argv)
{
    size_t mode = 0, count = sizeof modes / sizeof *modes;
    double seconds = argc > 2 ? atof(argv[2]) : 8;
    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "late_init") == 0 && early_rank() == 2)
        usleep((useconds_t)(seconds * 1e6));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &n);
    until = MPI_Wtime() + seconds;
    while (mode < count && (argc < 2 || strcmp(modes[mode].name, argv[1]) != 0))
        mode++;
    if (mode == count) {
        fprintf(stderr, "hang_not_more: no such mode\n");
        MPI_Abort(world, 64);
    }
    modes[mode].run();
    MPI_Finalize();
    return 0;
}
