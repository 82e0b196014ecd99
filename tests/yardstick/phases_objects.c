/* Phases that make communicators, windows and files, and use these. */
#include "tests/yardstick/generate.h"

/* A communicator of the same ranks as another, which a collective on that one makes. */
static int make_comm(struct maker *m, int parent, enum call by, enum comm_kind kind)
{
    struct program *p = m->program;
    int made = p->comms++;
    struct comm *c = &p->comm[made];
    *c = p->comm[parent];
    c->kind = kind;
    c->parent = parent;
    c->by = by;
    for (int i = 0; i < c->size; i++)
        add(m, c->member[i], (struct op){.kind = OP_COLL, .call = by, .comm = parent, .makes = made, .root = NOBODY});
    return made;
}

static void add_dup(struct maker *m)
{
    make_comm(m, some_comm(m, COMM_PLAIN), CALL_COMM_DUP, COMM_PLAIN);
}

/* Splits the ranks of a communicator into even and odd ones, or into halves; the numbers of both. */
static void split(struct maker *m, int parent, int made[2])
{
    struct program *p = m->program;
    const struct comm *all = &p->comm[parent];
    bool halves = below(m, 2);
    for (int half = 0; half < 2; half++) {
        made[half] = p->comms++;
        p->comm[made[half]] = (struct comm){.parent = parent, .by = CALL_COMM_SPLIT};
    }
    for (int i = 0; i < all->size; i++) {
        int half = halves ? i >= all->size / 2 : i % 2;
        struct comm *c = &p->comm[made[half]];
        c->member[c->size++] = all->member[i];
        add(m, all->member[i],
            (struct op){.kind = OP_COLL, .call = CALL_COMM_SPLIT, .comm = parent, .makes = made[half], .root = NOBODY});
    }
}

static void add_split(struct maker *m)
{
    int made[2], parent = some_comm(m, COMM_PLAIN);
    if (m->program->comm[parent].size < 2)
        return;
    split(m, parent, made);
    if (below(m, 3))
        return;
    struct program *p = m->program;
    int inter = p->comms++;
    const struct comm *a = &p->comm[made[0]], *b = &p->comm[made[1]];
    struct comm *c = &p->comm[inter];
    *c = (struct comm){
        .kind = COMM_INTER, .size = a->size, .remote = b->size, .parent = made[0], .by = CALL_INTERCOMM_CREATE};
    for (int i = 0; i < a->size + b->size; i++) {
        c->member[i] = i < a->size ? a->member[i] : b->member[i - a->size];
        add(m, c->member[i],
            (struct op){.kind = OP_COLL,
                        .call = CALL_INTERCOMM_CREATE,
                        .comm = made[i >= a->size],
                        .makes = inter,
                        .root = NOBODY});
    }
}

/* A ring of all ranks, or a graph in which each gets from one to three others. */
static void add_topology(struct maker *m)
{
    bool ring = below(m, 2);
    int comm = make_comm(m, 0, ring ? CALL_CART_CREATE : CALL_GRAPH_CREATE, COMM_NEIGHBOURS), n = m->program->ranks;
    struct comm *c = &m->program->comm[comm];
    for (int r = 0; r < n; r++) {
        c->from[r] = ring ? UINT64_C(1) << (r + 1) % n | UINT64_C(1) << (r + n - 1) % n : 0;
        for (int i = 0, others = 1 + below(m, 3); i < others && !ring; i++)
            c->from[r] |= UINT64_C(1) << (r + 1 + below(m, n - 1)) % n;
    }
}

static void add_move(struct maker *m, int rank, int window, int to)
{
    add(m, rank,
        (struct op){.kind = OP_MOVE, .call = below(m, 2) ? CALL_PUT : CALL_GET, .comm = window, .to = to, .bytes = 8});
}

static void add_fences(struct maker *m, int window)
{
    int n = m->program->ranks;
    add_collective(m, window, CALL_WIN_FENCE);
    for (int r = 0; r < n; r++)
        add_move(m, r, window, (r + 1) % n);
    add_collective(m, window, CALL_WIN_FENCE);
}

static void add_epochs(struct maker *m, int window)
{
    int n = m->program->ranks, far = 1 + below(m, n - 1);
    for (int r = 0; r < n; r++) {
        int to = (r + far) % n, from = (r + n - far) % n;
        uint64_t exposed = UINT64_C(1) << from, reached = UINT64_C(1) << to;
        add(m, r, (struct op){.kind = OP_POST, .call = CALL_WIN_POST, .comm = window, .group = exposed});
        add(m, r, (struct op){.kind = OP_OPEN, .call = CALL_WIN_START, .comm = window, .group = reached});
        add_move(m, r, window, to);
        add(m, r, (struct op){.kind = OP_COMPLETE, .call = CALL_WIN_COMPLETE, .comm = window, .group = reached});
        add(m, r, (struct op){.kind = OP_CLOSE, .call = CALL_WIN_WAIT, .comm = window, .group = exposed});
    }
}

static void add_locks(struct maker *m, int window)
{
    int n = m->program->ranks, target = below(m, n);
    for (int r = 0; r < n; r++) {
        bool all = below(m, 4) == 0, shared = below(m, 2);
        int to = all ? NOBODY : below(m, 3) ? target : below(m, n);
        add(m, r,
            (struct op){.kind = OP_LOCK,
                        .call = all ? CALL_WIN_LOCK_ALL : CALL_WIN_LOCK,
                        .comm = window,
                        .to = to,
                        .shared = shared || all});
        add_move(m, r, window, all ? target : to);
        if (!all && below(m, 2))
            add(m, r, (struct op){.kind = OP_FLUSH, .call = CALL_WIN_FLUSH, .comm = window, .to = to});
        add_compute(m, r);
        add(m, r,
            (struct op){
                .kind = OP_UNLOCK, .call = all ? CALL_WIN_UNLOCK_ALL : CALL_WIN_UNLOCK, .comm = window, .to = to});
    }
}

