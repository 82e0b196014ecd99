/* check_modes MODE: programs that end well.  Some are wrong by MPI's rules and do not show it; beside each is one that
 * looks alike and is correct.  With 3 ranks.  `check_modes` alone lists the modes, each with the class that hpctop
 * check must find, "-" for a correct one. */
#include "check_left.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sends that only buffering saves */

static void ring_send(void)
{
    MPI_Send(data, 4, MPI_INT, NEXT, 1, world);
    MPI_Recv(more, 4, MPI_INT, BEFORE, 1, world, IGNORE);
}

static void ring_odd(void) /* the first one receives first: a chain */
{
    if (me == 0)
        MPI_Recv(more, 4, MPI_INT, BEFORE, 1, world, IGNORE);
    MPI_Send(data, 4, MPI_INT, NEXT, 1, world);
    if (me != 0)
        MPI_Recv(more, 4, MPI_INT, BEFORE, 1, world, IGNORE);
}

static void ring_bsend(void)
{
    static char room[4096];
    void *old;
    int size;
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(data, 4, MPI_INT, NEXT, 1, world);
    MPI_Recv(more, 4, MPI_INT, BEFORE, 1, world, IGNORE);
    MPI_Buffer_detach(&old, &size);
}

static void ring_sendrecv(void)
{
    MPI_Sendrecv(data, 4, MPI_INT, NEXT, 1, more, 4, MPI_INT, BEFORE, 1, world, IGNORE);
}

static void ring_isend_wait(void) /* the wait comes before the receive */
{
    MPI_Request request;
    MPI_Isend(data, 4, MPI_INT, NEXT, 1, world, &request);
    MPI_Wait(&request, IGNORE);
    MPI_Recv(more, 4, MPI_INT, BEFORE, 1, world, IGNORE);
}

static void ring_isend(void)
{
    MPI_Request request;
    MPI_Isend(data, 4, MPI_INT, NEXT, 1, world, &request);
    MPI_Recv(more, 4, MPI_INT, BEFORE, 1, world, IGNORE);
    MPI_Wait(&request, IGNORE);
}

static void ring_test(void) /* it would have received while the test failed */
{
    MPI_Request request;
    int done = 0, received = 0;
    MPI_Isend(data, 4, MPI_INT, NEXT, 1, world, &request);
    while (!done || !received) {
        if (!done)
            MPI_Test(&request, &done, IGNORE);
        if (!received)
            MPI_Iprobe(BEFORE, 1, world, &received, IGNORE);
    }
    MPI_Recv(more, 4, MPI_INT, BEFORE, 1, world, IGNORE);
}

static void ring_waitany(void) /* the receive may be what completes first */
{
    MPI_Request request[2];
    int which;
    MPI_Isend(data, 4, MPI_INT, NEXT, 1, world, &request[0]);
    MPI_Irecv(more, 4, MPI_INT, BEFORE, 1, world, &request[1]);
    for (int i = 0; i < 2; i++)
        MPI_Waitany(2, request, &which, IGNORE);
}

static void exchange_order(void) /* two messages, received in the other order */
{
    if (me == 0) {
        MPI_Send(data, 1, MPI_INT, 1, 1, world);
        MPI_Send(data, 1, MPI_INT, 1, 2, world);
    } else if (me == 1) {
        MPI_Recv(more, 1, MPI_INT, 0, 2, world, IGNORE);
        MPI_Recv(more, 1, MPI_INT, 0, 1, world, IGNORE);
    }
}

static void exchange_posted(void)
{
    MPI_Request request;
    if (me == 0) {
        MPI_Send(data, 1, MPI_INT, 1, 1, world);
        MPI_Send(data, 1, MPI_INT, 1, 2, world);
    } else if (me == 1) {
        MPI_Irecv(data, 1, MPI_INT, 0, 1, world, &request);
        MPI_Recv(more, 1, MPI_INT, 0, 2, world, IGNORE);
        MPI_Wait(&request, IGNORE);
    }
}

static void bcast_send(void) /* rank 1 receives before its broadcast what rank 0 sends after its own */
{
    if (me == 1)
        MPI_Recv(more, 1, MPI_INT, 0, 1, world, IGNORE);
    MPI_Bcast(data, 1, MPI_INT, 0, world);
    if (me == 0)
        MPI_Send(data, 1, MPI_INT, 1, 1, world);
}

static void bcast_isend(void)
{
    MPI_Request request;
    if (me == 0)
        MPI_Isend(data, 1, MPI_INT, 1, 1, world, &request);
    if (me == 1)
        MPI_Recv(more, 1, MPI_INT, 0, 1, world, IGNORE);
    MPI_Bcast(data, 1, MPI_INT, 0, world);
    if (me == 0)
        MPI_Wait(&request, IGNORE);
}

/* ---- datatypes */

