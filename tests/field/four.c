/* Additions of MPI 4: partitioned messages, sessions, persistent collectives. */
#include "field.h"

#define PARTS 4

static double parts[PARTS * 100], a[10], b[10];

/* Rank 0 sends in partitions to the next one and forgets the last partition at a late step. */
static void partitions(int steps, int forget, double seconds)
{
    MPI_Request r = MPI_REQUEST_NULL;
    if (rank == 0)
        MPI_Psend_init(parts, PARTS, 100, MPI_DOUBLE, 1, 3, WORLD, MPI_INFO_NULL, &r);
    if (rank == 1)
        MPI_Precv_init(parts, PARTS, 100, MPI_DOUBLE, 0, 3, WORLD, MPI_INFO_NULL, &r);
    for (int step = 0; step < steps; step++) {
        if (rank < 2)
            MPI_Start(&r);
        for (int p = 0; p < PARTS - (step == forget) && rank == 0; p++) {
            work(seconds);
            MPI_Pready(p, r);
        }
        if (rank < 2)
            MPI_Wait(&r, NO_STATUS);
        MPI_Barrier(WORLD);
    }
    if (rank < 2)
        MPI_Request_free(&r);
}

static void partition_missing(void)
{
    partitions(20, 15, 0.001);
}
static void partitions_ok(void)
{
    partitions(8, -1, 0.3);
}

/* The receiver polls for a partition that is not to come. */
static void parrived(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int flag = 0;
    warm(10);
    if (rank == 0) {
        MPI_Psend_init(parts, PARTS, 100, MPI_DOUBLE, 1, 3, WORLD, MPI_INFO_NULL, &r);
        MPI_Start(&r);
        for (int p = 0; p < PARTS; p++)
            if (p != 2)
                MPI_Pready(p, r);
    }
    if (rank == 1) {
        MPI_Precv_init(parts, PARTS, 100, MPI_DOUBLE, 0, 3, WORLD, MPI_INFO_NULL, &r);
        MPI_Start(&r);
        while (!flag)
            MPI_Parrived(r, 2, &flag);
    }
    MPI_Barrier(WORLD);
}

/* A communicator from a process set, without one of its members. */
static void session(void)
{
    MPI_Session s;
    MPI_Group all;
    MPI_Comm c;
    int x = 0;
    warm(10);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &s);
    MPI_Group_from_session_pset(s, "mpi://WORLD", &all);
    if (rank == 1)
        MPI_Recv(&x, 1, MPI_INT, 0, 1, WORLD, NO_STATUS);
    MPI_Comm_create_from_group(all, "field", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &c);
    if (rank == 0)
        MPI_Send(&x, 1, MPI_INT, 1, 1, WORLD);
    MPI_Barrier(c);
}

static void session_ok(void)
{
    MPI_Session s;
    MPI_Group all;
    MPI_Comm c;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &s);
    MPI_Group_from_session_pset(s, "mpi://WORLD", &all);
    MPI_Comm_create_from_group(all, "field", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &c);
    for (int step = 0; step < 80; step++) {
        work(0.1);
        MPI_Allreduce(a, b, 10, MPI_DOUBLE, MPI_SUM, c);
    }
    MPI_Comm_free(&c);
    MPI_Group_free(&all);
    MPI_Session_finalize(&s);
}

/* Persistent sums; one rank does not start one. */
static void persistent_sum(void)
{
    MPI_Request r;
    warm(10);
    MPI_Allreduce_init(a, b, 10, MPI_DOUBLE, MPI_SUM, WORLD, MPI_INFO_NULL, &r);
    for (int step = 0; step < 30; step++) {
        work(0.002);
        if (rank == 2 && step == 20)
            break;
        MPI_Start(&r);
        MPI_Wait(&r, NO_STATUS);
    }
    MPI_Barrier(WORLD);
}

FIELD_PROGRAMS({"partition_missing", partition_missing, 0}, {"partitions_ok", partitions_ok, 0},
               {"parrived", parrived, 0}, {"session", session, 0}, {"session_ok", session_ok, 0},
               {"persistent_sum", persistent_sum, 0})