static void add_window(struct maker *m)
{
    static void (*const uses[])(struct maker * m, int window) = {add_fences, add_epochs, add_locks};
    int window = make_comm(m, 0, CALL_WIN_ALLOCATE, COMM_WINDOW);
    for (int i = 0, n = 1 + below(m, 2); i < n; i++)
        uses[below(m, 3)](m, window);
    if (below(m, 3) == 0)
        add_flag(m, false);
    add_collective(m, window, CALL_WIN_FREE);
}

static void add_file(struct maker *m)
{
    struct program *p = m->program;
    int file = make_comm(m, 0, CALL_FILE_OPEN, COMM_FILE);
    for (int i = 0, n = 1 + below(m, 3); i < n; i++)
        if (below(m, 2))
            add_collective(m, file, CALL_FILE_WRITE_ALL);
        else
            for (int r = 0; r < p->ranks; r++)
                add(m, r,
                    (struct op){.kind = OP_WRITE,
                                .call = CALL_FILE_WRITE,
                                .comm = file,
                                .bytes = 4096,
                                .ns = 20000 + below(m, 5000000)});
    add_collective(m, file, CALL_FILE_CLOSE);
}

void add_objects(struct maker *m)
{
    static void (*const phases[])(struct maker * m) = {add_dup,    add_split,  add_split,  add_topology, add_topology,
                                                       add_window, add_window, add_window, add_file};
    if (m->program->comms < MOST_COMMS - 4)
        phases[below(m, (int)(sizeof phases / sizeof *phases))](m);
}

/* ---- operation that never ends */

bool add_flag(struct maker *m, bool never)
{
    struct program *p = m->program;
    int a = below(m, p->ranks), b = (a + 1 + below(m, p->ranks - 1)) % p->ranks, way = never ? below(m, 3) : 0;
    if (p->comms > MOST_COMMS - 2)
        return false;
    p->blame[a] |= never;
    if (way == 1) { /* each polls for a message of the other */
        p->blame[b] = true;
        for (int i = 0; i < 2; i++)
            add(m, i ? a : b,
                (struct op){.kind = OP_PROBE,
                            .call = CALL_IPROBE,
                            .from = i ? b : a,
                            .rtag = m->phase * 8 + 5,
                            .polls = true,
                            .ns = 2000});
        return true;
    }
    if (way == 2) {
        add(m, a, (struct op){.kind = OP_VAIN, .call = CALL_WAITANY, .slots = 1, .ns = 20000000});
        return true;
    }
    int window = make_comm(m, 0, CALL_WIN_ALLOCATE, COMM_WINDOW);
    add(m, a,
        (struct op){
            .kind = OP_SPIN, .call = CALL_GET, .comm = window, .to = a, .bytes = 4, .tag = m->phase, .ns = 20000000});
    if (!never) {
        add_compute(m, b);
        add(m, b, (struct op){.kind = OP_LOCK, .call = CALL_WIN_LOCK, .comm = window, .to = a});
        add(m, b, (struct op){.kind = OP_MOVE, .call = CALL_PUT, .comm = window, .to = a, .bytes = 8, .tag = m->phase});
        add(m, b, (struct op){.kind = OP_UNLOCK, .call = CALL_WIN_UNLOCK, .comm = window, .to = a});
    }
    add_collective(m, window, CALL_WIN_FREE);
    return true;
}

bool add_mixed_circle(struct maker *m)
{
    struct program *p = m->program;
    int a = below(m, p->ranks), b = (a + 1 + below(m, p->ranks - 1)) % p->ranks, way = below(m, 3), tag = m->phase * 8;
    if (p->comms > MOST_COMMS - 2)
        return false;
    p->blame[a] = p->blame[b] = true;
    int window = way ? make_comm(m, 0, CALL_WIN_ALLOCATE, COMM_WINDOW) : 0;
    struct op recv = {.kind = OP_RECV, .call = CALL_RECV, .from = b, .rtag = tag + 6, .bytes = 64};
    struct op send = {.kind = OP_SEND, .call = CALL_SEND, .to = a, .tag = tag + 6, .bytes = 64};
    struct op lock = {.kind = OP_LOCK, .call = CALL_WIN_LOCK, .comm = window, .to = a};
    struct op unlock = {.kind = OP_UNLOCK, .call = CALL_WIN_UNLOCK, .comm = window, .to = a};
    if (way == 2) { /* b needs the lock that a holds until it has b's message */
        add(m, a, lock);
        add(m, a, recv);
        add(m, a, unlock);
        add(m, b, (struct op){.kind = OP_COMPUTE, .ns = 50000000});
        add(m, b, lock);
        add_move(m, b, window, a);
        add(m, b, unlock);
        add(m, b, send);
        add_collective(m, window, CALL_WIN_FREE);
        return true;
    }
    add(m, a, recv); /* b sends only after the barrier or fence, which a enters later */
    add_collective(m, window, way ? CALL_WIN_FENCE : CALL_BARRIER);
    add(m, b, send);
    if (way)
        add_collective(m, window, CALL_WIN_FREE);
    return true;
}
