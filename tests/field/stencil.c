/* Stencil codes: halos exchanged in every way, and what goes wrong with them. */
#include "field.h"

#define N 1000

static double left_in[N], right_in[N], left_out[N], right_out[N];
static int left, right;

static void neighbours(void)
{
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
}

static void residual(void)
{
    double mine = rank, sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, WORLD);
}

/* One exchange with both neighbours; `tags` are the tags of this rank's sends. */
static void post(MPI_Request *r, int in_tag, int out_tag)
{
    MPI_Irecv(left_in, N, MPI_DOUBLE, left, in_tag, WORLD, &r[0]);
    MPI_Irecv(right_in, N, MPI_DOUBLE, right, in_tag + 1000, WORLD, &r[1]);
    MPI_Isend(right_out, N, MPI_DOUBLE, right, out_tag, WORLD, &r[2]);
    MPI_Isend(left_out, N, MPI_DOUBLE, left, out_tag + 1000, WORLD, &r[3]);
}

static void ok(void)
{
    neighbours();
    for (double end = now() + 10, go = 1; go > 0;) {
        MPI_Request r[4];
        post(r, 1, 1);
        work(0.002);
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        double mine = now() < end;
        MPI_Allreduce(&mine, &go, 1, MPI_DOUBLE, MPI_MIN, WORLD);
    }
}

static void steps(int count, int wrong_rank, int wrong_step, int off)
{
    neighbours();
    for (int step = 0; step < count; step++) {
        MPI_Request r[4];
        post(r, step, rank == wrong_rank && step == wrong_step ? step + off : step);
        work(0.002);
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        if (step % 10 == 9)
            residual();
    }
}

static void wrong_tag(void)
{
    steps(200, 2, 50, 500);
}

/* A ring of blocking sends that only small messages survive. */
static void blocking_ring(void)
{
    double *in = calloc(BIG, sizeof *in), *out = calloc(BIG, sizeof *out);
    neighbours();
    for (int n = 100; n <= BIG; n *= 4) {
        MPI_Send(out, n, MPI_DOUBLE, right, 3, WORLD);
        MPI_Recv(in, n, MPI_DOUBLE, left, 3, WORLD, NO_STATUS);
        residual();
    }
}

/* The same without the ends tied: it resolves from the last rank on, so it is right. */
static void blocking_line_ok(void)
{
    double *in = calloc(BIG, sizeof *in), *out = calloc(BIG, sizeof *out);
    for (int step = 0; step < 60; step++) {
        if (rank < size - 1)
            MPI_Send(out, BIG, MPI_DOUBLE, rank + 1, 3, WORLD);
        if (rank > 0)
            MPI_Recv(in, BIG, MPI_DOUBLE, rank - 1, 3, WORLD, NO_STATUS);
        work(0.1);
    }
    residual();
}

/* The message to the left is not sent at one step: an `if` too many. */
static void waitany_unsent(void)
{
    neighbours();
    for (int step = 0; step < 100; step++) {
        MPI_Request r[4];
        bool skip = rank == 3 && step == 40;
        MPI_Irecv(left_in, N, MPI_DOUBLE, left, step, WORLD, &r[0]);
        MPI_Irecv(right_in, N, MPI_DOUBLE, right, step + 1000, WORLD, &r[1]);
        MPI_Isend(right_out, N, MPI_DOUBLE, right, step, WORLD, &r[2]);
        if (!skip)
            MPI_Isend(left_out, N, MPI_DOUBLE, left, step + 1000, WORLD, &r[3]);
        for (int i = 0, which; i < 4 - skip; i++)
            MPI_Waitany(4 - skip, r, &which, NO_STATUS);
    }
    residual();
}

/* Counts one completion too many: for ever MPI_UNDEFINED. */
static void waitsome_count(void)
{
    neighbours();
    for (int step = 0; step < 100; step++) {
        MPI_Request r[4];
        int which[4], done = 0, n, want = rank == 1 && step == 30 ? 5 : 4;
        post(r, step, step);
        while (done < want) {
            MPI_Waitsome(4, r, &n, which, MPI_STATUSES_IGNORE);
            if (n != MPI_UNDEFINED)
                done += n;
        }
        residual();
    }
}

