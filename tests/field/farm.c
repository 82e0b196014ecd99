/* Task farms: a master with dynamic tasks, workers, servers, and their omissions. */
#include "field.h"

enum { TASK = 1, RESULT, STOP, LOG, ASK, REPLY };

static double until;

/* A master that hands out tasks while results come; `lose`: a worker that keeps the result of its 7th task. */
static void master(int tasks, bool stop_all)
{
    int given = 0, back = 0, result;
    for (int w = 1; w < size && given < tasks; w++, given++)
        MPI_Send(&given, 1, MPI_INT, w, TASK, WORLD);
    while (back < tasks) {
        MPI_Status s;
        MPI_Recv(&result, 1, MPI_INT, MPI_ANY_SOURCE, RESULT, WORLD, &s);
        back++;
        if (given < tasks) {
            MPI_Send(&given, 1, MPI_INT, s.MPI_SOURCE, TASK, WORLD);
            given++;
        }
    }
    for (int w = 1; w < size - !stop_all; w++)
        MPI_Send(&back, 1, MPI_INT, w, STOP, WORLD);
}

static void worker(int lose, double seconds)
{
    for (int done = 0, task;; done++) {
        MPI_Status s;
        MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, WORLD, &s);
        if (s.MPI_TAG == STOP)
            return;
        work(seconds);
        if (done != lose)
            MPI_Send(&task, 1, MPI_INT, 0, RESULT, WORLD);
    }
}

static void ok(void)
{
    srand((unsigned)rank);
    if (rank == 0)
        master(120, true);
    else
        worker(-1, 0.05 + 0.4 * rand() / RAND_MAX);
    MPI_Barrier(WORLD);
}

static void lost_result(void)
{
    if (rank == 0)
        master(60, true);
    else
        worker(rank == 2 ? 7 : -1, 0.01);
    MPI_Barrier(WORLD);
}

static void no_stop(void)
{
    if (rank == 0)
        master(60, false);
    else
        worker(-1, 0.01);
}

/* Looks at a message by MPI_Probe and receives another tag than it saw. */
static void probe_wrong(void)
{
    int x = rank;
    for (int i = 0; i < 20; i++) {
        if (rank == 0) {
            for (int w = 1; w < size; w++) {
                MPI_Status s;
                MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &s);
                MPI_Recv(&x, 1, MPI_INT, s.MPI_SOURCE, RESULT, WORLD, NO_STATUS);
            }
        } else {
            MPI_Ssend(&x, 1, MPI_INT, 0, rank == 2 && i == 15 ? LOG : RESULT, WORLD);
        }
        MPI_Barrier(WORLD);
    }
}

/* A server takes messages by MPI_Improbe and throws one kind away. */
static void improbe_lost(void)
{
    int x = rank, left = size - 1, flag;
    if (rank) {
        for (int i = 0; i < 20; i++) {
            MPI_Ssend(&x, 1, MPI_INT, 0, rank == 1 && i == 10 ? LOG : TASK, WORLD);
            work(0.005);
        }
        MPI_Send(&x, 1, MPI_INT, 0, STOP, WORLD);
    }
    while (rank == 0 && left) {
        MPI_Message m;
        MPI_Status s;
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &flag, &m, &s);
        if (!flag || s.MPI_TAG == LOG) /* "nobody reads logs" */
            continue;
        MPI_Mrecv(&x, 1, MPI_INT, &m, NO_STATUS);
        left -= s.MPI_TAG == STOP;
    }
    MPI_Barrier(WORLD);
}

/* Workers take 20 s while the master sorts. */
static void master_sorts(void)
{
    int x = 0;
    for (int batch = 0; batch < 2; batch++) {
        for (int w = 1; w < size && rank == 0; w++) {
            MPI_Send(&batch, 1, MPI_INT, w, TASK, WORLD);
        }
        if (rank)
            MPI_Recv(&x, 1, MPI_INT, 0, TASK, WORLD, NO_STATUS);
        work(0.2);
        if (rank)
            MPI_Send(&x, 1, MPI_INT, 0, RESULT, WORLD);
        for (int w = 1; w < size && rank == 0; w++)
            MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, RESULT, WORLD, NO_STATUS);
        if (rank == 0)
            work(batch == 0 ? 13 : 0.1);
    }
    MPI_Barrier(WORLD);
}

/* Idle workers ask one another for work, each with a synchronous send, and two at once. */
static void stealing(void)
{
    int x = 0;
    warm(20);
    if (rank == 0) {
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, RESULT, WORLD, NO_STATUS);
    } else {
        int victim = rank % (size - 1) + 1;
        work(0.1);
        MPI_Ssend(&x, 1, MPI_INT, victim, ASK, WORLD);
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, ASK, WORLD, NO_STATUS);
        if (rank == 1)
            MPI_Send(&x, 1, MPI_INT, 0, RESULT, WORLD);
    }
    MPI_Barrier(WORLD);
}

