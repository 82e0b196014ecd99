/* Phases of messages between two ranks, in all the ways that MPI has for them. */
#include "tests/yardstick/generate.h"

/* The tags of a phase: eight. */
static int tag_of(const struct maker *m, int which)
{
    return m->phase * 8 + which;
}

static void add_send(struct maker *m, int rank, enum call call, int to, int which, uint64_t bytes)
{
    add(m, rank,
        (struct op){
            .kind = OP_SEND, .call = call, .comm = m->world, .to = to, .tag = tag_of(m, which), .bytes = bytes});
}

static void add_recv(struct maker *m, int rank, int from, int which, uint64_t bytes)
{
    add(m, rank,
        (struct op){.kind = OP_RECV,
                    .call = CALL_RECV,
                    .comm = m->world,
                    .from = from,
                    .rtag = tag_of(m, which),
                    .bytes = bytes});
}

static void add_isend(struct maker *m, int rank, enum call call, int to, int which, uint64_t bytes, int slot)
{
    add(m, rank,
        (struct op){.kind = OP_ISEND,
                    .call = call,
                    .comm = m->world,
                    .to = to,
                    .tag = tag_of(m, which),
                    .bytes = bytes,
                    .slot = slot,
                    .slots = 1});
}

static void add_irecv(struct maker *m, int rank, int from, int which, uint64_t bytes, int slot)
{
    add(m, rank,
        (struct op){.kind = OP_IRECV,
                    .call = CALL_IRECV,
                    .comm = m->world,
                    .from = from,
                    .rtag = tag_of(m, which),
                    .bytes = bytes,
                    .slot = slot,
                    .slots = 1});
}

static void add_wait(struct maker *m, int rank, enum call call, int slot, int slots)
{
    enum how how = call == CALL_WAITANY || call == CALL_TESTANY     ? ONE_OF
                   : call == CALL_WAITSOME || call == CALL_TESTSOME ? SOME_OF
                                                                    : ALL_OF;
    bool polls = call == CALL_TEST || call == CALL_TESTALL || call == CALL_TESTANY || call == CALL_TESTSOME;
    add(m, rank,
        (struct op){.kind = OP_WAIT,
                    .call = call,
                    .slot = slot,
                    .slots = slots,
                    .how = how,
                    .polls = polls,
                    .ns = below(m, 2) ? 2000 : 1000000});
}

/* Completes requests in one of eight ways. */
static void add_waits(struct maker *m, int rank, int slot, int slots, int way)
{
    static const enum call loops[] = {CALL_WAITANY, CALL_WAITSOME, CALL_TESTANY, CALL_TESTSOME};
    if (way < 4) {
        add_wait(m, rank, loops[way], slot, slots);
        add(m, rank, (struct op){.kind = OP_LOOP, .slot = slot, .slots = slots, .count = 1, .tag = NOBODY});
    } else if (way < 6) {
        for (int i = 0; i < slots; i++)
            add_wait(m, rank, way == 4 ? CALL_WAIT : CALL_TEST, slot + i, 1);
    } else {
        add_wait(m, rank, way == 6 ? CALL_WAITALL : CALL_TESTALL, slot, slots);
    }
}

static void add_ring(struct maker *m)
{
    struct program *p = m->program;
    int n = p->ranks, started = below(m, 2);
    uint64_t bytes = some_bytes(m);
    for (int r = 0; r < n; r++) {
        int next = (r + 1) % n, prev = (r + n - 1) % n;
        if (started) {
            add_isend(m, r, CALL_ISEND, next, 0, bytes, 0);
            add_recv(m, r, prev, 0, bytes);
            add_wait(m, r, CALL_WAIT, 0, 1);
        } else {
            add(m, r,
                (struct op){.kind = OP_SENDRECV,
                            .call = CALL_SENDRECV,
                            .comm = m->world,
                            .to = next,
                            .from = prev,
                            .tag = tag_of(m, 0),
                            .rtag = tag_of(m, 0),
                            .bytes = bytes});
        }
    }
}

