/* Collectives, windows and files of a program that play runs. */
#include "tests/yardstick/real/play.h"

#include <stdio.h>
#include <string.h>

bool has_call(enum call call)
{
#if MPI_VERSION >= 4
    (void)call;
    return true;
#else
    return call != CALL_PSEND_INIT && call != CALL_PRECV_INIT && call != CALL_PREADY && call != CALL_ALLREDUCE_INIT;
#endif
}

void play_new(struct thread *t, const struct op *op)
{
#if MPI_VERSION >= 4
    const struct comm *c = &comms[op->comm];
    MPI_Request *q = &t->request[op->slot];
    char *at = t->slot[op->slot];
    int half = op->bytes / 2;
    switch (op->call) {
    case CALL_PSEND_INIT:
        MPI_Psend_init(at, 2, half, MPI_BYTE, rank_in(c, op->to), op->tag, c->mpi, MPI_INFO_NULL, q);
        break;
    case CALL_PRECV_INIT:
        MPI_Precv_init(at, 2, half, MPI_BYTE, rank_in(c, op->from), op->rtag, c->mpi, MPI_INFO_NULL, q);
        break;
    case CALL_PREADY:
        MPI_Pready(t->parts[op->slot]++ % 2, *q);
        break;
    case CALL_ALLREDUCE_INIT:
        MPI_Allreduce_init(at, at + op->bytes, op->bytes, MPI_BYTE, MPI_BOR, c->mpi, MPI_INFO_NULL, q);
        break;
    default:
        break;
    }
#else
    (void)t;
    (void)op;
#endif
}

static void make_graph(struct thread *t, const struct op *op, struct comm *made)
{
    int from[MOST_RANKS], to[MOST_RANKS], weight[MOST_RANKS] = {0}, in = 0, out = 0;
    for (int r = 0; r < made->size; r++) {
        if (made->from[t->rank] >> r & 1)
            from[in++] = r;
        if (made->from[r] >> t->rank & 1)
            to[out++] = r;
    }
    MPI_Dist_graph_create_adjacent(comms[op->comm].mpi, in, from, weight, out, to, weight, MPI_INFO_NULL, 0,
                                   &made->mpi);
}

static void make_comm(struct thread *t, const struct op *op)
{
    const struct comm *c = &comms[op->comm];
    struct comm *made = &comms[op->makes];
    int periodic = 1, own = own_rank(c, t->rank);
    bool far = own_rank(c, made->member[0]) == MPI_PROC_NULL;
    void *base;
    char path[512];
    switch (op->call) {
    case CALL_COMM_DUP:
        MPI_Comm_dup(c->mpi, &made->mpi);
        break;
    case CALL_COMM_SPLIT:
        MPI_Comm_split(c->mpi, op->makes, own, &made->mpi);
        break;
    case CALL_CART_CREATE:
        MPI_Cart_create(c->mpi, 1, &c->size, &periodic, 0, &made->mpi);
        break;
    case CALL_GRAPH_CREATE:
        make_graph(t, op, made);
        break;
    case CALL_INTERCOMM_CREATE:
        MPI_Intercomm_create(c->mpi, 0, MPI_COMM_WORLD, made->member[far ? 0 : made->size], 30000 + op->makes,
                             &made->mpi);
        break;
    case CALL_WIN_ALLOCATE:
        MPI_Win_allocate(4096, 1, MPI_INFO_NULL, c->mpi, &base, &made->window);
        break;
    default:
        snprintf(path, sizeof path, "%s/out%d", scratch, op->makes);
        MPI_File_open(c->mpi, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &made->file);
        break;
    }
}

static void start_collective(struct thread *t, const struct op *op, MPI_Comm comm, int root)
{
    MPI_Request *q = &t->request[op->slot];
    char *out = t->slot[op->slot], *in = out + MOST_RANKS * MOST_BYTES;
    int n = op->bytes;
    switch (op->call) {
    case CALL_IBARRIER:
        MPI_Ibarrier(comm, q);
        break;
    case CALL_IBCAST:
        MPI_Ibcast(out, n, MPI_BYTE, root, comm, q);
        break;
    case CALL_IALLREDUCE:
        MPI_Iallreduce(out, in, n, MPI_BYTE, MPI_BOR, comm, q);
        break;
    case CALL_IGATHER:
        MPI_Igather(out, n, MPI_BYTE, in, n, MPI_BYTE, root, comm, q);
        break;
    case CALL_IALLTOALL:
        MPI_Ialltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, comm, q);
        break;
    default:
        MPI_Ineighbor_alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, comm, q);
        break;
    }
}

/* Collectives in which each rank may have another count; here all have the same. */
static void play_with_counts(struct thread *t, enum call call, const struct comm *c, int n, int root)
{
    int counts[MOST_RANKS], places[MOST_RANKS], all = c->remote > c->size ? c->remote : c->size;
    MPI_Datatype types[MOST_RANKS];
    for (int i = 0; i < all; i++) {
        counts[i] = n;
        places[i] = i * n;
        types[i] = MPI_BYTE;
    }
    if (call == CALL_SCATTERV)
        MPI_Scatterv(t->out, counts, places, MPI_BYTE, t->in, n, MPI_BYTE, root, c->mpi);
    else if (call == CALL_GATHERV)
        MPI_Gatherv(t->out, n, MPI_BYTE, t->in, counts, places, MPI_BYTE, root, c->mpi);
    else if (call == CALL_ALLGATHERV)
        MPI_Allgatherv(t->out, n, MPI_BYTE, t->in, counts, places, MPI_BYTE, c->mpi);
    else if (call == CALL_ALLTOALLV)
        MPI_Alltoallv(t->out, counts, places, MPI_BYTE, t->in, counts, places, MPI_BYTE, c->mpi);
    else
        MPI_Alltoallw(t->out, counts, places, types, t->in, counts, places, types, c->mpi);
}

