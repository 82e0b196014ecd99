/* p2p_nonblocking: every nonblocking send, every way to complete, TIMES rounds.
 * Truth: in each round every rank sends to the next one
 *   MPI_Isend 10 B, MPI_Issend 20 B, MPI_Ibsend 30 B and MPI_Isend 0 B, received by MPI_Irecv into larger buffers (one
 *   from any source) and completed by MPI_Waitall, with and without statuses;
 *   4 x MPI_Isend of 8, 16, 24, 32 B, completed by MPI_Waitany until none is left;
 *   4 x 40 B completed by MPI_Waitsome; 2 x 50 B by loops of MPI_Test, 2 x 60 B by MPI_Testall, 2 x 70 B by
 * MPI_Testany, 2 x 80 B by MPI_Testsome; and cancels one receive that nobody answers, which moves nothing.  How often
 * the loops turn is chance: the program counts them and gathers the counts (5 long a rank) on rank 0. */
#include "truth.h"
#include <mpi.h>

#define TIMES 10

enum { TEST, TESTALL, TESTANY, TESTSOME, WAITSOME, LOOPS };
static const char *const loop_name[LOOPS] = {"MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Waitsome"};
static long turns[LOOPS];
static int me, n, next, previous;
static char out[100], in[12][200];

static void answer(const long *all)
{
    truth_frame(n);
    for (int r = 0; r < n; r++) {
        int to = (r + 1) % n;
        truth_message(r, "MPI_Isend", to, "MPI_Irecv", TIMES, 10);
        truth_message(r, "MPI_Issend", to, "MPI_Irecv", TIMES, 20);
        truth_message(r, "MPI_Ibsend", to, "MPI_Irecv", TIMES, 30);
        truth_message(r, "MPI_Isend", to, "MPI_Irecv", TIMES, 0);
        for (int k = 1; k <= 4; k++)
            truth_message(r, "MPI_Isend", to, "MPI_Irecv", TIMES, 8 * k);
        truth_message(r, "MPI_Isend", to, "MPI_Irecv", 4 * TIMES, 40);
        for (int bytes = 50; bytes <= 80; bytes += 10)
            truth_message(r, "MPI_Isend", to, "MPI_Irecv", 2 * TIMES, bytes);
        truth_call(r, "MPI_Waitall", 2 * TIMES, 0, 0);
        truth_call(r, "MPI_Waitany", 9 * TIMES, 0, 0); /* 8 requests, and one call that says that none is left */
        truth_call(r, "MPI_Buffer_attach", 1, 0, 0);
        truth_call(r, "MPI_Buffer_detach", 1, 0, 0);
        truth_call(r, "MPI_Irecv", 1, 0, 0); /* the cancelled one */
        truth_call(r, "MPI_Cancel", 1, 0, 0);
        truth_call(r, "MPI_Wait", 1, 0, 0);
        truth_call(r, "MPI_Test_cancelled", 1, 0, 0);
        for (int i = 0; i < LOOPS; i++)
            truth_call(r, loop_name[i], all[r * LOOPS + i], 0, 0);
        long long mine = LOOPS * (long long)sizeof(long);
        truth_call(r, "MPI_Gather", 1, mine, r == 0 ? n * mine : 0);
    }
}

/* Starts `k` receives of at most 200 bytes and `k` sends of `bytes`: requests 0..k-1 and k..2k-1. */
static void start(int k, int bytes, int tag, MPI_Request *requests)
{
    for (int i = 0; i < k; i++)
        MPI_Irecv(in[i], 200, MPI_CHAR, previous, tag, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < k; i++)
        MPI_Isend(out, bytes, MPI_CHAR, next, tag, MPI_COMM_WORLD, &requests[k + i]);
}

