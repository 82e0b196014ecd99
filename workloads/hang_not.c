/* hang_not MODE [seconds]: healthy programs that look like hung ones for a while.  All end by themselves after about
 * `seconds` (default 8).
 *
 *   compute    rank 2 computes for 3 s at a time while the others wait in MPI_Barrier
 *   sleep      rank 2 sleeps for 1 s at a time while the others wait in MPI_Allreduce
 *   moving     every rank exchanges 8 MB with its neighbours by MPI_Sendrecv, without a pause
 *   waits      a token goes round, every rank holds it for 0.2 s: all others wait in MPI_Recv, in a circle
 *   big_send   rank 0 sends 8 MB to rank 1, which computes for 1 s before it receives
 *   server     rank 0 polls MPI_Iprobe for requests of the others, which compute for a while between them
 *   tests      all poll MPI_Test for a nonblocking allreduce while rank 2 computes for 1 s
 *   uneven     all compute for different times, another one longest each time
 *   finalize   rank 2 computes for 3 s before it joins the others in MPI_Finalize
 *   bcast      the root of MPI_Bcast computes for 1 s while the others wait, each root in turn
 *   threads    a thread a rank waits in MPI_Recv for an order that comes at the end, while the others work */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BIG = 8 << 20 };
static int me, n;
static double until;
static char *big, *other;
static const MPI_Comm world = MPI_COMM_WORLD;

static void compute(double seconds)
{
    volatile double x = 1;
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
        for (int i = 0; i < 10000; i++)
            x = x * 1.0000001 + 1e-9;
}

/* All agree on it: rank 0's clock. */
static int more(void)
{
    int yes = MPI_Wtime() < until;
    MPI_Bcast(&yes, 1, MPI_INT, 0, world);
    return yes;
}

static void barrier_late(void)
{
    while (more()) {
        if (me == 2)
            compute(3);
        MPI_Barrier(world);
    }
}

static void sleeper(void)
{
    int one = 1, sum;
    while (more()) {
        if (me == 2)
            usleep(1000000);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
    }
}

static void moving(void)
{
    while (more())
        for (int i = 0; i < 10; i++)
            MPI_Sendrecv(big, BIG, MPI_CHAR, (me + 1) % n, 1, other, BIG, MPI_CHAR, (me + n - 1) % n, 1, world,
                         MPI_STATUS_IGNORE);
}

static void token(void)
{
    char byte = 0;
    while (more())
        for (int round = 0; round < 3; round++) {
            if (me || round)
                MPI_Recv(&byte, 1, MPI_CHAR, (me + n - 1) % n, 1, world, MPI_STATUS_IGNORE);
            usleep(200000);
            if (me < n - 1 || round < 2)
                MPI_Send(&byte, 1, MPI_CHAR, (me + 1) % n, 1, world);
        }
}

static void big_send(void)
{
    while (more()) {
        if (me == 0)
            MPI_Send(big, BIG, MPI_CHAR, 1, 1, world);
        if (me == 1) {
            compute(1);
            MPI_Recv(big, BIG, MPI_CHAR, 0, 1, world, MPI_STATUS_IGNORE);
        }
    }
}

static void server(void)
{
    int open = n - 1, order;
    while (me == 0 && open) {
        int there = 0;
        MPI_Status status;
        while (!there)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &there, &status);
        MPI_Recv(&order, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, world, MPI_STATUS_IGNORE);
        MPI_Send(&order, 1, MPI_INT, status.MPI_SOURCE, 2, world);
        open -= order == 0;
    }
    while (me) {
        compute(0.5 + 0.5 * me);
        order = MPI_Wtime() < until;
        MPI_Send(&order, 1, MPI_INT, 0, 1, world);
        MPI_Recv(&order, 1, MPI_INT, 0, 2, world, MPI_STATUS_IGNORE);
        if (!order)
            break;
    }
}

static void tests(void)
{
    int one = 1, sum, done = 0;
    MPI_Request request;
    while (more()) {
        if (me == 2)
            compute(1);
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world, &request);
        for (done = 0; !done;)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

static void uneven(void)
{
    int one = 1, sum, step = 0;
    while (more()) {
        compute(0.02 + 0.3 * (me == step++ % n));
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
    }
}

static void finalize(void)
{
    while (more())
        MPI_Barrier(world);
    if (me == 2)
        compute(3);
}

static void bcast(void)
{
    for (int step = 0; more(); step++) {
        if (me == step % n)
            compute(1);
        MPI_Bcast(big, BIG, MPI_CHAR, step % n, world);
    }
}

static void *wait_for_order(void *comm)
{
    int order;
    MPI_Recv(&order, 1, MPI_INT, (me + n - 1) % n, 7, *(MPI_Comm *)comm, MPI_STATUS_IGNORE);
    return NULL;
}

static void threads(void)
{
    pthread_t thread;
    MPI_Comm orders;
    int one = 1, sum;
    MPI_Comm_dup(world, &orders);
    if (pthread_create(&thread, NULL, wait_for_order, &orders))
        MPI_Abort(world, 99);
    while (more()) {
        compute(0.2);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
    }
    MPI_Send(&one, 1, MPI_INT, (me + 1) % n, 7, orders);
    pthread_join(thread, NULL);
    MPI_Comm_free(&orders);
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"compute", barrier_late}, {"sleep", sleeper}, {"moving", moving},   {"waits", token},
    {"big_send", big_send},    {"server", server}, {"tests", tests},     {"uneven", uneven},
    {"finalize", finalize},    {"bcast", bcast},   {"threads", threads},
};

int main(int argc, char **argv)
{
    int level;
    size_t mode = 0, count = sizeof modes / sizeof *modes;
    MPI_Init_thread(&argc, &argv, argc > 1 && strcmp(argv[1], "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &level);
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &n);
    until = MPI_Wtime() + (argc > 2 ? atof(argv[2]) : 8);
    big = calloc(1, BIG);
    other = calloc(1, BIG);
    while (mode < count && (argc < 2 || strcmp(modes[mode].name, argv[1]) != 0))
        mode++;
    if (mode == count || !big || !other) {
        fprintf(stderr, "hang_not: no such mode\n");
        MPI_Abort(world, 64);
    }
    modes[mode].run();
    MPI_Finalize();
    return 0;
}