/* Asks for a message before it is received, in one of five ways; then receives it. */
static void add_probed_recv(struct maker *m, int rank, int from, int which, uint64_t bytes)
{
    int way = below(m, 8);
    struct op probe = {.kind = way < 4 ? OP_PROBE : OP_MPROBE,
                       .call = (enum call[]){CALL_PROBE, CALL_PROBE, CALL_IPROBE, CALL_IPROBE, CALL_MPROBE, CALL_MPROBE,
                                             CALL_IMPROBE, CALL_IMPROBE}[way],
                       .comm = m->world,
                       .from = below(m, 2) ? from : ANY,
                       .rtag = tag_of(m, which),
                       .bytes = bytes,
                       .polls = way & 2,
                       .ns = below(m, 2) ? 2000 : 500000,
                       .slots = way >= 4};
    if (probe.from == from && below(m, 3) == 0)
        probe.rtag = ANY; /* first message from there */
    add(m, rank, probe);
    if (way < 4)
        add(m, rank,
            (struct op){
                .kind = OP_RECV, .call = CALL_RECV, .comm = m->world, .from = REPLY, .rtag = REPLY, .bytes = bytes});
    else
        add(m, rank,
            (struct op){.kind = way & 1 ? OP_IMRECV : OP_MRECV,
                        .call = way & 1 ? CALL_IMRECV : CALL_MRECV,
                        .comm = m->world,
                        .slots = 1});
    if (way >= 4 && way & 1)
        add_wait(m, rank, CALL_WAIT, 0, 1);
}

/* Even ranks send first, odd ones receive first. */
static void add_pairs(struct maker *m)
{
    static const enum call calls[] = {CALL_SEND, CALL_SEND, CALL_SSEND, CALL_BSEND};
    struct program *p = m->program;
    enum call call = calls[below(m, 4)];
    uint64_t bytes = some_bytes(m);
    for (int i = 0, rounds = m->brief ? 1 : 1 + below(m, 3); i < rounds; i++)
        for (int r = 0; r + 1 < p->ranks; r += 2) {
            add_compute(m, r);
            add_send(m, r, call, r + 1, 0, bytes);
            if (below(m, 2))
                add_probed_recv(m, r + 1, r, 0, bytes);
            else
                add_recv(m, r + 1, r, 0, bytes);
            add_send(m, r + 1, call, r, 0, bytes);
            add_recv(m, r, r + 1, 0, bytes);
        }
}

/* A receive is posted before the partner is told, who then sends at once. */
static void add_ready(struct maker *m)
{
    struct program *p = m->program;
    uint64_t bytes = some_bytes(m);
    for (int r = 0; r + 1 < p->ranks; r += 2) {
        add_irecv(m, r, r + 1, 0, bytes, 0);
        add_send(m, r, CALL_SEND, r + 1, 1, 8);
        add_recv(m, r + 1, r, 1, 8);
        add_send(m, r + 1, CALL_RSEND, r, 0, bytes);
        add_wait(m, r, CALL_WAIT, 0, 1);
    }
}

static void add_halo(struct maker *m)
{
    struct program *p = m->program;
    int n = p->ranks, way = below(m, 8), cancels = below(m, 6) == 0;
    uint64_t bytes = some_bytes(m);
    enum call call = below(m, 4) ? CALL_ISEND : CALL_ISSEND;
    for (int r = 0; r < n; r++) {
        int next = (r + 1) % n, prev = (r + n - 1) % n;
        bool watches = below(m, 12) == 0;
        add_irecv(m, r, prev, 0, bytes, 0);
        add_irecv(m, r, next, 1, bytes, 1);
        if (watches)
            add(m, r,
                (struct op){
                    .kind = OP_COMPUTE, .call = CALL_TEST, .slots = 1, .count = 24, .ns = INT64_C(20000000) * 25});
        else
            add_compute(m, r);
        add_isend(m, r, call, next, 0, bytes, 2);
        add_isend(m, r, call, prev, 1, bytes, 3);
        if (cancels) {
            add_irecv(m, r, next, 7, bytes, 4);
            add(m, r, (struct op){.kind = OP_CANCEL, .call = CALL_CANCEL, .slot = 4, .slots = 1});
        }
        add_waits(m, r, 0, cancels ? 5 : 4, way);
    }
}

