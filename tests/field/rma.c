/* One-sided programs: epochs that do not fit, locks that are kept, flags that nobody sets. */
#include "field.h"

static MPI_Win win;
static int *memory;

static void open_window(void)
{
    MPI_Win_allocate(100 * sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &memory, &win);
    memset(memory, 0, 100 * sizeof(int));
    MPI_Barrier(WORLD);
}

static void close_window(void)
{
    MPI_Win_free(&win);
}

static void fence(void)
{
    open_window();
    for (int step = 0; step < 40; step++) {
        MPI_Win_fence(0, win);
        MPI_Put(&step, 1, MPI_INT, (rank + 1) % size, 3, 1, MPI_INT, win);
        work(0.002);
        if (rank != 1 || step != 30)
            MPI_Win_fence(0, win);
    }
    MPI_Barrier(WORLD);
    close_window();
}

static MPI_Group group_of(int count, const int *ranks)
{
    MPI_Group world, some;
    MPI_Comm_group(WORLD, &world);
    MPI_Group_incl(world, count, ranks, &some);
    return some;
}

/* Rank 0 puts to 1 and 2; at the end rank 2 does not post any more. */
static void pscw_group(void)
{
    int targets[] = {1, 2}, origin[] = {0};
    MPI_Group to = group_of(2, targets), from = group_of(1, origin);
    open_window();
    for (int step = 0; step < 30; step++) {
        if (rank == 0) {
            MPI_Win_start(to, 0, win);
            MPI_Put(&step, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
            MPI_Put(&step, 1, MPI_INT, 2, 0, 1, MPI_INT, win);
            MPI_Win_complete(win);
        } else if (rank < 3 - (step == 20)) {
            MPI_Win_post(from, 0, win);
            MPI_Win_wait(win);
        }
    }
    MPI_Barrier(WORLD);
    close_window();
}

/* The target waits for the epoch's end, the origin for a message from the target before it ends the epoch. */
static void pscw_cycle(void)
{
    int target[] = {1}, origin[] = {0}, x = 0;
    MPI_Group to = group_of(1, target), from = group_of(1, origin);
    open_window();
    warm(10);
    if (rank == 0) {
        MPI_Win_start(to, 0, win);
        MPI_Put(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Recv(&x, 1, MPI_INT, 1, 2, WORLD, NO_STATUS);
        MPI_Win_complete(win);
    } else if (rank == 1) {
        MPI_Win_post(from, 0, win);
        MPI_Win_wait(win);
        MPI_Send(&x, 1, MPI_INT, 0, 2, WORLD);
    }
    MPI_Barrier(WORLD);
    close_window();
}

/* An exclusive lock that its holder takes into a barrier. */
static void lock_kept(void)
{
    int x = 0;
    open_window();
    warm(10);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Put(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_flush(1, win);
    }
    MPI_Barrier(WORLD);
    if (rank == 2) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Put(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_unlock(1, win);
    }
    MPI_Barrier(WORLD);
    if (rank == 0)
        MPI_Win_unlock(1, win);
    close_window();
}

/* A flag that nobody sets, looked at with lock, get, unlock. */
static void flag(void)
{
    int seen = 0;
    open_window();
    warm(10);
    while (rank == 1 && !seen) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Get(&seen, 1, MPI_INT, 0, 7, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(WORLD);
    if (rank == 0) { /* behind the barrier: too late */
        int one = 1;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&one, 1, MPI_INT, 0, 7, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    close_window();
}

static void flag_ok(void)
{
    int seen = 0, one = 1;
    open_window();
    if (rank == 0) {
        work(9);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&one, 1, MPI_INT, 0, 7, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    while (rank == 1 && !seen) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Get(&seen, 1, MPI_INT, 0, 7, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
        nap(0.002);
    }
    MPI_Barrier(WORLD);
    close_window();
}

/* A spin lock of compare-and-swap that one rank does not give back. */
static void spin_lock(void)
{
    int free_ = 0, taken = 1, was;
    open_window();
    MPI_Win_lock_all(0, win);
    for (int step = 0; step < 10; step++) {
        do {
            MPI_Compare_and_swap(&taken, &free_, &was, MPI_INT, 0, 0, win);
            MPI_Win_flush(0, win);
        } while (was);
        work(0.001);
        if (rank == 2 && step == 4)
            break;
        MPI_Accumulate(&free_, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_flush(0, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(WORLD);
    close_window();
}

/* Two windows, locked in another order by two ranks that both want the lock at once. */
static void two_locks(void)
{
    MPI_Win other;
    int *more, x = 0;
    open_window();
    MPI_Win_allocate(100, 1, MPI_INFO_NULL, WORLD, &more, &other);
    warm(10);
    MPI_Win first = rank == 3 ? other : win, second = rank == 3 ? win : other;
    if (rank == 0 || rank == 3) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, first);
        MPI_Put(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, first);
        MPI_Win_flush(1, first);
        work(0.5);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, second);
        MPI_Put(&x, 1, MPI_INT, 1, 0, 1, MPI_INT, second);
        MPI_Win_flush(1, second);
        MPI_Win_unlock(1, second);
        MPI_Win_unlock(1, first);
    }
    MPI_Barrier(WORLD);
}

static void free_missing(void)
{
    int x = 0;
    open_window();
    warm(20);
    if (rank == 2)
        MPI_Recv(&x, 1, MPI_INT, 0, 3, WORLD, NO_STATUS);
    close_window();
    if (rank == 0)
        MPI_Send(&x, 1, MPI_INT, 2, 3, WORLD);
}

/* Memory that ranks share, and a flag in it on which one rank spins. */
static void shared_spin(void)
{
    MPI_Aint bytes;
    int unit;
    volatile int *flag;
    MPI_Win_allocate_shared(100, 1, MPI_INFO_NULL, WORLD, &memory, &win);
    MPI_Win_shared_query(win, 0, &bytes, &unit, &memory);
    flag = memory;
    if (rank == 0)
        *flag = 0;
    warm(20);
    while (rank == 1 && !*flag)
        ;
    MPI_Barrier(WORLD);
    *flag = 1;
    close_window();
}

/* Tasks by a counter that is fetched and added to. */
static void counter_ok(void)
{
    int one = 1, task = 0, tasks = 120;
    open_window();
    MPI_Win_lock_all(0, win);
    while (task < tasks) {
        MPI_Fetch_and_op(&one, &task, MPI_INT, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win);
        if (task < tasks)
            work(0.05 * (1 + task % 7));
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(WORLD);
    close_window();
}

FIELD_PROGRAMS({"fence", fence, 0}, {"pscw_group", pscw_group, 0}, {"pscw_cycle", pscw_cycle, 0},
               {"lock_kept", lock_kept, 0}, {"flag", flag, 0}, {"flag_ok", flag_ok, 0}, {"spin_lock", spin_lock, 0},
               {"two_locks", two_locks, 0}, {"free_missing", free_missing, 0}, {"shared_spin", shared_spin, 0},
               {"counter_ok", counter_ok, 0})
