/* Programs that end in time, but not as early as they could: the culprit is known. */
#include "field.h"

static double a[1000], b[1000];

static void sum(void)
{
    MPI_Allreduce(a, b, 100, MPI_DOUBLE, MPI_SUM, WORLD);
}

/* One rank has more to do.  Others nap, so that nobody is late for want of a processor. */
static void imbalance(void)
{
    for (int step = 0; step < 400; step++) {
        nap(rank == 2 ? 0.03 : 0.01);
        sum();
    }
}

/* It computes as much, but is late by its disk, say. */
static void imbalance_busy(void)
{
    for (int step = 0; step < 300; step++) {
        if (rank == 1)
            work(0.03);
        sum();
        MPI_Bcast(a, 10, MPI_DOUBLE, 0, WORLD);
    }
}

/* A ring without collectives in which one rank is late. */
static void late_sender(void)
{
    for (int step = 0; step < 300; step++) {
        nap(rank == 1 ? 0.035 : 0.005);
        MPI_Request r;
        MPI_Isend(a, 100, MPI_DOUBLE, (rank + 1) % size, 1, WORLD, &r);
        MPI_Recv(b, 100, MPI_DOUBLE, (rank + size - 1) % size, 1, WORLD, NO_STATUS);
        MPI_Wait(&r, NO_STATUS);
    }
}

/* Senders wait for one that receives late. */
static void late_receiver(void)
{
    for (int step = 0; step < 300; step++) {
        if (rank == 2) {
            nap(0.035);
            for (int r = 0; r < size; r++)
                if (r != 2)
                    MPI_Recv(b, 100, MPI_DOUBLE, r, 1, WORLD, NO_STATUS);
        } else {
            nap(0.005);
            MPI_Ssend(a, 100, MPI_DOUBLE, 2, 1, WORLD);
        }
    }
}

/* Rank 0 is late, so 1 is, so 2 is: only the first has a reason. */
static void chain(void)
{
    for (int step = 0; step < 300; step++) {
        nap(rank == 0 ? 0.035 : 0.002);
        if (rank > 0)
            MPI_Recv(b, 100, MPI_DOUBLE, rank - 1, 1, WORLD, NO_STATUS);
        if (rank < size - 1)
            MPI_Send(a, 100, MPI_DOUBLE, rank + 1, 1, WORLD);
        sum();
    }
}

/* Ten times 300 ms among many quick steps. */
static void spikes(void)
{
    for (int step = 0; step < 1000; step++) {
        nap(rank == 3 && step % 100 == 50 ? 0.3 : 0.005);
        sum();
    }
}

/* Turns slow in the second half. */
static void turns_slow(void)
{
    for (int step = 0; step < 900; step++) {
        nap(rank == 1 && step >= 600 ? 0.035 : 0.007);
        sum();
    }
}

/* Hands out tasks of 20 ms each and takes 20 ms itself to make one: three workers are idle most of the time. */
static void slow_master(void)
{
    int x = 0;
    for (int i = 0; i < 300 && rank == 0; i++) {
        MPI_Status s;
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, WORLD, &s);
        nap(0.03);
        MPI_Send(&x, 1, MPI_INT, s.MPI_SOURCE, 2, WORLD);
    }
    for (int i = 0; i < 300 / (size - 1) && rank; i++) {
        MPI_Send(&x, 1, MPI_INT, 0, 1, WORLD);
        MPI_Recv(&x, 1, MPI_INT, 0, 2, WORLD, NO_STATUS);
        nap(0.01);
    }
}

/* All wait for what rank 0 does alone. */
static void serial(void)
{
    for (int step = 0; step < 250; step++) {
        if (rank == 0)
            nap(0.03);
        MPI_Bcast(a, 1000, MPI_DOUBLE, 0, WORLD);
        nap(0.01);
        MPI_Reduce(a, b, 1000, MPI_DOUBLE, MPI_SUM, 0, WORLD);
    }
}

static void two_late(void)
{
    for (int step = 0; step < 300; step++) {
        nap(rank % 2 ? 0.035 : 0.008);
        MPI_Alltoall(a, 10, MPI_DOUBLE, b, 10, MPI_DOUBLE, WORLD);
    }
}

/* Another one each time: a noisy machine, nobody to blame. */
static void rotating(void)
{
    for (int step = 0; step < 300; step++) {
        nap(step % size == rank ? 0.035 : 0.008);
        sum();
    }
}

/* Rows of two wait often, the world seldom. */
static void row(void)
{
    MPI_Comm row;
    MPI_Comm_split(WORLD, rank / 2, rank, &row);
    MPI_Comm_set_name(row, "row");
    for (int step = 0; step < 300; step++) {
        nap(rank == 3 ? 0.035 : 0.01);
        MPI_Allreduce(a, b, 10, MPI_DOUBLE, MPI_SUM, row);
        if (step % 20 == 19)
            sum();
    }
}

/* A pipeline whose third stage is the narrow one; small buffers hold the others back. */
static void pipeline(void)
{
    for (int item = 0; item < 250; item++) {
        if (rank)
            MPI_Recv(a, 100, MPI_DOUBLE, rank - 1, 1, WORLD, NO_STATUS);
        nap(rank == 2 ? 0.04 : 0.01);
        if (rank < size - 1)
            MPI_Ssend(a, 100, MPI_DOUBLE, rank + 1, 1, WORLD);
    }
}

/* A halo that one rank packs slowly, between Irecv and Waitall. */
static void slow_pack(void)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int step = 0; step < 300; step++) {
        MPI_Request r[4];
        MPI_Irecv(a, 100, MPI_DOUBLE, left, 1, WORLD, &r[0]);
        MPI_Irecv(b, 100, MPI_DOUBLE, right, 2, WORLD, &r[1]);
        nap(rank == 3 ? 0.03 : 0.004);
        MPI_Isend(a + 500, 100, MPI_DOUBLE, left, 2, WORLD, &r[2]);
        MPI_Isend(b + 500, 100, MPI_DOUBLE, right, 1, WORLD, &r[3]);
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    }
}

FIELD_PROGRAMS({"imbalance", imbalance, 0}, {"imbalance_busy", imbalance_busy, 0}, {"late_sender", late_sender, 0},
               {"late_receiver", late_receiver, 0}, {"chain", chain, 0}, {"spikes", spikes, 0},
               {"turns_slow", turns_slow, 0}, {"slow_master", slow_master, 0}, {"serial", serial, 0},
               {"two_late", two_late, 0}, {"rotating", rotating, 0}, {"row", row, 0}, {"pipeline", pipeline, 0},
               {"slow_pack", slow_pack, 0})
