/* Phases of collectives: blocking, started, persistent, with neighbours. */
#include "tests/yardstick/generate.h"

static const enum call blocking[] = {CALL_BARRIER,    CALL_BCAST,          CALL_SCATTER,  CALL_SCATTERV,
                                     CALL_GATHER,     CALL_GATHERV,        CALL_REDUCE,   CALL_ALLGATHER,
                                     CALL_ALLGATHERV, CALL_ALLREDUCE,      CALL_ALLTOALL, CALL_ALLTOALLV,
                                     CALL_ALLTOALLW,  CALL_REDUCE_SCATTER, CALL_SCAN,     CALL_EXSCAN};
static const enum call started[] = {CALL_IBARRIER, CALL_IBCAST, CALL_IALLREDUCE, CALL_IGATHER, CALL_IALLTOALL};
#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

bool call_is_rooted(enum call call)
{
    return call == CALL_BCAST || call == CALL_SCATTER || call == CALL_SCATTERV || call == CALL_GATHER ||
           call == CALL_GATHERV || call == CALL_REDUCE || call == CALL_IBCAST || call == CALL_IGATHER;
}

enum call other_collective(struct maker *m)
{
    return blocking[below(m, COUNT(blocking))];
}

static void add_to_all(struct maker *m, int comm, struct op op)
{
    const struct comm *c = &m->program->comm[comm];
    op.comm = comm;
    op.root = call_is_rooted(op.call) ? c->member[below(m, c->size)] : NOBODY;
    for (int i = 0; i < c->size + c->remote; i++)
        add(m, c->member[i], op);
}

void add_collective(struct maker *m, int comm, enum call call)
{
    add_to_all(m, comm, (struct op){.kind = OP_COLL, .call = call, .bytes = some_bytes(m)});
}

static void add_started(struct maker *m)
{
    struct program *p = m->program;
    int n = 1 + below(m, 3), comm = m->world;
    bool tests = below(m, 3) == 0;
    for (int i = 0; i < n; i++)
        add_to_all(m, comm,
                   (struct op){.kind = OP_ICOLL,
                               .call = started[below(m, COUNT(started))],
                               .bytes = some_bytes(m),
                               .slot = i,
                               .slots = 1});
    for (int r = 0; r < p->ranks; r++) {
        add_compute(m, r);
        add(m, r,
            (struct op){.kind = OP_WAIT,
                        .call = n == 1  ? (tests ? CALL_TEST : CALL_WAIT)
                                : tests ? CALL_TESTALL
                                        : CALL_WAITALL,
                        .slots = n,
                        .polls = tests,
                        .ns = 2000});
    }
}

static void add_persistent_collective(struct maker *m)
{
    struct program *p = m->program;
    for (int r = 0; r < p->ranks; r++) {
        add(m, r,
            (struct op){.kind = OP_COLL_INIT,
                        .call = CALL_ALLREDUCE_INIT,
                        .comm = m->world,
                        .bytes = 8,
                        .root = NOBODY,
                        .slots = 1});
        for (int i = 0; i < 2; i++) {
            add(m, r, (struct op){.kind = OP_START, .call = CALL_START, .slots = 1});
            add_compute(m, r);
            add(m, r, (struct op){.kind = OP_WAIT, .call = CALL_WAIT, .slots = 1});
        }
        add(m, r, (struct op){.kind = OP_REQUEST_FREE, .call = CALL_REQUEST_FREE, .slots = 1});
    }
}

static void add_neighbours(struct maker *m, int comm)
{
    static const enum call calls[] = {CALL_NEIGHBOR_ALLGATHER, CALL_NEIGHBOR_ALLTOALL};
    if (below(m, 3)) {
        add_collective(m, comm, calls[below(m, 2)]);
        return;
    }
    const struct comm *c = &m->program->comm[comm];
    add_to_all(m, comm, (struct op){.kind = OP_ICOLL, .call = CALL_INEIGHBOR_ALLTOALL, .bytes = 64, .slots = 1});
    for (int i = 0; i < c->size; i++)
        add(m, c->member[i], (struct op){.kind = OP_WAIT, .call = CALL_WAIT, .slots = 1});
}

/* Intercommunicators: collectives without a root, and messages between the groups. */
static void add_between(struct maker *m, int comm)
{
    static const enum call calls[] = {CALL_BARRIER, CALL_ALLREDUCE, CALL_ALLGATHER};
    const struct comm *c = &m->program->comm[comm];
    if (below(m, 2)) {
        add_collective(m, comm, calls[below(m, 3)]);
        return;
    }
    for (int i = 0; i < c->size && i < c->remote; i++)
        for (int side = 0; side < 2; side++) {
            int me = c->member[side ? c->size + i : i], other = c->member[side ? i : c->size + i];
            add(m, me,
                (struct op){.kind = OP_SENDRECV,
                            .call = CALL_SENDRECV,
                            .comm = comm,
                            .to = other,
                            .from = other,
                            .tag = m->phase * 8,
                            .rtag = m->phase * 8,
                            .bytes = 64});
        }
}

void add_collectives(struct maker *m)
{
    int way = below(m, 10), comm;
    if (way == 0)
        add_started(m);
    else if (way == 1)
        add_persistent_collective(m);
    else if (way < 4 && (comm = some_comm(m, COMM_NEIGHBOURS)) >= 0)
        add_neighbours(m, comm);
    else if (way < 6 && (comm = some_comm(m, COMM_INTER)) >= 0)
        add_between(m, comm);
    else
        for (int i = 0, n = 1 + below(m, 3); i < n; i++)
            add_collective(m, some_comm(m, COMM_PLAIN), blocking[below(m, COUNT(blocking))]);
}
