/* planted MODE [0]: delays whose cause is known, on three ranks or more; each of TIMES iterations begins with a
 * barrier, except in `sender`.  Sleeping stands for work: WORK on all ranks, LATE more where it is planted, between the
 * lines that are marked.  Truth, from the constants alone:
 *
 *   one      rank 1 works longer: it causes all waiting
 *   chain    rank 0 works longer and sends to 1, which sends to 2: rank 0 causes all waiting, rank 1 none
 *   hidden   rank 1 works longer, rank 2 only half of that: what rank 2 does is hidden and costs nothing
 *   turns    another rank works longer each time: no single one is to blame
 *   sender   no collective: rank 0 works longer and sends to rank 1
 *   epoch    no collective: rank 0 works longer between MPI_Win_start and _complete, rank 1 waits for that
 *   post     no collective: rank 1 works longer before MPI_Win_post, rank 0 waits for that
 *   neighbor no other collective: rank 0 works longer before MPI_Neighbor_allgather on a line of all ranks
 *   overlap  rank 0 works longer after it has sent, rank 1 before it receives: nobody waits
 *   spikes   rank 2 works thirty times as long in each tenth iteration
 *
 * A second argument 0 leaves the delays out.  How long each sleep really took goes to truth_times. */
#include "truth.h"
#include <mpi.h>
#include <stdbool.h>

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
    MPI_Send(text, 8, MPI_CHAR, to, 1, MPI_COMM_WORLD);
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
        send_on(me + 1); /* line: send */
}

static MPI_Win win;
static MPI_Group first, second; /* ranks 0 and 1 */
static MPI_Comm row;
static char cell[64];

static void make_objects(void)
{
    MPI_Group all;
    int zero = 0, one = 1, line = 0;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &zero, &first);
    MPI_Group_incl(all, 1, &one, &second);
    MPI_Win_create(cell, sizeof cell, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &line, 0, &row);
}

/* Rank 0 puts into the window of rank 1; returns how long it slept. */
static double put(double before_post, double inside)
{
    double took = 0;
    if (me == 0) {
        MPI_Win_start(second, 0, win); /* line: start */
        took = truth_sleep(inside);
        MPI_Put("planted", 8, MPI_CHAR, 1, 0, 8, MPI_CHAR, win); /* line: put */
        MPI_Win_complete(win);                                   /* line: complete */
    } else if (me == 1) {
        took = truth_sleep(before_post);
        MPI_Win_post(first, 0, win); /* line: post */
        MPI_Win_wait(win);           /* line: wait */
    }
    return took;
}

static void exchange(void)
{
    char out[8] = "planted", in[2][8];
    MPI_Neighbor_allgather(out, 8, MPI_CHAR, in, 8, MPI_CHAR, row); /* line: neighbor */
}

/* The modes without any other collective.  False: another mode. */
static bool iterate_apart(const char *mode, int i)
{
    double *took = &slept[me * TIMES + i];
    if (strcmp(mode, "epoch") == 0) {
        *took = put(0, WORK + late);
    } else if (strcmp(mode, "post") == 0) {
        *took = put(WORK + late, 0);
    } else if (strcmp(mode, "neighbor") == 0) {
        *took = truth_sleep(WORK + (me == 0 ? late : 0));
        exchange();
    } else {
        return false;
    }
    return true;
}

static void iterate(const char *mode, int i)
{
    double more = 0;
    if (iterate_apart(mode, i))
        return;
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
        send_on(1); /* line: send ahead */
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
    make_objects();
    for (int i = 0; i < TIMES && argc > 1 && n > 2; i++)
        iterate(argv[1], i);
    MPI_Win_free(&win);
    MPI_Comm_free(&row);
    MPI_Finalize();
    return argc < 2 || n < 3;
}