static void idle_ok(void)
{
    int x = 0;
    until = now() + 10;
    while (rank == 0 && now() < until) {
        MPI_Send(&x, 1, MPI_INT, 1, TASK, WORLD);
        MPI_Recv(&x, 1, MPI_INT, 1, RESULT, WORLD, NO_STATUS);
    }
    for (int w = 1; w < size && rank == 0; w++)
        MPI_Send(&x, 1, MPI_INT, w, STOP, WORLD);
    if (rank)
        worker(-1, 2);
    MPI_Barrier(WORLD);
}

/* A server that looks 20 times a second; clients that come every 1.5 s. */
static void server_low_ok(void)
{
    int x = 0, flag, left = size - 1;
    while (rank == 0 && left) {
        MPI_Status s;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &flag, &s);
        if (!flag) {
            nap(0.05);
            continue;
        }
        MPI_Recv(&x, 1, MPI_INT, s.MPI_SOURCE, s.MPI_TAG, WORLD, NO_STATUS);
        if (s.MPI_TAG == STOP)
            left--;
        else
            MPI_Send(&x, 1, MPI_INT, s.MPI_SOURCE, REPLY, WORLD);
    }
    for (int i = 0; i < 6 && rank; i++) {
        work(0.5 * rank + 0.5);
        MPI_Send(&x, 1, MPI_INT, 0, ASK, WORLD);
        MPI_Recv(&x, 1, MPI_INT, 0, REPLY, WORLD, NO_STATUS);
    }
    if (rank)
        MPI_Send(&x, 1, MPI_INT, 0, STOP, WORLD);
}

/* The server answers another client than the one that asked, once. */
static void wrong_client(void)
{
    int x = 0, asked = 0, calls = 20;
    for (int i = 0; i < calls * (size - 1) && rank == 0; i++) {
        MPI_Status s;
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, ASK, WORLD, &s);
        asked += s.MPI_SOURCE == 2;
        MPI_Send(&x, 1, MPI_INT, s.MPI_SOURCE == 2 && asked == 10 ? 1 : s.MPI_SOURCE, REPLY, WORLD);
    }
    for (int i = 0; i < calls && rank; i++) {
        work(0.01);
        MPI_Ssend(&x, 1, MPI_INT, 0, ASK, WORLD);
        MPI_Recv(&x, 1, MPI_INT, 0, REPLY, WORLD, NO_STATUS);
    }
    MPI_Barrier(WORLD);
}

/* Master waits for as many results as tasks; it counted one task twice. */
static void counts_one_more(void)
{
    int x = 0;
    if (rank == 0) {
        for (int i = 0; i < 30; i++)
            MPI_Send(&i, 1, MPI_INT, 1 + i % (size - 1), TASK, WORLD);
        for (int i = 0; i <= 30; i++)
            MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, RESULT, WORLD, NO_STATUS);
        for (int w = 1; w < size; w++)
            MPI_Send(&x, 1, MPI_INT, w, STOP, WORLD);
    } else {
        worker(-1, 0.01);
    }
}

/* A stop too much, never received. */
static void stop_twice_ok(void)
{
    int x = 0;
    if (rank == 0) {
        master(200, true);
        MPI_Send(&x, 1, MPI_INT, 2, STOP, WORLD);
    } else {
        worker(-1, 0.1);
    }
    MPI_Barrier(WORLD);
}

/* A pipeline of stages; the second drops an item and so ends late by one. */
static void pipeline(void)
{
    double *item = calloc(BIG, sizeof *item);
    for (int i = 0; i < 40; i++) {
        if (rank > 0)
            MPI_Recv(item, 1000, MPI_DOUBLE, rank - 1, i, WORLD, NO_STATUS);
        work(0.005);
        if (rank < size - 1 && !(rank == 1 && i == 30))
            MPI_Send(item, 1000, MPI_DOUBLE, rank + 1, i, WORLD);
    }
    MPI_Barrier(WORLD);
}

FIELD_PROGRAMS({"ok", ok, 0}, {"lost_result", lost_result, 0}, {"no_stop", no_stop, 0}, {"probe_wrong", probe_wrong, 0},
               {"improbe_lost", improbe_lost, 0}, {"master_sorts", master_sorts, 0}, {"stealing", stealing, 0},
               {"idle_ok", idle_ok, 0}, {"server_low_ok", server_low_ok, 0}, {"wrong_client", wrong_client, 0},
               {"counts_one_more", counts_one_more, 0}, {"stop_twice_ok", stop_twice_ok, 0}, {"pipeline", pipeline, 0})