static void waits(int round)
{
    MPI_Request r[8];
    MPI_Status statuses[8];
    int statuses_wanted = round % 2;
    MPI_Irecv(in[0], 200, MPI_CHAR, previous, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(in[1], 20, MPI_CHAR, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &r[1]);
    MPI_Irecv(in[2], 200, MPI_CHAR, previous, 3, MPI_COMM_WORLD, &r[2]);
    MPI_Irecv(in[3], 200, MPI_CHAR, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &r[3]);
    MPI_Isend(out, 10, MPI_CHAR, next, 1, MPI_COMM_WORLD, &r[4]);
    MPI_Issend(out, 5, MPI_INT, next, 2, MPI_COMM_WORLD, &r[5]);
    MPI_Ibsend(out, 30, MPI_CHAR, next, 3, MPI_COMM_WORLD, &r[6]);
    MPI_Isend(NULL, 0, MPI_CHAR, next, 4, MPI_COMM_WORLD, &r[7]);
    MPI_Waitall(4, r + 4, statuses_wanted ? statuses + 4 : MPI_STATUSES_IGNORE);
    MPI_Waitall(4, r, statuses_wanted ? statuses : MPI_STATUSES_IGNORE);

    for (int k = 0; k < 4; k++)
        MPI_Irecv(in[k], 200, MPI_CHAR, previous, 10 + k, MPI_COMM_WORLD, &r[k]);
    for (int k = 0; k < 4; k++)
        MPI_Isend(out, 8 * (k + 1), MPI_CHAR, next, 10 + k, MPI_COMM_WORLD, &r[4 + k]);
    int index;
    do
        MPI_Waitany(8, r, &index, statuses_wanted ? statuses : MPI_STATUS_IGNORE);
    while (index != MPI_UNDEFINED);

    start(4, 40, 20, r);
    int left = 8, done, indices[8];
    while (left > 0) {
        MPI_Waitsome(8, r, &done, indices, statuses_wanted ? statuses : MPI_STATUSES_IGNORE);
        turns[WAITSOME]++;
        left -= done;
    }
}

static void tests(int round)
{
    MPI_Request r[4];
    MPI_Status statuses[4];
    int statuses_wanted = round % 2, flag, index, done, indices[4];
    start(2, 50, 30, r);
    for (int i = 0; i < 4; i++)
        do {
            MPI_Test(&r[i], &flag, statuses_wanted ? statuses : MPI_STATUS_IGNORE);
            turns[TEST]++;
        } while (!flag);
    start(2, 60, 31, r);
    do {
        MPI_Testall(4, r, &flag, statuses_wanted ? statuses : MPI_STATUSES_IGNORE);
        turns[TESTALL]++;
    } while (!flag);
    start(2, 70, 32, r);
    do {
        MPI_Testany(4, r, &index, &flag, statuses_wanted ? statuses : MPI_STATUS_IGNORE);
        turns[TESTANY]++;
    } while (!flag || index != MPI_UNDEFINED);
    start(2, 80, 33, r);
    for (int left = 4; left > 0;) {
        MPI_Testsome(4, r, &done, indices, statuses_wanted ? statuses : MPI_STATUSES_IGNORE);
        turns[TESTSOME]++;
        left -= done;
    }
}

static void cancel(void)
{
    MPI_Request request;
    MPI_Status status;
    int cancelled;
    MPI_Irecv(in[0], 200, MPI_CHAR, previous, 99, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    if (!cancelled)
        fprintf(stderr, "p2p_nonblocking: the receive was not cancelled\n");
}

int main(int argc, char **argv)
{
    int bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    next = (me + 1) % n;
    previous = (me + n - 1) % n;
    int size = TIMES * (30 + MPI_BSEND_OVERHEAD);
    void *room = malloc((size_t)size), *back;
    MPI_Buffer_attach(room, size);
    for (int i = 0; i < TIMES; i++) {
        waits(i);
        tests(i);
    }
    cancel();
    MPI_Buffer_detach(&back, &size);
    free(room);

    long *all = calloc((size_t)n * LOOPS, sizeof *all);
    MPI_Gather(turns, LOOPS, MPI_LONG, all, LOOPS, MPI_LONG, 0, MPI_COMM_WORLD);
    if (me == 0) {
        answer(all);
        bad = truth_write(n);
    }
    free(all);
    MPI_Finalize();
    return bad;
}