static void testsome_ok(void)
{
    neighbours();
    for (int step = 0; step < 20; step++) {
        MPI_Request r[4];
        int which[4], done = 0, n;
        if (step % size == rank)
            work(0.5);
        post(r, step, step);
        while (done < 4) {
            MPI_Testsome(4, r, &n, which, MPI_STATUSES_IGNORE);
            done += n != MPI_UNDEFINED ? n : 0;
        }
    }
}

static void persistent(void)
{
    MPI_Request r[4];
    neighbours();
    MPI_Recv_init(left_in, N, MPI_DOUBLE, left, 1, WORLD, &r[0]);
    MPI_Recv_init(right_in, N, MPI_DOUBLE, right, 2, WORLD, &r[1]);
    MPI_Send_init(left_out, N, MPI_DOUBLE, left, 2, WORLD, &r[2]);
    MPI_Send_init(right_out, N, MPI_DOUBLE, right, 1, WORLD, &r[3]);
    for (int step = 0; step < 60; step++) {
        MPI_Startall(rank == 1 && step == 20 ? 3 : 4, r); /* the last one is forgotten */
        work(0.002);
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    }
    residual();
}

static void shift(void)
{
    neighbours();
    for (int step = 0; step < 50; step++) {
        int to = rank == 3 && step == 30 ? (rank + 2) % size : right;
        MPI_Sendrecv(right_out, N, MPI_DOUBLE, to, 5, left_in, N, MPI_DOUBLE, left, 5, WORLD, NO_STATUS);
        residual();
    }
}

/* One rank makes one step less. */
static void one_step_less(void)
{
    steps(rank == 2 ? 49 : 50, -1, 0, 0);
    MPI_Barrier(WORLD);
}

static MPI_Comm graph(void)
{
    MPI_Comm g;
    neighbours();
    int around[2] = {left, right};
    MPI_Dist_graph_create_adjacent(WORLD, 2, around, MPI_UNWEIGHTED, 2, around, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &g);
    return g;
}

static void neighbour_missing(void)
{
    MPI_Comm g = graph();
    double out[2] = {rank, rank}, in[2];
    for (int step = 0; step < 30; step++) {
        if (rank != 2 || step != 29)
            MPI_Neighbor_alltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, g);
        work(0.002);
    }
    MPI_Barrier(WORLD);
}

/* Rank 0 takes rank 2 for a source; rank 2 does not know. */
static void neighbour_lopsided(void)
{
    MPI_Comm g;
    neighbours();
    int in[3] = {left, right, 2}, out[2] = {left, right};
    double mine = rank, theirs[3];
    warm(10);
    MPI_Dist_graph_create_adjacent(WORLD, rank == 0 ? 3 : 2, in, MPI_UNWEIGHTED, 2, out, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   0, &g);
    MPI_Neighbor_allgather(&mine, 1, MPI_DOUBLE, theirs, 1, MPI_DOUBLE, g);
    MPI_Barrier(WORLD);
}

/* Columns are exchanged on the dup by one rank, on the world by the others. */
static void wrong_comm(void)
{
    MPI_Comm dup;
    MPI_Comm_dup(WORLD, &dup);
    neighbours();
    for (int step = 0; step < 50; step++) {
        MPI_Comm c = rank == 1 && step == 25 ? WORLD : dup;
        MPI_Request r[2];
        MPI_Irecv(left_in, N, MPI_DOUBLE, left, 7, dup, &r[0]);
        MPI_Isend(right_out, N, MPI_DOUBLE, right, 7, c, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        residual();
    }
}

/* Even steps: the halo goes before the sum; one rank has the opposite order. */
static void swapped(void)
{
    neighbours();
    for (int step = 0; step < 50; step++) {
        if (rank == 2 && step == 30)
            residual();
        MPI_Request r[4];
        post(r, step, step);
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        if (rank != 2 || step != 30)
            residual();
    }
}

FIELD_PROGRAMS({"ok", ok, 0}, {"wrong_tag", wrong_tag, 0}, {"blocking_ring", blocking_ring, 0},
               {"blocking_line_ok", blocking_line_ok, 0}, {"waitany_unsent", waitany_unsent, 0},
               {"waitsome_count", waitsome_count, 0}, {"testsome_ok", testsome_ok, 0}, {"persistent", persistent, 0},
               {"shift", shift, 0}, {"one_step_less", one_step_less, 0}, {"neighbour_missing", neighbour_missing, 0},
               {"neighbour_lopsided", neighbour_lopsided, 0}, {"wrong_comm", wrong_comm, 0}, {"swapped", swapped, 0})