static void types(void)
{
    if (me == 0)
        MPI_Send(data, 4, MPI_INT, 1, 1, world);
    if (me == 1)
        MPI_Recv(reals, 4, MPI_FLOAT, 0, 1, world, IGNORE);
}

static void types_bytes(void) /* equal number of bytes */
{
    if (me == 0)
        MPI_Send(data, 4, MPI_INT, 1, 1, world);
    if (me == 1)
        MPI_Recv(reals, 16, MPI_BYTE, 0, 1, world, IGNORE);
}

static void types_struct(void) /* the members are the other way round */
{
    MPI_Datatype type = pair_type(me == 1);
    if (me == 0)
        MPI_Send(reals, 1, type, 1, 1, world);
    if (me == 1)
        MPI_Recv(reals, 1, type, 0, 1, world, IGNORE);
    MPI_Type_free(&type);
}

static void types_built(void) /* the same basic types, made in three ways, and more room than needed */
{
    MPI_Datatype vector, pair = pair_type(0), three;
    MPI_Type_vector(2, 3, 5, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Type_contiguous(3, pair, &three);
    MPI_Type_commit(&three);
    if (me == 0) {
        MPI_Send(data, 1, vector, 1, 1, world);
        MPI_Send(reals, 1, three, 1, 2, world);
        MPI_Send(data, 1, MPI_LONG, 1, 3, world);
    } else if (me == 1) {
        MPI_Recv(more, 16, MPI_INT, 0, 1, world, IGNORE);
        MPI_Recv(reals, 4, pair, 0, 2, world, IGNORE);
        MPI_Recv(reals, 2, MPI_LONG_LONG, 0, 3, world, IGNORE);
    }
    MPI_Type_free(&vector);
    MPI_Type_free(&pair);
    MPI_Type_free(&three);
}

static void types_packed(void)
{
    char packed[64];
    int at = 0;
    if (me == 0)
        MPI_Pack(data, 4, MPI_INT, packed, sizeof packed, &at, world);
    if (me == 0)
        MPI_Send(packed, at, MPI_PACKED, 1, 1, world);
    if (me == 1)
        MPI_Recv(more, 4, MPI_INT, 0, 1, world, IGNORE);
}

static void types_any(void) /* received from anyone, after the completion */
{
    MPI_Request request;
    if (me == 0)
        MPI_Send(reals, 2, MPI_DOUBLE, 1, 1, world);
    if (me == 1) {
        MPI_Irecv(data, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request);
        MPI_Wait(&request, IGNORE);
    }
}

/* ---- collectives */

static void reduce_op(void)
{
    MPI_Reduce(data, more, 1, MPI_INT, me == 1 ? MPI_MAX : MPI_SUM, 0, world);
}

static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] *= ((int *)in)[i];
}

static void reduce_own(void)
{
    MPI_Op op;
    MPI_Op_create(multiply, 1, &op);
    MPI_Allreduce(me == 1 ? MPI_IN_PLACE : more, data, 3, MPI_INT, op, world);
    MPI_Op_free(&op);
}

static void reduce_type(void)
{
    static float in[4], out[4];
    MPI_Allreduce(me == 2 ? (void *)in : data, me == 2 ? (void *)out : more, 4, me == 2 ? MPI_FLOAT : MPI_INT, MPI_SUM,
                  world);
}

static void bcast_type(void)
{
    MPI_Bcast(data, 4, me == 1 ? MPI_FLOAT : MPI_INT, 0, world);
}