static void play_on_object(struct thread *t, const struct op *op, struct comm *c)
{
    int n = op->bytes;
    if (op->call == CALL_WIN_FENCE)
        MPI_Win_fence(0, c->window);
    else if (op->call == CALL_WIN_FREE)
        MPI_Win_free(&c->window);
    else if (op->call == CALL_FILE_CLOSE)
        MPI_File_close(&c->file);
    else
        MPI_File_write_at_all(c->file, own_rank(c, t->rank) * n, t->out, n, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void play_blocking(struct thread *t, const struct op *op, struct comm *c, int root)
{
    int n = op->bytes;
    MPI_Comm comm = c->mpi;
    char *out = t->out, *in = t->in;
    switch (op->call) {
        /* clang-format off */
    case CALL_BARRIER: MPI_Barrier(comm); break;
    case CALL_BCAST: MPI_Bcast(in, n, MPI_BYTE, root, comm); break;
    case CALL_SCATTER: MPI_Scatter(out, n, MPI_BYTE, in, n, MPI_BYTE, root, comm); break;
    case CALL_GATHER: MPI_Gather(out, n, MPI_BYTE, in, n, MPI_BYTE, root, comm); break;
    case CALL_REDUCE: MPI_Reduce(out, in, n, MPI_BYTE, MPI_BOR, root, comm); break;
    case CALL_ALLGATHER: MPI_Allgather(out, n, MPI_BYTE, in, n, MPI_BYTE, comm); break;
    case CALL_ALLREDUCE: MPI_Allreduce(out, in, n, MPI_BYTE, MPI_BOR, comm); break;
    case CALL_ALLTOALL: MPI_Alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, comm); break;
    case CALL_REDUCE_SCATTER: MPI_Reduce_scatter_block(out, in, n, MPI_BYTE, MPI_BOR, comm); break;
    case CALL_SCAN: MPI_Scan(out, in, n, MPI_BYTE, MPI_BOR, comm); break;
    case CALL_EXSCAN: MPI_Exscan(out, in, n, MPI_BYTE, MPI_BOR, comm); break;
    case CALL_NEIGHBOR_ALLGATHER: MPI_Neighbor_allgather(out, n, MPI_BYTE, in, n, MPI_BYTE, comm); break;
    case CALL_NEIGHBOR_ALLTOALL: MPI_Neighbor_alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, comm); break;
    case CALL_SCATTERV: case CALL_GATHERV: case CALL_ALLGATHERV: case CALL_ALLTOALLV:
    case CALL_ALLTOALLW: play_with_counts(t, op->call, c, n, root); break;
    default: play_on_object(t, op, c); break;
        /* clang-format on */
    }
}

void play_collective(struct thread *t, const struct op *op)
{
    struct comm *c = &comms[op->comm];
    int root = op->root == NOBODY ? 0 : rank_in(c, op->root);
    if (op->makes)
        make_comm(t, op);
    else if (op->kind == OP_ICOLL)
        start_collective(t, op, c->mpi, root);
    else
        play_blocking(t, op, c, root);
}

static MPI_Group group_of(unsigned long long members)
{
    MPI_Group world, some;
    int member[MOST_RANKS], n = 0;
    for (int r = 0; r < MOST_RANKS; r++)
        if (members >> r & 1)
            member[n++] = r;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, n, member, &some);
    MPI_Group_free(&world);
    return some;
}

/* Locks, gets, unlocks, until somebody has put a flag there. */
static void spin(const struct op *op, MPI_Win window)
{
    for (int flag = 0; !flag; pause_ns(op->ns)) {
        MPI_Win_lock(MPI_LOCK_SHARED, op->to, 0, window);
        MPI_Get(&flag, 1, MPI_INT, op->to, 0, 1, MPI_INT, window);
        MPI_Win_unlock(op->to, window);
    }
}

void play_window(struct thread *t, const struct op *op)
{
    struct comm *c = &comms[op->comm];
    MPI_Win window = c->window;
    MPI_Group group = op->group ? group_of(op->group) : MPI_GROUP_NULL;
    memset(t->out, op->tag != 0, (size_t)op->bytes);
    switch (op->call) {
    case CALL_WIN_LOCK:
        MPI_Win_lock(op->shared ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, op->to, 0, window);
        break;
    case CALL_WIN_UNLOCK:
        MPI_Win_unlock(op->to, window);
        break;
    case CALL_WIN_LOCK_ALL:
        MPI_Win_lock_all(0, window);
        break;
    case CALL_WIN_UNLOCK_ALL:
        MPI_Win_unlock_all(window);
        break;
    case CALL_WIN_FLUSH:
        MPI_Win_flush(op->to, window);
        break;
    case CALL_WIN_POST:
        MPI_Win_post(group, 0, window);
        break;
    case CALL_WIN_START:
        MPI_Win_start(group, 0, window);
        break;
    case CALL_WIN_COMPLETE:
        MPI_Win_complete(window);
        break;
    case CALL_WIN_WAIT:
        MPI_Win_wait(window);
        break;
    case CALL_PUT:
        MPI_Put(t->out, op->bytes, MPI_BYTE, op->to, 0, op->bytes, MPI_BYTE, window);
        break;
    case CALL_GET:
        if (op->kind == OP_SPIN)
            spin(op, window);
        else
            MPI_Get(t->in, op->bytes, MPI_BYTE, op->to, 8, op->bytes, MPI_BYTE, window);
        break;
    default:
        MPI_File_write_at(c->file, own_rank(c, t->rank) * op->bytes, t->out, op->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        break;
    }
    if (group != MPI_GROUP_NULL)
        MPI_Group_free(&group);
}
