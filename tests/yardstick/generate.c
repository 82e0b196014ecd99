/* A correct program, phase by phase, and one fault in it. */
#include "tests/yardstick/program.h"

#include <string.h>

const char *const fault_name[FAULTS] = {
    [FAULT_NONE] = "none",
    [FAULT_SKIPPED] = "collective left out",
    [FAULT_OTHER_CALL] = "other collective",
    [FAULT_OTHER_ROOT] = "other root",
    [FAULT_SWAPPED] = "collectives swapped",
    [FAULT_NO_SEND] = "no send",
    [FAULT_NO_RECV] = "no receive",
    [FAULT_TAG] = "other tag",
    [FAULT_CIRCLE] = "circle",
    [FAULT_OUTSIDE] = "outside MPI",
    [FAULT_EXIT] = "early exit",
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

struct maker {
    struct program *program;
    uint64_t random;
    int phase;
};

static int below(struct maker *m, int n)
{
    return random_below(&m->random, n);
}

static struct op *add(struct maker *m, int rank, struct op op)
{
    struct program *p = m->program;
    op.phase = m->phase;
    p->op[rank][p->ops[rank]] = op;
    return &p->op[rank][p->ops[rank]++];
}

static void compute(struct maker *m, int rank)
{
    add(m, rank, (struct op){.kind = OP_COMPUTE, .ns = 1000 + below(m, 2000000)});
}

static uint64_t some_bytes(struct maker *m)
{
    return below(m, 2) ? 8u + (uint64_t)below(m, 1000) : EAGER + 1u + (uint64_t)below(m, 100000);
}

/* ---- phases */

static const enum tb_call collectives[] = {TB_BARRIER, TB_BCAST,     TB_SCATTER,  TB_GATHER,
                                           TB_REDUCE,  TB_ALLREDUCE, TB_ALLTOALL, TB_SCAN};
#define COLLECTIVES (int)(sizeof collectives / sizeof *collectives)

static bool has_root(enum tb_call call)
{
    return call == TB_BCAST || call == TB_SCATTER || call == TB_GATHER || call == TB_REDUCE;
}

static void collective(struct maker *m)
{
    struct program *p = m->program;
    int comm = below(m, p->comms);
    const struct comm *c = &p->comm[comm];
    struct op op = {
        .kind = OP_COLLECTIVE, .call = collectives[below(m, COLLECTIVES)], .comm = comm, .bytes = some_bytes(m)};
    op.root = has_root(op.call) ? c->member[below(m, c->size)] : -1;
    for (int i = 0; i < c->size; i++)
        add(m, c->member[i], op);
}

static void started_collective(struct maker *m)
{
    struct program *p = m->program;
    for (int r = 0; r < p->ranks; r++) {
        add(m, r, (struct op){.kind = OP_ICOLLECTIVE, .call = TB_IALLREDUCE, .bytes = 8, .root = -1});
        compute(m, r);
        add(m, r, (struct op){.kind = OP_WAITALL});
    }
}

static void ring(struct maker *m)
{
    struct program *p = m->program;
    int n = p->ranks, tag = m->phase;
    uint64_t bytes = some_bytes(m);
    for (int r = 0; r < n; r++)
        add(m, r,
            (struct op){.kind = OP_SENDRECV,
                        .call = TB_SENDRECV,
                        .to = (r + 1) % n,
                        .from = (r + n - 1) % n,
                        .tag = tag,
                        .rtag = tag,
                        .bytes = bytes});
}

/* Even ranks send first, odd ones receive first. */
static void pairs(struct maker *m)
{
    struct program *p = m->program;
    int tag = m->phase, rounds = 1 + below(m, 3);
    enum tb_call call = below(m, 3) ? TB_SEND : TB_SSEND;
    uint64_t bytes = some_bytes(m);
    for (int i = 0; i < rounds; i++)
        for (int r = 0; r + 1 < p->ranks; r += 2) {
            compute(m, r);
            add(m, r, (struct op){.kind = OP_SEND, .call = call, .to = r + 1, .tag = tag, .bytes = bytes});
            if (below(m, 4) == 0)
                add(m, r + 1,
                    (struct op){.kind = below(m, 2) ? OP_PROBE : OP_IPROBE, .from = r, .rtag = tag, .bytes = bytes});
            add(m, r + 1, (struct op){.kind = OP_RECV, .call = TB_RECV, .from = r, .rtag = tag, .bytes = bytes});
            add(m, r + 1, (struct op){.kind = OP_SEND, .call = call, .to = r, .tag = tag, .bytes = bytes});
            add(m, r, (struct op){.kind = OP_RECV, .call = TB_RECV, .from = r + 1, .rtag = tag, .bytes = bytes});
        }
}

static void halo(struct maker *m)
{
    struct program *p = m->program;
    int n = p->ranks, tag = m->phase;
    uint64_t bytes = some_bytes(m);
    bool polls = below(m, 4) == 0;
    for (int r = 0; r < n; r++) {
        for (int side = 0; side < 2; side++)
            add(m, r,
                (struct op){.kind = OP_IRECV,
                            .call = TB_IRECV,
                            .from = (r + (side ? 1 : n - 1)) % n,
                            .rtag = 2 * tag + side,
                            .bytes = bytes});
        compute(m, r);
        for (int side = 0; side < 2; side++)
            add(m, r,
                (struct op){.kind = OP_ISEND,
                            .call = TB_ISEND,
                            .to = (r + (side ? n - 1 : 1)) % n,
                            .tag = 2 * tag + side,
                            .bytes = bytes});
        if (polls)
            add(m, r, (struct op){.kind = OP_TEST});
        add(m, r, (struct op){.kind = OP_WAITALL});
    }
}

static void workers(struct maker *m)
{
    struct program *p = m->program;
    int master = below(m, p->ranks), tag = m->phase;
    for (int r = 0; r < p->ranks; r++) {
        if (r == master)
            continue;
        compute(m, r);
        add(m, r, (struct op){.kind = OP_SEND, .call = TB_SEND, .to = master, .tag = tag, .bytes = 64});
        add(m, master, (struct op){.kind = OP_RECV, .call = TB_RECV, .from = ANY, .rtag = tag, .bytes = 64});
    }
    for (int r = 0; r < p->ranks; r++)
        if (r != master) {
            add(m, master, (struct op){.kind = OP_SEND, .call = TB_SEND, .to = r, .tag = tag, .bytes = 64});
            add(m, r, (struct op){.kind = OP_RECV, .call = TB_RECV, .from = master, .rtag = tag, .bytes = 64});
        }
}

/* ---- faults: each takes its place at random; false: there is none for it */

static struct op *choose(struct maker *m, int *rank, int *at, bool (*fits)(const struct op *op))
{
    struct program *p = m->program;
    int places = 0, chosen = 0;
    struct op *found = NULL;
    for (int pass = 0; pass < 2 && (pass == 0 || places); pass++) {
        chosen = pass ? below(m, places) : -1;
        for (int r = 0; r < p->ranks; r++)
            for (int i = 0; i < p->ops[r]; i++)
                if (fits(&p->op[r][i])) {
                    if (!pass)
                        places++;
                    else if (chosen-- == 0) {
                        *rank = r;
                        *at = i;
                        found = &p->op[r][i];
                    }
                }
    }
    return found;
}

static void erase(struct program *p, int rank, int at)
{
    memmove(&p->op[rank][at], &p->op[rank][at + 1], (size_t)(--p->ops[rank] - at) * sizeof(struct op));
}

static void insert(struct program *p, int rank, int at, struct op op)
{
    memmove(&p->op[rank][at + 1], &p->op[rank][at], (size_t)(p->ops[rank]++ - at) * sizeof(struct op));
    p->op[rank][at] = op;
}

static bool is_collective(const struct op *op)
{
    return op->kind == OP_COLLECTIVE;
}
static bool is_rooted(const struct op *op)
{
    return is_collective(op) && op->root >= 0;
}
static bool is_send(const struct op *op)
{
    return op->kind == OP_SEND || op->kind == OP_ISEND;
}
static bool is_recv(const struct op *op)
{
    return op->kind == OP_RECV || op->kind == OP_IRECV;
}
static bool is_shift(const struct op *op)
{
    return op->kind == OP_SENDRECV;
}
static bool is_any(const struct op *op)
{
    return op->kind != OP_FINALIZE;
}

/* Of two ranks that differ nobody can say which is wrong. */
static void blame_in(struct program *p, int comm, int rank)
{
    const struct comm *c = &p->comm[comm];
    p->blame[rank] = true;
    for (int i = 0; i < c->size && c->size == 2; i++)
        p->blame[c->member[i]] = true;
}

static bool plant_collective(struct maker *m)
{
    struct program *p = m->program;
    int rank, at;
    struct op *op = choose(m, &rank, &at, p->fault == FAULT_OTHER_ROOT ? is_rooted : is_collective);
    if (!op || p->comm[op->comm].size < 2)
        return false;
    const struct comm *c = &p->comm[op->comm];
    blame_in(p, op->comm, rank);
    if (p->fault == FAULT_SKIPPED) {
        erase(p, rank, at);
    } else if (p->fault == FAULT_OTHER_CALL) {
        enum tb_call other = collectives[below(m, COLLECTIVES)];
        if (other == op->call)
            return false;
        op->call = other;
        op->root = has_root(other) ? c->member[0] : -1;
    } else if (p->fault == FAULT_OTHER_ROOT) {
        int other = c->member[below(m, c->size)];
        if (other == op->root)
            return false;
        op->root = other;
    } else {
        int next = at + 1;
        while (next < p->ops[rank] && p->op[rank][next].kind == OP_COMPUTE)
            next++;
        if (next == p->ops[rank] || !is_collective(&p->op[rank][next]))
            return false;
        blame_in(p, p->op[rank][next].comm, rank);
        struct op kept = *op;
        *op = p->op[rank][next];
        p->op[rank][next] = kept;
    }
    return true;
}

static bool plant_message(struct maker *m)
{
    struct program *p = m->program;
    int rank, at;
    struct op *op = choose(m, &rank, &at, p->fault == FAULT_NO_SEND ? is_send : is_recv);
    if (!op)
        return false;
    int other = is_send(op) ? op->to : op->from;
    p->blame[rank] = true;
    if (other != ANY)
        p->blame[other] = true;
    for (int r = 0; r < p->ranks && other == ANY; r++)
        for (int i = 0; i < p->ops[r]; i++)
            p->blame[r] |= p->op[r][i].phase == op->phase && is_send(&p->op[r][i]);
    if (p->fault == FAULT_TAG)
        op->rtag += 5000;
    else
        erase(p, rank, at);
    return true;
}

static bool plant_circle(struct maker *m)
{
    struct program *p = m->program;
    int rank, at;
    struct op *op = choose(m, &rank, &at, is_shift);
    if (!op)
        return false;
    bool receives = below(m, 2);
    for (int r = 0, phase = op->phase; r < p->ranks; r++)
        for (int i = 0; i < p->ops[r]; i++) {
            struct op shift = p->op[r][i];
            if (shift.kind != OP_SENDRECV || shift.phase != phase)
                continue;
            struct op send = shift, recv = shift;
            send.kind = OP_SEND;
            send.call = TB_SSEND;
            recv.kind = OP_RECV;
            recv.call = TB_RECV;
            p->op[r][i] = receives ? recv : send;
            insert(p, r, ++i, receives ? send : recv);
            p->blame[r] = true;
        }
    return true;
}

static bool plant_absence(struct maker *m)
{
    struct program *p = m->program;
    int rank, at;
    if (!choose(m, &rank, &at, is_any))
        return false;
    insert(p, rank, at, (struct op){.kind = p->fault == FAULT_EXIT ? OP_EXIT : OP_STUCK});
    p->blame[rank] = true;
    return true;
}

static bool plant(struct maker *m)
{
    switch (m->program->fault) {
    case FAULT_NONE:
        return true;
    case FAULT_SKIPPED:
    case FAULT_OTHER_CALL:
    case FAULT_OTHER_ROOT:
    case FAULT_SWAPPED:
        return plant_collective(m);
    case FAULT_NO_SEND:
    case FAULT_NO_RECV:
    case FAULT_TAG:
        return plant_message(m);
    case FAULT_CIRCLE:
        return plant_circle(m);
    default:
        return plant_absence(m);
    }
}

/* ---- all of it */

static void make_comms(struct maker *m)
{
    struct program *p = m->program;
    p->comms = 1 + below(m, 3);
    for (int c = 0; c < p->comms; c++)
        for (int r = 0; r < p->ranks; r++)
            if (c == 0 || r % 2 == (c - 1) % 2 || p->ranks < 4)
                p->comm[c].member[p->comm[c].size++] = r;
}

/* False: the fault has no place in it. */
static bool make(uint64_t *random, struct program *out)
{
    static void (*const phases[])(struct maker * m) = {collective, collective, collective, started_collective,
                                                       ring,       pairs,      halo,       workers};
    struct maker m = {.program = out, .random = *random};
    memset(out, 0, sizeof *out);
    out->ranks = 2 + below(&m, below(&m, 4) ? 5 : 15);
    make_comms(&m);
    int n = 3 + below(&m, 8);
    for (m.phase = 1; m.phase <= n; m.phase++) {
        for (int r = 0; r < out->ranks; r++)
            if (below(&m, 2))
                compute(&m, r);
        int most = 0;
        for (int r = 0; r < out->ranks; r++)
            most = out->ops[r] > most ? out->ops[r] : most;
        if (most < MOST_OPS - 60)
            phases[below(&m, (int)(sizeof phases / sizeof *phases))](&m);
    }
    for (int r = 0; r < out->ranks; r++)
        add(&m, r, (struct op){.kind = OP_FINALIZE, .call = TB_FINALIZE});
    out->fault = (enum fault)below(&m, FAULTS);
    bool planted = plant(&m);
    *random = m.random;
    return planted;
}

void generate(uint64_t seed, struct program *out)
{
    uint64_t random = seed;
    while (!make(&random, out))
        ;
    out->seed = seed;
}
