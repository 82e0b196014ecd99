/* Ranks that are busy with MPI and get nowhere. */
#include "field.h"

/* Waits for any of several inactive requests, until one "comes". */
static void undefined(void)
{
    MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int which = MPI_UNDEFINED;
    warm(20);
    while (rank == 1 && which != 0)
        MPI_Waitany(3, r, &which, NO_STATUS);
    warm(10);
}

/* Two ranks look whether the other has sent something. */
static void iprobe_both(void)
{
    int x = 0, flag = 0;
    warm(20);
    if (rank == 1 || rank == 2) {
        while (!flag)
            MPI_Iprobe(3 - rank, 1, WORLD, &flag, NO_STATUS);
        MPI_Recv(&x, 1, MPI_INT, 3 - rank, 1, WORLD, NO_STATUS);
        MPI_Send(&x, 1, MPI_INT, 3 - rank, 1, WORLD);
    }
    warm(10);
}

/* Tests a request that is not active any more for the tag of its message. */
static void test_inactive(void)
{
    MPI_Request r;
    MPI_Status s = {0};
    int x = 0, flag;
    warm(20);
    if (rank == 0)
        MPI_Send(&x, 1, MPI_INT, 3, 1, WORLD);
    if (rank == 3) {
        MPI_Irecv(&x, 1, MPI_INT, 0, MPI_ANY_TAG, WORLD, &r);
        do
            MPI_Test(&r, &flag, &s);
        while (!flag || s.MPI_TAG != 2);
    }
    warm(10);
}

/* Looks for a tag that nobody sends, with a little rest between the looks; another tag is there. */
static void iprobe_tag(void)
{
    int x = 0, flag = 0;
    warm(20);
    if (rank == 0) {
        MPI_Send(&x, 1, MPI_INT, 2, 8, WORLD);
        MPI_Recv(&x, 1, MPI_INT, 2, 9, WORLD, NO_STATUS);
    }
    if (rank == 2) {
        for (; !flag; nap(0.0001))
            MPI_Iprobe(0, 7, WORLD, &flag, NO_STATUS);
        MPI_Recv(&x, 1, MPI_INT, 0, 7, WORLD, NO_STATUS);
        MPI_Send(&x, 1, MPI_INT, 0, 9, WORLD);
    }
    warm(10);
}

/* Asks for the state of a receive that is never satisfied, and works a little in between. */
static void get_status(void)
{
    MPI_Request r;
    int x = 0, flag = 0;
    warm(20);
    if (rank == 1) {
        MPI_Irecv(&x, 1, MPI_INT, 0, 5, WORLD, &r);
        while (!flag) {
            work(0.001);
            MPI_Request_get_status(r, &flag, NO_STATUS);
        }
    }
    warm(10);
}

/* Tests its own receive, and the other does, too: two nonblocking waits for one another. */
static void test_both(void)
{
    MPI_Request r;
    int x = 0, flag = 0;
    warm(20);
    if (rank < 2) {
        MPI_Irecv(&x, 1, MPI_INT, 1 - rank, 5, WORLD, &r);
        while (!flag)
            MPI_Test(&r, &flag, NO_STATUS);
        MPI_Send(&x, 1, MPI_INT, 1 - rank, 5, WORLD);
    }
    warm(10);
}

/* A dispatcher of messages by tag that has no case for one tag, and leaves that message where it is. */
static void no_case(void)
{
    int x = 0, left = 10 * (size - 1);
    if (rank) {
        for (int i = 0; i < 10; i++) {
            work(0.005);
            MPI_Send(&x, 1, MPI_INT, 0, rank == 2 && i == 7 ? 4 : 3, WORLD);
        }
    }
    while (rank == 0 && left) {
        int flag;
        MPI_Status s;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &flag, &s);
        if (flag && s.MPI_TAG == 3) {
            MPI_Recv(&x, 1, MPI_INT, s.MPI_SOURCE, 3, WORLD, NO_STATUS);
            left--;
        }
    }
    MPI_Barrier(WORLD);
}

/* Polls a nonblocking barrier into which one rank does not come, since it polls for a message of the others. */
static void nbx(void)
{
    MPI_Request barrier;
    int x = 0, done = 0, flag, got = 0;
    for (int round = 0; round < 20; round++) {
        MPI_Request send;
        bool entered = false;
        MPI_Issend(&x, 1, MPI_INT, (rank + 1) % size, round, WORLD, &send);
        int expects = round == 15 && rank == 2 ? 2 : 1; /* one neighbour more, as this rank believes */
        for (got = done = 0; !done;) {
            MPI_Status s;
            MPI_Iprobe(MPI_ANY_SOURCE, round, WORLD, &flag, &s);
            if (flag) {
                MPI_Recv(&x, 1, MPI_INT, s.MPI_SOURCE, round, WORLD, NO_STATUS);
                got++;
            }
            if (entered) {
                MPI_Test(&barrier, &done, NO_STATUS);
            } else {
                MPI_Test(&send, &flag, NO_STATUS);
                if (flag && got >= expects) {
                    MPI_Ibarrier(WORLD, &barrier);
                    entered = true;
                }
            }
        }
    }
}

/* The same exchange as it should be: each step its own messages, and steps that take long. */
static void nbx_ok(void)
{
    int x = 0;
    srand((unsigned)rank);
    for (int round = 0; round < 12; round++) {
        MPI_Request send, barrier;
        int done = 0, flag, entered = 0;
        work(rand() % 10 * 0.15);
        MPI_Issend(&x, 1, MPI_INT, (rank + 1 + round) % size, round, WORLD, &send);
        while (!done) {
            MPI_Status s;
            MPI_Iprobe(MPI_ANY_SOURCE, round, WORLD, &flag, &s);
            if (flag)
                MPI_Recv(&x, 1, MPI_INT, s.MPI_SOURCE, round, WORLD, NO_STATUS);
            if (entered) {
                MPI_Test(&barrier, &done, NO_STATUS);
            } else {
                MPI_Test(&send, &entered, NO_STATUS);
                if (entered)
                    MPI_Ibarrier(WORLD, &barrier);
            }
        }
    }
}

/* Overlap: a started sum is tested while the rank computes, for steps of 1.5 s. */
static void overlap_ok(void)
{
    static double a[1000], b[1000];
    for (int step = 0; step < 8; step++) {
        MPI_Request r;
        int done = 0;
        MPI_Iallreduce(a, b, 1000, MPI_DOUBLE, MPI_SUM, WORLD, &r);
        for (int i = 0; i < 50; i++) {
            work(0.02 + 0.01 * rank);
            if (!done)
                MPI_Test(&r, &done, NO_STATUS);
        }
        MPI_Wait(&r, NO_STATUS);
    }
}

FIELD_PROGRAMS({"undefined", undefined, 0}, {"iprobe_both", iprobe_both, 0}, {"test_inactive", test_inactive, 0},
               {"iprobe_tag", iprobe_tag, 0}, {"get_status", get_status, 0}, {"test_both", test_both, 0},
               {"no_case", no_case, 0}, {"nbx", nbx, 0}, {"nbx_ok", nbx_ok, 0}, {"overlap_ok", overlap_ok, 0})
