/* p2p_blocking: every blocking way to send and receive, TIMES times each.
 * Truth: ranks 2k -> 2k+1 (where both exist) exchange, per round,
 *   MPI_Send 100 B; MPI_Ssend 28 B taken by a wildcard receive; MPI_Bsend 40 B into a larger buffer; MPI_Rsend 16 B;
 *   a vector of 48 B; a struct of 33 B; nothing (0 B);
 * every rank, per round: a ring of MPI_Sendrecv (18 B) and MPI_Sendrecv_replace (13 B), 21 B to itself, and four calls
 * with MPI_PROC_NULL, which move nothing. */
#include "truth.h"
#include <mpi.h>
#include <stddef.h>

#define TIMES 10

struct item {
    char name[3];
    double value;
};

static void answer(int n)
{
    truth_frame(n);
    truth_each(n, "MPI_Type_vector", 1, 0, 0);
    truth_each(n, "MPI_Type_create_struct", 1, 0, 0);
    truth_each(n, "MPI_Type_create_resized", 1, 0, 0);
    truth_each(n, "MPI_Type_commit", 2, 0, 0);
    truth_each(n, "MPI_Type_free", 3, 0, 0);
    for (int a = 0; a + 1 < n; a += 2) {
        int b = a + 1;
        truth_call(a, "MPI_Buffer_attach", 1, 0, 0);
        truth_call(a, "MPI_Buffer_detach", 1, 0, 0);
        truth_message(a, "MPI_Send", b, "MPI_Recv", TIMES, 100);
        truth_message(a, "MPI_Ssend", b, "MPI_Recv", TIMES, 28);
        truth_message(a, "MPI_Bsend", b, "MPI_Recv", TIMES, 40);
        truth_message(b, "MPI_Send", a, "MPI_Recv", TIMES, 0); /* the go for the ready send */
        truth_message(a, "MPI_Rsend", b, "MPI_Irecv", TIMES, 16);
        truth_call(b, "MPI_Wait", TIMES, 0, 0);
        truth_message(a, "MPI_Send", b, "MPI_Recv", TIMES, 48);
        truth_message(a, "MPI_Send", b, "MPI_Recv", TIMES, 33);
        truth_message(a, "MPI_Send", b, "MPI_Recv", TIMES, 0);
    }
    for (int r = 0; r < n; r++) {
        truth_call(r, "MPI_Sendrecv", TIMES, TIMES * 18, TIMES * 18);
        truth_pair(r, (r + 1) % n, TIMES, 18);
        truth_call(r, "MPI_Sendrecv_replace", TIMES, TIMES * 13, TIMES * 13);
        truth_pair(r, (r + 1) % n, TIMES, 13);
        truth_message(r, "MPI_Send", r, "MPI_Irecv", TIMES, 21);
        truth_call(r, "MPI_Wait", TIMES, 0, 0);
    }
    truth_each(n, "MPI_Send", TIMES, 0, 0); /* to MPI_PROC_NULL */
    truth_each(n, "MPI_Recv", TIMES, 0, 0);
    truth_each(n, "MPI_Sendrecv", TIMES, 0, 0);
    truth_each(n, "MPI_Probe", TIMES, 0, 0);
}

static void first_of_pair(int other, MPI_Datatype vector, MPI_Datatype item)
{
    char bytes[100] = {0};
    int ints[32] = {0};
    double doubles[5] = {0};
    struct item items[3] = {0};
    int size = TIMES * (40 + MPI_BSEND_OVERHEAD);
    void *room = malloc((size_t)size);
    MPI_Buffer_attach(room, size);
    for (int i = 0; i < TIMES; i++) {
        MPI_Send(bytes, 100, MPI_CHAR, other, 1, MPI_COMM_WORLD);
        MPI_Ssend(ints, 7, MPI_INT, other, 2 + i, MPI_COMM_WORLD);
        MPI_Bsend(doubles, 5, MPI_DOUBLE, other, 3, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Rsend(bytes, 16, MPI_BYTE, other, 5, MPI_COMM_WORLD);
        MPI_Send(ints, 2, vector, other, 6, MPI_COMM_WORLD);
        MPI_Send(items, 3, item, other, 7, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_INT, other, 8, MPI_COMM_WORLD);
    }
    void *back;
    MPI_Buffer_detach(&back, &size);
    free(room);
}

static void second_of_pair(int other, MPI_Datatype item)
{
    char bytes[100];
    int ints[32];
    double doubles[100];
    struct item items[3];
    MPI_Status status;
    for (int i = 0; i < TIMES; i++) {
        MPI_Request ready;
        MPI_Recv(bytes, 100, MPI_CHAR, other, 1, MPI_COMM_WORLD, &status);
        MPI_Recv(ints, 7, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(doubles, 100, MPI_DOUBLE, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(bytes, 16, MPI_BYTE, other, 5, MPI_COMM_WORLD, &ready);
        MPI_Send(NULL, 0, MPI_BYTE, other, 4, MPI_COMM_WORLD);
        MPI_Wait(&ready, &status);
        MPI_Recv(ints, 12, MPI_INT, other, 6, MPI_COMM_WORLD, &status);
        MPI_Recv(items, 3, item, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
        MPI_Recv(NULL, 0, MPI_INT, other, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    }
}

static void everyone(int me, int n)
{
    int next = (me + 1) % n, previous = (me + n - 1) % n;
    short out[9] = {0}, in[30];
    char swap[13] = {0}, self_out[21] = {0}, self_in[40];
    int nothing[10] = {0};
    MPI_Status status;
    for (int i = 0; i < TIMES; i++) {
        MPI_Request request;
        MPI_Sendrecv(out, 9, MPI_SHORT, next, 11, in, 30, MPI_SHORT, previous, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv_replace(swap, 13, MPI_CHAR, next, 12, MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, &status);
        MPI_Irecv(self_in, 40, MPI_CHAR, me, 13, MPI_COMM_WORLD, &request);
        MPI_Send(self_out, 21, MPI_CHAR, me, 13, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Send(nothing, 10, MPI_INT, MPI_PROC_NULL, 14, MPI_COMM_WORLD);
        MPI_Recv(nothing, 10, MPI_INT, MPI_PROC_NULL, 14, MPI_COMM_WORLD, &status);
        MPI_Sendrecv(out, 9, MPI_SHORT, MPI_PROC_NULL, 15, in, 30, MPI_SHORT, MPI_PROC_NULL, 15, MPI_COMM_WORLD,
                     &status);
        MPI_Probe(MPI_PROC_NULL, 16, MPI_COMM_WORLD, &status);
    }
}

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);

    MPI_Datatype vector, packed, item;
    MPI_Type_vector(3, 2, 4, MPI_INT, &vector); /* 24 bytes of data in 40 */
    int lengths[2] = {3, 1};
    MPI_Aint places[2] = {offsetof(struct item, name), offsetof(struct item, value)};
    MPI_Datatype types[2] = {MPI_CHAR, MPI_DOUBLE};
    MPI_Type_create_struct(2, lengths, places, types, &packed); /* 11 bytes of data in 16 */
    MPI_Type_create_resized(packed, 0, sizeof(struct item), &item);
    MPI_Type_commit(&vector);
    MPI_Type_commit(&item);
    if (me % 2 == 0 && me + 1 < n)
        first_of_pair(me + 1, vector, item);
    if (me % 2 == 1)
        second_of_pair(me - 1, item);
    everyone(me, n);
    MPI_Type_free(&vector);
    MPI_Type_free(&packed);
    MPI_Type_free(&item);

    if (me == 0) {
        answer(n);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
