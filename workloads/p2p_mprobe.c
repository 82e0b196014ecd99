/* p2p_mprobe: probe first, then receive, in a ring, TIMES rounds.
 * Truth: per round each rank sends 5 messages with MPI_Isend and takes them by
 *   MPI_Mprobe + MPI_Mrecv (100 B), MPI_Improbe in a loop + MPI_Imrecv (200 B), MPI_Probe + MPI_Recv (300 B),
 *   MPI_Iprobe in a loop + MPI_Recv (400 B), MPI_Mprobe from any source + MPI_Mrecv (0 B);
 * bytes are charged to MPI_Mrecv, MPI_Imrecv and MPI_Recv.  One MPI_Mprobe and one MPI_Mrecv on MPI_PROC_NULL move
 * nothing.  The turns of the loops are counted and gathered (2 long a rank). */
#include "truth.h"
#include <mpi.h>

#define TIMES 20

enum { IMPROBE, IPROBE, LOOPS };
static long turns[LOOPS];

static void answer(int n, const long *all)
{
    truth_frame(n);
    for (int r = 0; r < n; r++) {
        int to = (r + 1) % n;
        truth_message(r, "MPI_Isend", to, "MPI_Mrecv", TIMES, 100);
        truth_message(r, "MPI_Isend", to, "MPI_Imrecv", TIMES, 200);
        truth_message(r, "MPI_Isend", to, "MPI_Recv", TIMES, 300);
        truth_message(r, "MPI_Isend", to, "MPI_Recv", TIMES, 400);
        truth_message(r, "MPI_Isend", to, "MPI_Mrecv", TIMES, 0);
        truth_call(r, "MPI_Mprobe", 2 * TIMES + 1, 0, 0);
        truth_call(r, "MPI_Mrecv", 1, 0, 0);
        truth_call(r, "MPI_Probe", TIMES, 0, 0);
        truth_call(r, "MPI_Wait", TIMES, 0, 0);
        truth_call(r, "MPI_Waitall", TIMES, 0, 0);
        truth_call(r, "MPI_Improbe", all[r * LOOPS + IMPROBE], 0, 0);
        truth_call(r, "MPI_Iprobe", all[r * LOOPS + IPROBE], 0, 0);
        long long mine = LOOPS * (long long)sizeof(long);
        truth_call(r, "MPI_Gather", 1, mine, r == 0 ? n * mine : 0);
    }
}

static void receive(int from)
{
    char in[1000];
    int flag;
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    MPI_Mprobe(from, 1, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(in, 1000, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    do {
        MPI_Improbe(from, 2, MPI_COMM_WORLD, &flag, &message, &status);
        turns[IMPROBE]++;
    } while (!flag);
    MPI_Imrecv(in, 1000, MPI_CHAR, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Probe(from, 3, MPI_COMM_WORLD, &status);
    MPI_Recv(in, 1000, MPI_CHAR, status.MPI_SOURCE, 3, MPI_COMM_WORLD, &status);
    do {
        MPI_Iprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        turns[IPROBE]++;
    } while (!flag);
    MPI_Recv(in, 1000, MPI_CHAR, from, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, 1000, MPI_CHAR, &message, &status);
}

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    char out[400] = {0};
    static const int bytes[5] = {100, 200, 300, 400, 0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int next = (me + 1) % n, previous = (me + n - 1) % n;
    for (int i = 0; i < TIMES; i++) {
        MPI_Request sends[5];
        for (int k = 0; k < 5; k++)
            MPI_Isend(out, bytes[k], MPI_CHAR, next, 1 + k, MPI_COMM_WORLD, &sends[k]);
        receive(previous);
        MPI_Waitall(5, sends, MPI_STATUSES_IGNORE);
    }
    MPI_Message message;
    MPI_Status status;
    MPI_Mprobe(MPI_PROC_NULL, 6, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(out, 400, MPI_CHAR, &message, &status);

    long *all = calloc((size_t)n * LOOPS, sizeof *all);
    MPI_Gather(turns, LOOPS, MPI_LONG, all, LOOPS, MPI_LONG, 0, MPI_COMM_WORLD);
    if (me == 0) {
        answer(n, all);
        bad = truth_write(n);
    }
    free(all);
    MPI_Finalize();
    return bad;
}
