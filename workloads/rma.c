/* rma: one-sided communication with every kind of synchronisation, TIMES rounds, target = next rank.
 * Truth per rank: bytes are the origin's; nothing is charged to targets and there are no point-to-point pairs.
 *   Fence:   Put 80 B, Get 40 B, Accumulate 16 B
 *   PSCW:    Put 24 B
 *   Lock:    Get_accumulate 8 B (both ways), Fetch_and_op 8 B (both), Compare_and_swap 8 B (both)
 *   Lock_all: Rput 32 B, Rget 48 B, Raccumulate 8 B, Rget_accumulate 8 B (both), completed by MPI_Wait
 *   a Put to MPI_PROC_NULL in the fence epoch moves nothing */
#include "truth.h"
#include <mpi.h>

#define TIMES 10

static void answer(int n)
{
    truth_frame(n);
    for (int r = 0; r < n; r++) {
        truth_call(r, "MPI_Win_create", 1, 0, 0);
        truth_call(r, "MPI_Win_allocate", 1, 0, 0);
        truth_call(r, "MPI_Win_free", 2, 0, 0);
        truth_call(r, "MPI_Comm_group", 1, 0, 0);
        truth_call(r, "MPI_Group_incl", 2, 0, 0);
        truth_call(r, "MPI_Group_free", 3, 0, 0);
        truth_call(r, "MPI_Barrier", TIMES, 0, 0);
        truth_call(r, "MPI_Win_fence", 2 * TIMES, 0, 0);
        truth_call(r, "MPI_Put", 3 * TIMES, TIMES * (80 + 24), 0);
        truth_call(r, "MPI_Get", TIMES, 0, TIMES * 40);
        truth_call(r, "MPI_Accumulate", TIMES, TIMES * 16, 0);
        truth_call(r, "MPI_Win_post", TIMES, 0, 0);
        truth_call(r, "MPI_Win_start", TIMES, 0, 0);
        truth_call(r, "MPI_Win_complete", TIMES, 0, 0);
        truth_call(r, "MPI_Win_wait", TIMES, 0, 0);
        truth_call(r, "MPI_Win_lock", TIMES, 0, 0);
        truth_call(r, "MPI_Win_unlock", TIMES, 0, 0);
        truth_call(r, "MPI_Win_flush", TIMES, 0, 0);
        truth_call(r, "MPI_Get_accumulate", TIMES, TIMES * 8, TIMES * 8);
        truth_call(r, "MPI_Fetch_and_op", TIMES, TIMES * 8, TIMES * 8);
        truth_call(r, "MPI_Compare_and_swap", TIMES, TIMES * 8, TIMES * 8);
        truth_call(r, "MPI_Win_lock_all", TIMES, 0, 0);
        truth_call(r, "MPI_Win_unlock_all", TIMES, 0, 0);
        truth_call(r, "MPI_Rput", TIMES, TIMES * 32, 0);
        truth_call(r, "MPI_Rget", TIMES, 0, TIMES * 48);
        truth_call(r, "MPI_Raccumulate", TIMES, TIMES * 8, 0);
        truth_call(r, "MPI_Rget_accumulate", TIMES, TIMES * 8, TIMES * 8);
        truth_call(r, "MPI_Wait", 4 * TIMES, 0, 0);
    }
}

static void fence(MPI_Win win, int to)
{
    double a[10] = {0}, b[10];
    MPI_Win_fence(0, win);
    MPI_Put(a, 10, MPI_DOUBLE, to, 0, 10, MPI_DOUBLE, win);
    MPI_Put(a, 10, MPI_DOUBLE, MPI_PROC_NULL, 0, 10, MPI_DOUBLE, win);
    MPI_Get(b, 5, MPI_DOUBLE, to, 20, 5, MPI_DOUBLE, win);
    MPI_Accumulate(a, 2, MPI_DOUBLE, to, 30, 2, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_fence(0, win);
}

static void lock(MPI_Win win, int to)
{
    double one = 1, old;
    long expected = 0, wanted = 1, before;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
    MPI_Get_accumulate(&one, 1, MPI_DOUBLE, &old, 1, MPI_DOUBLE, to, 40, 1, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_flush(to, win);
    MPI_Fetch_and_op(&one, &old, MPI_DOUBLE, to, 41, MPI_SUM, win);
    MPI_Compare_and_swap(&wanted, &expected, &before, MPI_LONG, to, 42, win);
    MPI_Win_unlock(to, win);
}

static void lock_all(MPI_Win win, int to)
{
    double a[8] = {0}, b[8], c[8] = {0}, d[8] = {0}, e[8];
    MPI_Request r[4];
    MPI_Win_lock_all(0, win);
    MPI_Rput(a, 4, MPI_DOUBLE, to, 0, 4, MPI_DOUBLE, win, &r[0]);
    MPI_Rget(b, 6, MPI_DOUBLE, to, 10, 6, MPI_DOUBLE, win, &r[1]);
    MPI_Raccumulate(c, 1, MPI_DOUBLE, to, 20, 1, MPI_DOUBLE, MPI_SUM, win, &r[2]);
    MPI_Rget_accumulate(d, 1, MPI_DOUBLE, e, 1, MPI_DOUBLE, to, 30, 1, MPI_DOUBLE, MPI_SUM, win, &r[3]);
    for (int i = 0; i < 4; i++)
        MPI_Wait(&r[i], MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(win);
}

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    static double room[64];
    double *base, three[3] = {0};
    MPI_Win win, own;
    MPI_Group world, to_group, from_group;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int to = (me + 1) % n, from = (me + n - 1) % n;
    MPI_Win_create(room, sizeof room, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_allocate(64 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &own);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &to, &to_group);
    MPI_Group_incl(world, 1, &from, &from_group);
    for (int i = 0; i < TIMES; i++) {
        fence(win, to);
        MPI_Win_post(from_group, 0, own);
        MPI_Win_start(to_group, 0, own);
        MPI_Put(three, 3, MPI_DOUBLE, to, 0, 3, MPI_DOUBLE, own);
        MPI_Win_complete(own);
        MPI_Win_wait(own);
        lock(own, to);
        MPI_Barrier(MPI_COMM_WORLD);
        lock_all(own, to);
    }
    MPI_Group_free(&to_group);
    MPI_Group_free(&from_group);
    MPI_Group_free(&world);
    MPI_Win_free(&win);
    MPI_Win_free(&own);
    if (me == 0) {
        answer(n);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
