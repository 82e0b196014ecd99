/* A program: communicators, phases, pauses, and a fault. */
#include "tests/yardstick/generate.h"

#include <string.h>

const char *const fault_name[FAULTS] = {
#define FAULT(id, name) name,
#include "tests/yardstick/faults.def"
#undef FAULT
};

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int random_below(uint64_t *state, int n)
{
    return (int)(random_next(state) % (uint64_t)n);
}

int below(struct maker *m, int n)
{
    return random_below(&m->random, n);
}

static struct actor *actor_of(struct maker *m, int rank)
{
    return &m->program->actor[m->thread ? m->program->ranks + rank : rank];
}

void add(struct maker *m, int rank, struct op op)
{
    struct actor *actor = actor_of(m, rank);
    op.phase = m->phase;
    actor->op[actor->ops++] = op;
}

bool has_room(const struct maker *m, int ops)
{
    for (int a = 0; a < m->program->actors; a++)
        if (m->program->actor[a].ops + ops > MOST_OPS - 20)
            return false;
    return true;
}

void add_compute(struct maker *m, int rank)
{
    add(m, rank, (struct op){.kind = OP_COMPUTE, .ns = 1000 + (int64_t)below(m, 2000000) * m->program->pace});
}

uint64_t some_bytes(struct maker *m)
{
    return below(m, 2) ? 8u + (uint64_t)below(m, 1000) : EAGER + 1u + (uint64_t)below(m, 100000);
}

int some_comm(struct maker *m, enum comm_kind kind)
{
    const struct program *p = m->program;
    int n = 0, chosen;
    for (int c = 0; c < p->comms; c++)
        n += p->comm[c].kind == kind && p->comm[c].thread == m->thread;
    if (!n)
        return -1;
    chosen = below(m, n);
    for (int c = 0;; c++)
        if (p->comm[c].kind == kind && p->comm[c].thread == m->thread && chosen-- == 0)
            return c;
}

/* Some ranks compute, sleep or read for a second to a minute. */
static void add_pauses(struct maker *m)
{
    for (int i = 0, n = 1 + below(m, 2); i < n; i++) {
        bool idle = below(m, 3) == 0;
        add(m, below(m, m->program->ranks),
            (struct op){.kind = OP_COMPUTE, .idle = idle, .ns = (1 + (int64_t)below(m, 60)) * INT64_C(1000000000)});
    }
}

static void add_phase(struct maker *m)
{
    struct program *p = m->program;
    for (int r = 0; r < p->ranks; r++)
        if (below(m, 2))
            add_compute(m, r);
    if (p->pauses && below(m, 3) == 0)
        add_pauses(m);
    int kind = below(m, 10);
    if (kind < 4)
        add_messages(m);
    else if (kind < 8 || m->thread)
        add_collectives(m);
    else
        add_objects(m);
}

/* The second threads have a communicator of their own, and phases of messages and collectives. */
static void add_threads(struct maker *m)
{
    struct program *p = m->program;
    int comm = p->comms++;
    p->comm[comm] = p->comm[0];
    p->comm[comm].by = CALL_COMM_DUP;
    p->comm[comm].thread = 1;
    p->actors = 2 * p->ranks;
    for (int r = 0; r < p->ranks; r++) {
        struct actor *second = &p->actor[p->ranks + r];
        second->rank = r;
        second->thread = 1;
        second->ops = 0;
        add(m, r, (struct op){.kind = OP_COLL, .call = CALL_COMM_DUP, .makes = comm, .root = NOBODY});
        add(m, r, (struct op){.kind = OP_FORK});
    }
    m->thread = 1;
    m->world = comm;
    for (int r = 0; r < p->ranks; r++)
        add(m, r, (struct op){.kind = OP_FORKED});
    for (int i = 0, n = 1 + below(m, 4); i < n && has_room(m, 130); i++, m->phase++)
        add_phase(m);
    m->thread = 0;
    m->world = 0;
}

/* The same collectives and a shift, again and again. */
static void add_iterations(struct maker *m)
{
    struct program *p = m->program;
    uint64_t random = m->random, bytes = some_bytes(m);
    for (int i = 0, n = 3 + below(m, 6); i < n && has_room(m, 60); i++) {
        m->random = random;
        add_collectives(m);
        for (int r = 0; r < p->ranks; r++) {
            add(m, r, (struct op){.kind = OP_COMPUTE, .ns = 2000000, .count = 0, .tag = i + 1});
            add(m, r,
                (struct op){.kind = OP_SENDRECV,
                            .call = CALL_SENDRECV,
                            .to = (r + 1) % p->ranks,
                            .from = (r + p->ranks - 1) % p->ranks,
                            .tag = m->phase * 8,
                            .rtag = m->phase * 8,
                            .bytes = bytes});
        }
    }
    m->phase++;
}

static void begin_program(struct maker *m)
{
    struct program *p = m->program;
    int scale = below(m, 100);
    p->ranks = scale < 70 ? 2 + below(m, 5) : scale < 98 ? 2 + below(m, 15) : 17 + below(m, 48);
    m->brief = p->ranks > 16;
    p->actors = p->ranks;
    p->comms = 1;
    p->comm[0] = (struct comm){.size = p->ranks};
    p->pauses = below(m, 5) == 0;
    p->spins = below(m, 2);
    p->one_processor = below(m, 10) == 0;
    p->lazy_locks = below(m, 3) == 0;
    p->pace = (int[]){1, 1, 30, 1000}[below(m, 4)];
    for (int r = 0; r < p->ranks; r++) {
        p->comm[0].member[r] = r;
        p->actor[r].rank = r;
        p->actor[r].thread = p->actor[r].ops = 0;
        p->blame[r] = false;
    }
}

/* False: the fault has no place in it. */
static bool make(uint64_t *random, struct program *p)
{
    struct maker m = {.program = p, .random = *random, .phase = 1};
    begin_program(&m);
    p->fault = (enum fault)below(&m, FAULTS);
    if (below(&m, 5) == 0)
        p->fault = FAULT_NONE;
    bool threads = below(&m, 8) == 0 && p->ranks <= 16;
    bool good = true;
    if (threads)
        add_threads(&m);
    for (int i = 0, n = m.brief ? 2 + below(&m, 2) : 3 + below(&m, 7), special = below(&m, n); i < n; i++, m.phase++) {
        if (has_room(&m, 140))
            add_phase(&m);
        if (i != special)
            continue;
        m.phase++;
        if (p->fault == FAULT_LOST && p->ranks > 2)
            add_farm(&m);
        if (p->fault == FAULT_MIXED)
            good = add_mixed_circle(&m);
        if (p->fault == FAULT_LIVELOCK)
            good = add_flag(&m, true);
        if (p->fault == FAULT_ITERATIONS || p->fault == FAULT_SLOW || below(&m, 6) == 0)
            add_iterations(&m);
    }
    for (int r = 0; r < p->ranks; r++) {
        if (threads)
            add(&m, r, (struct op){.kind = OP_JOIN});
        add(&m, r, (struct op){.kind = OP_FINALIZE, .call = CALL_FINALIZE});
    }
    good = good && plant(&m);
    *random = m.random;
    return good;
}

void generate(uint64_t seed, struct program *out)
{
    uint64_t random = seed;
    while (!make(&random, out))
        ;
    out->seed = seed;
}
