/* MPI's rules of windows: locks in the order in which they are asked for, and epochs of groups. */
#include "tests/yardstick/simulate.h"

void sim_ask_lock(int rank, const struct op *op, int64_t at)
{
    sim.lock[sim.locks++] = (struct lock){.comm = op->comm,
                                          .target = op->to,
                                          .rank = rank,
                                          .shared = op->shared,
                                          .asked = at,
                                          .got = NEVER,
                                          .released = NEVER};
}

/* Locks of all targets are in the way of each. */
static bool in_the_way(const struct lock *a, const struct lock *b)
{
    return a->comm == b->comm && (a->target == b->target || a->target == NOBODY || b->target == NOBODY) &&
           !(a->shared && b->shared);
}

static struct lock *newest(int rank, const struct op *op)
{
    for (int i = sim.locks; i-- > 0;) {
        struct lock *lock = &sim.lock[i];
        if (lock->rank == rank && lock->comm == op->comm && lock->target == op->to && lock->released == NEVER)
            return lock;
    }
    return NULL;
}

int64_t sim_locked_at(int rank, const struct op *op)
{
    struct lock *lock = newest(rank, op);
    if (!lock)
        return 0;
    int64_t got = lock->asked;
    for (int i = 0; i < sim.locks && lock->got == NEVER; i++) {
        const struct lock *other = &sim.lock[i];
        if (other == lock || !in_the_way(lock, other))
            continue;
        if (other->got != NEVER)
            got = later(got, other->released);
        else if (other < lock)
            got = NEVER;
    }
    if (lock->got == NEVER)
        lock->got = got;
    return lock->got;
}

void sim_unlock(int rank, const struct op *op, int64_t at)
{
    struct lock *lock = newest(rank, op);
    if (lock)
        lock->released = at;
}

void sim_tell(int rank, const struct op *op, bool complete, int64_t at)
{
    for (int r = 0; r < sim.p->ranks; r++)
        if (op->group >> r & 1)
            sim.epoch[sim.epochs++] = (struct epoch){op->comm, rank, r, complete, at};
}

int64_t sim_told_at(int rank, const struct op *op, bool complete, bool take)
{
    int64_t last = 0;
    for (int r = 0; r < sim.p->ranks; r++) {
        if (!(op->group >> r & 1))
            continue;
        int i = 0;
        while (i < sim.epochs && (sim.epoch[i].comm != op->comm || sim.epoch[i].from != r || sim.epoch[i].to != rank ||
                                  sim.epoch[i].complete != complete))
            i++;
        if (i == sim.epochs)
            return NEVER;
        last = later(last, sim.epoch[i].at);
        if (take)
            sim.epoch[i].to = NOBODY;
    }
    return last;
}
