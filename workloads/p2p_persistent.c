/* p2p_persistent: persistent requests in a ring, TIMES rounds.
 * Truth: each rank makes 4 MPI_Send_init family calls and 4 MPI_Recv_init.  Each round it starts a receive and a send
 * of 100 B (MPI_Start), and with MPI_Startall 3 receives and sends of 10 B (ready would be a race, so standard), 20 B
 * (synchronous) and 30 B (buffered).  All is completed by MPI_Waitall.  The bytes count under the calls that made the
 * requests. */
#include "truth.h"
#include <mpi.h>

#define TIMES 25

static void answer(int n)
{
    truth_frame(n);
    for (int r = 0; r < n; r++) {
        int to = (r + 1) % n;
        truth_call(r, "MPI_Send_init", 2, 110 * TIMES, 0);
        truth_call(r, "MPI_Ssend_init", 1, 20 * TIMES, 0);
        truth_call(r, "MPI_Bsend_init", 1, 30 * TIMES, 0);
        truth_call(r, "MPI_Recv_init", 4, 0, 160 * TIMES);
        truth_call(r, "MPI_Start", 2 * TIMES, 0, 0);
        truth_call(r, "MPI_Startall", TIMES, 0, 0);
        truth_call(r, "MPI_Waitall", 2 * TIMES, 0, 0);
        truth_call(r, "MPI_Request_free", 8, 0, 0);
        truth_call(r, "MPI_Buffer_attach", 1, 0, 0);
        truth_call(r, "MPI_Buffer_detach", 1, 0, 0);
        truth_pair(r, to, TIMES, 100);
        truth_pair(r, to, TIMES, 10);
        truth_pair(r, to, TIMES, 20);
        truth_pair(r, to, TIMES, 30);
    }
}

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    char out[100] = {0}, in[4][200];
    MPI_Request one[2], three[6];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int next = (me + 1) % n, previous = (me + n - 1) % n;
    int size = (TIMES + 1) * (30 + MPI_BSEND_OVERHEAD);
    void *room = malloc((size_t)size), *back;
    MPI_Buffer_attach(room, size);

    MPI_Recv_init(in[0], 200, MPI_CHAR, previous, 1, MPI_COMM_WORLD, &one[0]);
    MPI_Send_init(out, 100, MPI_CHAR, next, 1, MPI_COMM_WORLD, &one[1]);
    for (int i = 0; i < 3; i++)
        MPI_Recv_init(in[1 + i], 200, MPI_CHAR, i == 1 ? MPI_ANY_SOURCE : previous, 2 + i, MPI_COMM_WORLD, &three[i]);
    MPI_Send_init(out, 10, MPI_CHAR, next, 2, MPI_COMM_WORLD, &three[3]);
    MPI_Ssend_init(out, 20, MPI_CHAR, next, 3, MPI_COMM_WORLD, &three[4]);
    MPI_Bsend_init(out, 30, MPI_CHAR, next, 4, MPI_COMM_WORLD, &three[5]);
    for (int i = 0; i < TIMES; i++) {
        MPI_Status statuses[6];
        MPI_Start(&one[0]);
        MPI_Start(&one[1]);
        MPI_Waitall(2, one, MPI_STATUSES_IGNORE);
        MPI_Startall(6, three);
        MPI_Waitall(6, three, i % 2 ? statuses : MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 2; i++)
        MPI_Request_free(&one[i]);
    for (int i = 0; i < 6; i++)
        MPI_Request_free(&three[i]);
    MPI_Buffer_detach(&back, &size);
    free(room);

    if (me == 0) {
        answer(n);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
