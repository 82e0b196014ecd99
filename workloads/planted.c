/* planted MODE [0]: delays whose cause is known, on three ranks or more; each of TIMES iterations begins with a barrier,
 * except in `sender`.  Sleeping stands for work: WORK on all ranks, LATE more where it is planted, between the lines that
 * are marked.  Truth, from the constants alone:
 *
 *   one      rank 1 works longer: it causes all waiting
 *   chain    rank 0 works longer and sends to 1, which sends to 2: rank 0 causes all waiting, rank 1 none
 *   hidden   rank 1 works longer, rank 2 only half of that: what rank 2 does is hidden and costs nothing
 *   turns    another rank works longer each time: no single one is to blame
 *   sender   no collective: rank 0 works longer and sends to rank 1
 *   overlap  rank 0 works longer after it has sent, rank 1 before it receives: nobody waits
 *   spikes   rank 2 works thirty times as long in each tenth iteration
 *
 * A second argument 0 leaves the delays out.  How long each sleep really took goes to truth_times. */
#include "truth.h"
#include <mpi.h>

#define TIMES 60
#define WORK  0.002
#define LATE  0.020

static int me, n;
static double late = LATE, *slept;

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* line: barrier */
}

static void meet(void)
{
    double one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* line: meet */
}

static void send_on(int to)
{
    char text[8] = "planted";
    MPI_Send(text, 8, MPI_CHAR, to, 1, MPI_COMM_WORLD); /* line: send */
}

static void receive(int from)
{
    char text[8];
    MPI_Recv(text, 8, MPI_CHAR, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* line: receive */
}

static void chain(int last)
{
    if (me > 0 && me <= last)
        receive(me - 1);
    if (me < last)
        send_on(me + 1);
}

static void iterate(const char *mode, int i)
{
    double more = 0;
    if (strcmp(mode, "sender") != 0)
        barrier();
    if (strcmp(mode, "one") == 0)
        more = me == 1 ? late : 0;
    else if (strcmp(mode, "chain") == 0 || strcmp(mode, "sender") == 0)
        more = me == 0 ? late : 0;
    else if (strcmp(mode, "hidden") == 0)
        more = me == 1 ? late : me == 2 ? late / 2 : 0;
    else if (strcmp(mode, "turns") == 0)
        more = me == i % n ? late : 0;
    else if (strcmp(mode, "spikes") == 0)
        more = me == 2 && i % 10 == 5 ? late / LATE * 29 * WORK * 2 : 0;
    else if (me == 0)
        send_on(1);
    slept[me * TIMES + i] = truth_sleep(WORK + more);
    if (strcmp(mode, "overlap") == 0) {
        slept[me * TIMES + i] += truth_sleep(late);
        if (me == 1)
            receive(0);
    } else if (strcmp(mode, "chain") == 0) {
        chain(2);
    } else if (strcmp(mode, "sender") == 0) {
        chain(1);
    } else {
        meet();
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (argc > 2)
        late *= atof(argv[2]);
    slept = truth_times(n, TIMES);
    for (int i = 0; i < TIMES && argc > 1 && n > 2; i++)
        iterate(argv[1], i);
    MPI_Finalize();
    return argc < 2 || n < 3;
}
