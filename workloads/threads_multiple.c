/* threads_multiple: MPI_THREAD_MULTIPLE, THREADS threads a rank, each with a communicator of its own.
 * Truth: thread t of each of the ranks 2k and 2k+1 exchanges TIMES messages of 8(t+1) bytes each way with its
 * counterpart: MPI_Send and MPI_Recv on both sides; a rank without a partner talks to itself with MPI_Sendrecv.
 * Exits with 77 if the MPI has no MPI_THREAD_MULTIPLE. */
#include "truth.h"
#include <mpi.h>
#include <pthread.h>

#define THREADS 4
#define TIMES   500

static int me, n;

struct worker {
    pthread_t id;
    MPI_Comm comm;
    int bytes;
};

static int partner(int r)
{
    return (r ^ 1) < n ? r ^ 1 : r;
}

static void answer(void)
{
    truth_each(n, "MPI_Init_thread", 1, 0, 0);
    truth_each(n, "MPI_Comm_rank", 1, 0, 0);
    truth_each(n, "MPI_Comm_size", 1, 0, 0);
    truth_each(n, "MPI_Comm_dup", THREADS, 0, 0);
    truth_each(n, "MPI_Comm_free", THREADS, 0, 0);
    truth_each(n, "MPI_Finalize", 1, 0, 0);
    for (int r = 0; r < n; r++)
        for (int t = 0; t < THREADS; t++) {
            int bytes = 8 * (t + 1);
            if (partner(r) == r) {
                truth_call(r, "MPI_Sendrecv", TIMES, TIMES * bytes, TIMES * bytes);
                truth_pair(r, r, TIMES, bytes);
            } else {
                truth_message(r, "MPI_Send", partner(r), "MPI_Recv", TIMES, bytes);
            }
        }
}

static void *work(void *arg)
{
    const struct worker *w = arg;
    char out[8 * THREADS] = {0}, in[8 * THREADS];
    int other = partner(me);
    for (int i = 0; i < TIMES; i++) {
        if (other == me) {
            MPI_Sendrecv(out, w->bytes, MPI_CHAR, me, i, in, w->bytes, MPI_CHAR, me, i, w->comm, MPI_STATUS_IGNORE);
        } else if (me < other) {
            MPI_Send(out, w->bytes, MPI_CHAR, other, i, w->comm);
            MPI_Recv(in, w->bytes, MPI_CHAR, other, i, w->comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, w->bytes, MPI_CHAR, other, i, w->comm, MPI_STATUS_IGNORE);
            MPI_Send(out, w->bytes, MPI_CHAR, other, i, w->comm);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, bad = 0;
    struct worker workers[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    for (int t = 0; t < THREADS; t++) {
        workers[t].bytes = 8 * (t + 1);
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm);
    }
    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&workers[t].id, NULL, work, &workers[t]) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    for (int t = 0; t < THREADS; t++)
        pthread_join(workers[t].id, NULL);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_free(&workers[t].comm);
    if (me == 0) {
        answer();
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