/* Two rounds of a shift by persistent requests, partitioned or not. */
static void add_persistent(struct maker *m)
{
    struct program *p = m->program;
    int n = p->ranks, parts = below(m, 3) == 0, one_by_one = below(m, 2), rounds = 1 + below(m, 2), way = below(m, 8);
    uint64_t bytes = some_bytes(m) & ~UINT64_C(1); /* two partitions of it */
    enum call call = parts ? CALL_PSEND_INIT : below(m, 3) ? CALL_SEND_INIT : CALL_SSEND_INIT;
    for (int r = 0; r < n; r++) {
        struct op init = {.kind = OP_SEND_INIT,
                          .call = call,
                          .comm = m->world,
                          .to = (r + 1) % n,
                          .tag = tag_of(m, 0),
                          .bytes = bytes,
                          .slots = 1};
        add(m, r, init);
        init.kind = OP_RECV_INIT;
        init.call = parts ? CALL_PRECV_INIT : CALL_RECV_INIT;
        init.from = (r + n - 1) % n;
        init.rtag = init.tag;
        init.slot = 1;
        add(m, r, init);
        for (int i = 0; i < rounds; i++) {
            for (int s = 0; s < 2 && one_by_one; s++)
                add(m, r, (struct op){.kind = OP_START, .call = CALL_START, .slot = s, .slots = 1});
            if (!one_by_one)
                add(m, r, (struct op){.kind = OP_START, .call = CALL_STARTALL, .slots = 2});
            for (int s = 0; s < 2 && parts; s++)
                add(m, r, (struct op){.kind = OP_PREADY, .call = CALL_PREADY, .slots = 1});
            add_waits(m, r, 0, 2, way);
        }
        for (int s = 0; s < 2; s++)
            add(m, r, (struct op){.kind = OP_REQUEST_FREE, .call = CALL_REQUEST_FREE, .slot = s, .slots = 1});
    }
}

/* All send to one, who answers each. */
static void add_workers(struct maker *m)
{
    struct program *p = m->program;
    int master = below(m, p->ranks);
    for (int r = 0; r < p->ranks; r++) {
        if (r == master)
            continue;
        add_compute(m, r);
        add_send(m, r, CALL_SEND, master, 0, 64);
        add_recv(m, master, ANY, 0, 64);
    }
    for (int r = 0; r < p->ranks; r++)
        if (r != master) {
            add_send(m, master, CALL_SEND, r, 1, 64);
            add_recv(m, r, master, 1, 64);
        }
}

enum { TASK, RESULT, STOP };

void add_farm(struct maker *m)
{
    struct program *p = m->program;
    int master = below(m, p->ranks), workers = p->ranks - 1, tasks = workers * (1 + below(m, m->brief ? 1 : 3));
    for (int r = 0; r < p->ranks; r++)
        if (r != master)
            add_send(m, master, CALL_SEND, r, TASK, 64);
    for (int i = 0; i < tasks; i++) {
        add_recv(m, master, ANY, RESULT, 64);
        add_send(m, master, CALL_SEND, REPLY, i < tasks - workers ? TASK : STOP, 64);
    }
    for (int r = 0; r < p->ranks; r++) {
        if (r == master)
            continue;
        add_recv(m, r, master, 0, 64); /* the first one has no result before it */
        add_compute(m, r);
        add_send(m, r, CALL_SEND, master, RESULT, 64);
        add(m, r,
            (struct op){
                .kind = OP_RECV, .call = CALL_RECV, .comm = m->world, .from = master, .rtag = ANY, .bytes = 64});
        add(m, r, (struct op){.kind = OP_LOOP, .count = 3, .tag = tag_of(m, STOP)});
    }
}

void add_messages(struct maker *m)
{
    static void (*const phases[])(struct maker * m) = {add_ring, add_pairs,      add_pairs,   add_ready, add_halo,
                                                       add_halo, add_persistent, add_workers, add_farm};
    phases[below(m, (int)(sizeof phases / sizeof *phases))](m);
}