static void bcast_vector(void)
{
    MPI_Datatype vector;
    MPI_Type_vector(2, 2, 4, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Bcast(data, me == 1 ? 1 : 4, me == 1 ? vector : MPI_INT, 0, world);
    MPI_Type_free(&vector);
}

static void gather_type(void)
{
    MPI_Gather(data, 4, MPI_INT, reals, 4, MPI_FLOAT, 0, world);
}

static void gatherv(void) /* counts of their own, and garbage where they do not count */
{
    int counts[] = {1, 2, 3}, at[] = {0, 1, 3};
    MPI_Gatherv(me == 0 ? MPI_IN_PLACE : data, me + 1, MPI_INT, more, me ? NULL : counts, me ? NULL : at,
                me ? MPI_DATATYPE_NULL : MPI_INT, 0, world);
    MPI_Allgatherv(data, me + 1, MPI_INT, more, counts, at, MPI_INT, world);
}

static void incomplete(void) /* a reduction that the root never asks for */
{
    if (me != 0)
        MPI_Reduce(data, more, 1, MPI_INT, MPI_SUM, 0, world);
}

static void halves(void) /* two communicators, each with collectives of its own */
{
    MPI_Comm half;
    MPI_Comm_split(world, me < 2, 0, &half);
    if (me < 2)
        MPI_Bcast(data, 2, MPI_INT, 1, half);
    else
        MPI_Allreduce(data, more, 1, MPI_INT, MPI_MAX, half);
    MPI_Comm_free(&half);
}

/* ---- receives from any source */

static void starves(void)
{
    if (me == 1)
        MPI_Send(data, 1, MPI_INT, 0, 1, world);
    if (me == 0) {
        MPI_Recv(data, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, IGNORE);
        MPI_Recv(data, 1, MPI_INT, 2, 1, world, IGNORE);
    }
    if (me == 2) {
        for (volatile int i = 0; i < 50000000; i++)
            ;
        MPI_Send(data, 1, MPI_INT, 0, 1, world);
    }
}

static void any_then_named(void) /* the first message caused the one that is received by name */
{
    MPI_Status status;
    if (me != 0) {
        MPI_Send(data, 1, MPI_INT, 0, 1, world);
        MPI_Recv(data, 1, MPI_INT, 0, 2, world, IGNORE);
        MPI_Send(data, 1, MPI_INT, 0, 3, world);
        return;
    }
    for (int i = 1; i < n; i++) {
        MPI_Recv(data, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, &status);
        MPI_Send(data, 1, MPI_INT, status.MPI_SOURCE, 2, world);
        MPI_Recv(data, 1, MPI_INT, status.MPI_SOURCE, 3, world, IGNORE);
    }
}

static void workers(void)
{
    MPI_Status status;
    int task = 0;
    if (me != 0) {
        for (;;) {
            MPI_Send(data, 1, MPI_INT, 0, 1, world);
            MPI_Recv(&task, 1, MPI_INT, 0, 2, world, IGNORE);
            if (task < 0)
                return;
        }
    }
    for (int left = 20 + n - 1; left > 0; left--) {
        MPI_Recv(data, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, &status);
        task = left > n - 1 ? left : -1;
        MPI_Send(&task, 1, MPI_INT, status.MPI_SOURCE, 2, world);
    }
}

/* ---- errors that are returned */

static void failed(void)
{
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Send(data, 1, MPI_INT, n + 5, 1, world);
}

static const struct {
    const char *name, *finds;
    void (*run)(void);
} modes[] = {
    {"ring_send", "needs-buffering", ring_send},
    {"ring_odd", "-", ring_odd},
    {"ring_bsend", "-", ring_bsend},
    {"ring_sendrecv", "-", ring_sendrecv},
    {"ring_isend_wait", "needs-buffering", ring_isend_wait},
    {"ring_isend", "-", ring_isend},
    {"ring_test", "-", ring_test},
    {"ring_waitany", "-", ring_waitany},
    {"exchange_order", "needs-buffering", exchange_order},
    {"exchange_posted", "-", exchange_posted},
    {"bcast_send", "needs-buffering", bcast_send},
    {"bcast_isend", "-", bcast_isend},
    {"types", "type-mismatch", types},
    {"types_bytes", "type-mismatch", types_bytes},
    {"types_struct", "type-mismatch", types_struct},
    {"types_built", "-", types_built},
    {"types_packed", "-", types_packed},
    {"types_any", "type-mismatch", types_any},
    {"reduce_op", "collective-mismatch", reduce_op},
    {"reduce_own", "-", reduce_own},
    {"reduce_type", "collective-mismatch", reduce_type},
    {"bcast_type", "collective-mismatch", bcast_type},
    {"bcast_vector", "-", bcast_vector},
    {"gather_type", "collective-mismatch", gather_type},
    {"gatherv", "-", gatherv},
    {"incomplete", "collective-incomplete", incomplete},
    {"halves", "-", halves},
    {"starves", "race-starves", starves},
    {"any_then_named", "-", any_then_named},
    {"workers", "-", workers},
    {"not_received", "message-not-received", not_received},
    {"cancelled", "-", cancelled},
    {"not_waited", "request-not-completed", not_waited},
    {"freed_send", "-", freed_send},
    {"freed_receive", "request-not-completed", freed_receive},
    {"persistent_left", "not-freed", persistent_left},
    {"persistent_freed", "-", persistent_freed},
    {"comm_left", "not-freed", comm_left},
    {"comm_once", "-", comm_once},
    {"comms_once", "-", comms_once},
    {"comm_kept", "-", comm_kept},
    {"type_left", "not-freed", type_left},
    {"group_left", "not-freed", group_left},
    {"groups", "-", groups},
    {"file_left", "not-freed", file_left},
    {"file_closed", "-", file_closed},
    {"window_left", "not-freed", window_left},
    {"put_unclosed", "epoch-not-closed", put_unclosed},
    {"put_fenced", "-", put_fenced},
    {"put_started", "-", put_started},
    {"failed", "failed-call", failed},
};

int main(int argc, char **argv)
{
    const size_t count = sizeof modes / sizeof *modes;
    for (size_t i = 0; argc == 1 && i < count; i++)
        printf("%s %s\n", modes[i].name, modes[i].finds);
    if (argc == 1)
        return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &n);
    for (size_t i = 0; i < count; i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            modes[i].run();
    MPI_Finalize();
    return 0;
}
