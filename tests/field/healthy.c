/* Healthy programs that look as if they were not. */
#include "field.h"

static double a[1000], b[1000];

/* One rank sets up for 12 s; all others wait in a barrier. */
static void long_setup(void)
{
    if (rank == 1)
        work(12);
    MPI_Barrier(WORLD);
    warm(20);
}

static void long_sleep(void)
{
    warm(20);
    if (rank == 2)
        nap(10);
    warm(20);
}

static void random_sleeps(void)
{
    srand((unsigned)rank);
    for (int step = 0; step < 12; step++) {
        nap(rand() % 1000 * 0.001);
        MPI_Allreduce(a, b, 10, MPI_DOUBLE, MPI_SUM, WORLD);
    }
}

/* Five ranks that compute all the time, on however few processors. */
static void crowded(void)
{
    for (int step = 0; step < 40; step++) {
        work(0.2);
        MPI_Alltoall(a, 100, MPI_DOUBLE, b, 100, MPI_DOUBLE, WORLD);
    }
}

/* Allowed messages that look odd: cancelled, unreceived, to oneself, to nobody, never waited for. */
static void odd(void)
{
    MPI_Request r, s, any[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int x = 0, which, flag;
    for (int i = 0; i < 30; i++) {
        MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 77, WORLD, &r);
        MPI_Cancel(&r);
        MPI_Wait(&r, NO_STATUS);
        MPI_Isend(&x, 1, MPI_INT, (rank + 1) % size, 78, WORLD, &s); /* nobody receives it */
        MPI_Request_free(&s);
        MPI_Irecv(&x, 1, MPI_INT, rank, 79, WORLD, &r);
        MPI_Send(&x, 1, MPI_INT, rank, 79, WORLD);
        MPI_Wait(&r, NO_STATUS);
        MPI_Sendrecv(&x, 1, MPI_INT, MPI_PROC_NULL, 1, &x, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD, NO_STATUS);
        MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD, NO_STATUS);
        MPI_Waitany(3, any, &which, NO_STATUS);
        MPI_Iprobe(MPI_ANY_SOURCE, 99, WORLD, &flag, NO_STATUS);
        work(0.2);
    }
}

/* Groups that have nothing to do with one another; one waits long for its own member. */
static void groups(void)
{
    MPI_Comm half;
    MPI_Comm_split(WORLD, rank / 2 ? 1 : MPI_UNDEFINED, 0, &half);
    for (int step = 0; step < 5; step++) {
        work(rank == 3 ? 2 : 0.1);
        if (half != MPI_COMM_NULL)
            MPI_Barrier(half);
    }
    if (half != MPI_COMM_NULL)
        MPI_Comm_free(&half);
    MPI_Barrier(WORLD);
}

/* Frees and makes communicators all the time. */
static void comms(void)
{
    for (int step = 0; step < 80; step++) {
        MPI_Comm c, d;
        MPI_Comm_split(WORLD, (rank + step) % 2, -rank, &c);
        MPI_Comm_dup(c, &d);
        work(0.1);
        MPI_Allreduce(a, b, 10, MPI_DOUBLE, MPI_SUM, d);
        MPI_Comm_free(&c);
        MPI_Comm_free(&d);
    }
}

/* Done with MPI, and then one writes its results for 8 s. */
static void after(void)
{
    warm(100);
    MPI_Finalize();
    if (rank == 0)
        work(8);
    exit(0);
}

/* Buffered sends in a ring, received much later. */
static void buffered(void)
{
    int bytes = 100 * (8000 + MPI_BSEND_OVERHEAD);
    void *buffer = malloc((size_t)bytes);
    MPI_Buffer_attach(buffer, bytes);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 20; i++) {
            MPI_Bsend(a, 1000, MPI_DOUBLE, (rank + 1) % size, i, WORLD);
            work(0.05);
        }
        nap(1);
        for (int i = 19; i >= 0; i--)
            MPI_Recv(b, 1000, MPI_DOUBLE, (rank + size - 1) % size, i, WORLD, NO_STATUS);
    }
    MPI_Buffer_detach(&buffer, &bytes);
}

/* Ranks that leave early and normally, while the others go on: they wait in MPI_Finalize. */
static void early(void)
{
    MPI_Comm part;
    MPI_Comm_split(WORLD, rank == 1, 0, &part);
    for (int step = 0; step < 80 && rank != 1; step++) {
        work(0.1);
        MPI_Allreduce(a, b, 10, MPI_DOUBLE, MPI_SUM, part);
    }
}

/* Waits for any message, from partners one of whom sends after 9 s. */
static void any_of(void)
{
    MPI_Request r[8];
    int x[8], which, y = 0;
    if (rank == 0) {
        for (int i = 1; i < size; i++)
            MPI_Irecv(&x[i], 1, MPI_INT, i, 1, WORLD, &r[i - 1]);
        for (int i = 1; i < size; i++)
            MPI_Waitany(size - 1, r, &which, NO_STATUS);
    } else {
        work(3.0 * rank);
        MPI_Send(&y, 1, MPI_INT, 0, 1, WORLD);
    }
}

/* A rank checks in a file whether it shall go on, ten times a second; the others wait for it. */
static void watches_file(void)
{
    warm(20);
    for (double start = now(); rank == 0 && access("go", F_OK) && now() < start + 9;)
        nap(0.1);
    warm(20);
}

/* Big messages that take their time, received late but received. */
static void late_big(void)
{
    double *big = calloc(BIG, sizeof *big);
    for (int step = 0; step < 4; step++) {
        if (rank == 0)
            work(2);
        for (int w = 1; w < size; w++) {
            if (rank == 0)
                MPI_Recv(big, BIG, MPI_DOUBLE, w, 1, WORLD, NO_STATUS);
            if (rank == w)
                MPI_Send(big, BIG, MPI_DOUBLE, 0, 1, WORLD);
        }
    }
}

FIELD_PROGRAMS({"long_setup", long_setup, 0}, {"long_sleep", long_sleep, 0}, {"random_sleeps", random_sleeps, 0},
               {"crowded", crowded, 0}, {"odd", odd, 0}, {"groups", groups, 0}, {"comms", comms, 0},
               {"after", after, 0}, {"buffered", buffered, 0}, {"early", early, 0}, {"any_of", any_of, 0},
               {"watches_file", watches_file, 0}, {"late_big", late_big, 0})
