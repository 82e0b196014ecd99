/* Collectives: one rank that misses, swaps, repeats or mistakes them; order, roots, communicators. */
#include "field.h"

static double a[BIG], b[BIG];

static void sum(MPI_Comm c)
{
    MPI_Allreduce(a, b, 10, MPI_DOUBLE, MPI_SUM, c);
}

/* One rank does not come to a broadcast, since its branch says that there is nothing to do. */
static void branch(void)
{
    for (int step = 0; step < 40; step++) {
        work(0.002);
        if (rank != 2 || step != 25)
            MPI_Allgather(a, 10, MPI_DOUBLE, b, 10, MPI_DOUBLE, WORLD);
        MPI_Barrier(WORLD);
    }
}

/* The same, and then it waits for a message instead. */
static void branch_recv(void)
{
    int x = 0;
    warm(20);
    if (rank == 2)
        MPI_Recv(&x, 1, MPI_INT, 0, 1, WORLD, NO_STATUS);
    sum(WORLD);
    if (rank == 0)
        MPI_Send(&x, 1, MPI_INT, 2, 1, WORLD);
    MPI_Barrier(WORLD);
}

static void wrong_root(void)
{
    warm(20);
    MPI_Gather(a, 10, MPI_DOUBLE, b, 10, MPI_DOUBLE, rank == 3 ? 1 : 0, WORLD);
    MPI_Barrier(WORLD);
}

static void wrong_root_bcast(void)
{
    warm(20);
    for (int step = 0; step < 20; step++)
        MPI_Bcast(a, BIG, MPI_DOUBLE, step == 15 && rank == 1 ? 1 : 2, WORLD);
    MPI_Barrier(WORLD);
}

static void wrong_comm(void)
{
    MPI_Comm dup;
    MPI_Comm_dup(WORLD, &dup);
    for (int step = 0; step < 40; step++) {
        work(0.002);
        MPI_Barrier(rank == 1 && step == 20 ? dup : WORLD);
        sum(dup);
    }
}

static void grid(MPI_Comm *row, MPI_Comm *column)
{
    MPI_Comm_split(WORLD, rank / 2, rank, row);
    MPI_Comm_split(WORLD, rank % 2, rank, column);
    MPI_Comm_set_name(*row, "row");
    MPI_Comm_set_name(*column, "column");
}

/* Rows and columns of a 2 x 2 grid, in another order on some ranks. */
static void swap_order(bool swaps)
{
    MPI_Comm row, column;
    grid(&row, &column);
    for (int step = 0; step < 40; step++) {
        bool other = swaps && step == 20;
        work(0.002);
        MPI_Barrier(other ? column : row);
        MPI_Barrier(other ? row : column);
    }
    MPI_Barrier(WORLD);
}

static void swapped(void)
{
    swap_order(rank == 0 || rank == 3);
}

/* A rank alone has no circle: its row waits a little. */
static void swapped_ok(void)
{
    swap_order(rank == 0);
}

static void one_more(void)
{
    for (int step = 0; step < 40 + (rank == 0); step++)
        sum(WORLD);
    MPI_Barrier(WORLD);
}

static void one_more_finalize(void)
{
    for (int step = 0; step < 40 + (rank == 0); step++) {
        work(0.002);
        sum(WORLD);
    }
}

/* Each decides by its own residual when it has converged. */
static void converged(void)
{
    double error = 1, mine;
    for (int step = 0; error > 0.001 + (rank == 2) * 1e-4; step++) {
        work(0.002);
        mine = 1.0 / (step + 1) / (step + 1);
        MPI_Allreduce(&mine, &error, 1, MPI_DOUBLE, MPI_MAX, WORLD);
    }
    MPI_Gather(a, 100, MPI_DOUBLE, b, 100, MPI_DOUBLE, 0, WORLD);
    MPI_Barrier(WORLD);
}

static void alltoallv(void)
{
    int count[8], received[8], at[8];
    for (int step = 0; step < 20; step++) {
        for (int r = 0; r < size; r++)
            count[r] = received[r] = 10, at[r] = 10 * r;
        if (rank == 0 && step == 15)
            count[2] = 0; /* has nothing for rank 2, and did not tell */
        MPI_Alltoallv(a, count, at, MPI_DOUBLE, b, received, at, MPI_DOUBLE, WORLD);
    }
    MPI_Barrier(WORLD);
}

