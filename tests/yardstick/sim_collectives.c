/* MPI's rules of collectives: the k-th of a communicator on each of its ranks are one, and fit or never end. */
#include "tests/yardstick/simulate.h"

enum shape { WAITS_ALL, WAITS_ROOT, ROOT_WAITS, WAITS_LOWER, WAITS_NEIGHBOURS };

static enum shape shape_of(enum call call)
{
    switch (call) {
    case CALL_BCAST:
    case CALL_IBCAST:
    case CALL_SCATTER:
    case CALL_SCATTERV:
        return WAITS_ROOT;
    case CALL_GATHER:
    case CALL_IGATHER:
    case CALL_GATHERV:
    case CALL_REDUCE:
        return ROOT_WAITS;
    case CALL_SCAN:
    case CALL_EXSCAN:
        return WAITS_LOWER;
    case CALL_NEIGHBOR_ALLGATHER:
    case CALL_NEIGHBOR_ALLTOALL:
    case CALL_INEIGHBOR_ALLTOALL:
        return WAITS_NEIGHBOURS;
    default:
        return WAITS_ALL;
    }
}

int sim_enter(int rank, int comm, const struct op *op, int64_t at)
{
    int k = sim.rank[rank].collectives[comm]++;
    struct instance *in = &sim.instance[comm][k];
    if (k == sim.instances[comm]) {
        sim.instances[comm]++;
        uint64_t random = sim.p->seed + (uint64_t)(k * MOST_COMMS + comm);
        *in = (struct instance){.call = op->call, .root = op->root, .waits = random_below(&random, 2)};
        for (int r = 0; r < sim.p->ranks; r++)
            in->at[r] = NEVER;
    }
    in->differs |= in->call != op->call || in->root != op->root;
    in->at[rank] = at;
    in->last = later(in->last, at);
    in->entered++;
    return k;
}

/* The last member before the rank, or among the members that it gets from; itself, too. */
static int64_t some_at(const struct comm *c, const struct instance *in, int rank, bool neighbours)
{
    int64_t last = in->at[rank];
    bool before = true;
    for (int i = 0; i < c->size + c->remote; i++) {
        int r = c->member[i];
        before &= r != rank;
        if (neighbours ? c->from[rank] >> r & 1 : before)
            last = later(last, in->at[r]);
    }
    return last;
}

int64_t sim_collective_at(int rank, int comm, int k)
{
    const struct instance *in = &sim.instance[comm][k];
    const struct comm *c = &sim.p->comm[comm];
    enum shape shape = in->waits ? WAITS_ALL : shape_of(in->call);
    if (in->differs)
        return NEVER;
    if (shape == WAITS_ALL || (shape == ROOT_WAITS && rank == in->root))
        return in->entered == c->size + c->remote ? in->last : NEVER;
    if (shape == WAITS_ROOT)
        return later(in->at[rank], in->at[in->root]);
    if (shape == ROOT_WAITS)
        return in->at[rank];
    return some_at(c, in, rank, shape == WAITS_NEIGHBOURS);
}