/* Two started collectives in another order on one rank. */
static void started_order(void)
{
    MPI_Request r[2];
    warm(20);
    for (int step = 0; step < 20; step++) {
        bool other = rank == 3 && step == 10;
        if (other)
            MPI_Iallreduce(a, b, 10, MPI_DOUBLE, MPI_SUM, WORLD, &r[0]);
        MPI_Ibarrier(WORLD, &r[1]);
        if (!other)
            MPI_Iallreduce(a, b, 10, MPI_DOUBLE, MPI_SUM, WORLD, &r[0]);
        work(0.002);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    MPI_Barrier(WORLD);
}

/* One rank starts no Ibarrier, the others test for it between their steps. */
static void started_missing(void)
{
    MPI_Request r;
    warm(20);
    if (rank != 1) {
        int done = 0;
        for (MPI_Ibarrier(WORLD, &r); !done;) {
            work(0.01);
            MPI_Test(&r, &done, NO_STATUS);
        }
    }
    sum(WORLD);
}

static void split_missing(void)
{
    MPI_Comm part;
    int x;
    warm(20);
    if (rank == 3) /* "I have no work, so I need no communicator" */
        MPI_Recv(&x, 1, MPI_INT, 0, 9, WORLD, NO_STATUS);
    MPI_Comm_split(WORLD, rank % 2, 0, &part);
    if (rank == 0)
        MPI_Send(&rank, 1, MPI_INT, 3, 9, WORLD);
    MPI_Comm_free(&part);
}

static void dup_of_other(void)
{
    MPI_Comm row, column, dup;
    grid(&row, &column);
    warm(10);
    MPI_Comm_dup(rank == 1 ? WORLD : row, &dup);
    MPI_Barrier(WORLD);
}

/* A sum by hand along a binary tree for 5 ranks; the root takes no notice of the last one. */
static void tree(void)
{
    double mine = rank, theirs;
    warm(10);
    for (int d = 1; d < size; d *= 2) {
        if (rank % (2 * d)) {
            MPI_Ssend(&mine, 1, MPI_DOUBLE, rank - d, 1, WORLD);
            break;
        }
        if (rank + d < size - 1) {
            MPI_Recv(&theirs, 1, MPI_DOUBLE, rank + d, 1, WORLD, NO_STATUS);
            mine += theirs;
        }
    }
    MPI_Bcast(&mine, 1, MPI_DOUBLE, 0, WORLD);
}

/* A butterfly by hand: one partner is wrong. */
static void butterfly(void)
{
    double mine = rank, theirs;
    warm(10);
    for (int step = 0; step < 30; step++) {
        for (int d = 1; d < size; d *= 2) {
            int partner = rank ^ d;
            if (rank == 1 && step == 20 && d == 2)
                partner = 2;
            MPI_Sendrecv(&mine, 1, MPI_DOUBLE, partner, step, &theirs, 1, MPI_DOUBLE, partner, step, WORLD, NO_STATUS);
            mine += theirs;
        }
    }
    MPI_Barrier(WORLD);
}

static MPI_Comm intercomm(void)
{
    MPI_Comm half, inter;
    MPI_Comm_split(WORLD, rank / 2, 0, &half);
    MPI_Intercomm_create(half, 0, WORLD, rank < 2 ? 2 : 0, 5, &inter);
    return inter;
}

/* Across two groups: nobody of the first says that it is the root. */
static void inter_root(void)
{
    MPI_Comm inter = intercomm();
    for (int step = 0; step < 30; step++) {
        int root = rank >= 2 ? 0 : rank == 0 && step < 20 ? MPI_ROOT : MPI_PROC_NULL;
        MPI_Bcast(a, 4000, MPI_DOUBLE, root, inter);
    }
    MPI_Barrier(WORLD);
}

static void inter_recv(void)
{
    MPI_Comm inter = intercomm();
    int x = rank;
    for (int step = 0; step < 30; step++) {
        if (rank < 2)
            MPI_Send(&x, 1, MPI_INT, step == 20 && rank == 1 ? 0 : rank, 1, inter); /* sent to the wrong rank */
        else
            MPI_Recv(&x, 1, MPI_INT, rank - 2, 1, inter, NO_STATUS);
        MPI_Barrier(WORLD);
    }
}

/* A rank of one row sleeps; its row waits, and everybody waits for the row. */
static void row_sleeps(void)
{
    MPI_Comm row, column;
    grid(&row, &column);
    for (int step = 0; step < 40; step++) {
        work(0.002);
        if (rank == 3 && step == 30)
            nap(1000);
        sum(row);
        if (step % 10 == 9)
            sum(WORLD);
    }
}

/* The root of a reduction goes on to a message from one whose contribution it got; the other waits for the result. */
static void reduce_then_recv(void)
{
    int x = rank;
    for (int step = 0; step < 30; step++) {
        MPI_Reduce(a, b, 10, MPI_DOUBLE, MPI_SUM, 0, WORLD);
        if (rank == 0)
            MPI_Recv(&x, 1, MPI_INT, 1, step, WORLD, NO_STATUS);
        if (rank == 1)
            MPI_Send(&x, 1, MPI_INT, 0, step == 20 ? 21 : step, WORLD);
        MPI_Barrier(WORLD);
    }
}

/* Ranks with data make a communicator; one rank believes that it has none. */
static void create_group(void)
{
    MPI_Group world, some;
    MPI_Comm part;
    int members[] = {0, 1, 3};
    MPI_Comm_group(WORLD, &world);
    warm(10);
    MPI_Group_incl(world, 3, members, &some);
    if (rank != 2 && rank != 1)
        MPI_Comm_create_group(WORLD, some, 5, &part);
    MPI_Barrier(WORLD);
}

FIELD_PROGRAMS({"branch", branch, 0}, {"branch_recv", branch_recv, 0}, {"wrong_root", wrong_root, 0},
               {"wrong_root_bcast", wrong_root_bcast, 0}, {"wrong_comm", wrong_comm, 0}, {"swapped", swapped, 0},
               {"swapped_ok", swapped_ok, 0}, {"one_more", one_more, 0}, {"one_more_finalize", one_more_finalize, 0},
               {"converged", converged, 0}, {"alltoallv", alltoallv, 0}, {"started_order", started_order, 0},
               {"started_missing", started_missing, 0}, {"split_missing", split_missing, 0},
               {"dup_of_other", dup_of_other, 0}, {"tree", tree, 0}, {"butterfly", butterfly, 0},
               {"inter_root", inter_root, 0}, {"inter_recv", inter_recv, 0}, {"row_sleeps", row_sleeps, 0},
               {"reduce_then_recv", reduce_then_recv, 0}, {"create_group", create_group, 0})
