#include "tests/support/nccl_program.h"
#include "tests/support/trace_builder.h"
#include <string.h>

const char *const np_fault_name[NP_FAULTS] = {
    [NP_NONE] = "none",
    [NP_OUTSIDE] = "outside",
    [NP_LEFT_OUT] = "collective left out",
    [NP_OTHER_CALL] = "other call",
    [NP_OTHER_COUNT] = "other count",
    [NP_OTHER_ROOT] = "other root",
    [NP_STREAM_ORDER] = "order on a stream",
    [NP_HOST_ORDER] = "order of MPI and NCCL",
    [NP_HOST_RECV] = "MPI_Recv before NCCL",
    [NP_NO_SEND] = "no ncclSend",
    [NP_NO_RECV] = "no ncclRecv",
    [NP_BLOCKED] = "a kernel that does not end",
    [NP_ERROR] = "asynchronous error",
};

static uint64_t next(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static int below(uint64_t *random, int n)
{
    return (int)(next(random) % (uint64_t)n);
}

int np_rank_in(const struct np_comm *comm, int rank)
{
    for (int i = 0; i < comm->size; i++)
        if (comm->member[i] == rank)
            return i;
    return -1;
}

/* ---- the program ------------------------------------------------------------------------------------------------ */

static void add(struct np_program *p, int rank, struct np_step step)
{
    if (p->steps[rank] < NP_STEPS - 2)
        p->step[rank][p->steps[rank]++] = step;
}

static void add_all(struct np_program *p, int comm, struct np_step step)
{
    for (int i = 0; i < p->comm[comm].size; i++)
        add(p, p->comm[comm].member[i], step);
}

static void make_comms(struct np_program *p, uint64_t *random)
{
    p->ranks = 2 + below(random, NP_RANKS - 1);
    p->comms = 1 + below(random, NP_COMMS);
    for (int c = 0; c < p->comms; c++) {
        struct np_comm *comm = &p->comm[c];
        comm->stream = (uint8_t)below(random, NP_STREAMS);
        while (comm->size < 2) {
            comm->size = 0;
            for (int r = 0; r < p->ranks; r++)
                if (c == 0 || below(random, 2))
                    comm->member[comm->size++] = r;
        }
    }
}

static struct np_step collective(const struct np_program *p, uint64_t *random, int c)
{
    static const uint8_t calls[] = {TB_NCCL_ALLREDUCE, TB_NCCL_BROADCAST, TB_NCCL_ALLGATHER};
    uint8_t call = calls[below(random, 3)];
    int8_t root = call == TB_NCCL_BROADCAST ? (int8_t)below(random, p->comm[c].size) : -1;
    return (struct np_step){NP_COLLECTIVE, (uint8_t)c, call, p->comm[c].stream, root, false, 1024u << below(random, 4)};
}

/* Two different members. */
static void two(const struct np_comm *comm, uint64_t *random, int *a, int *b)
{
    *a = below(random, comm->size);
    *b = (*a + 1 + below(random, comm->size - 1)) % comm->size;
}

static void add_message(struct np_program *p, uint64_t *random, int c)
{
    const struct np_comm *comm = &p->comm[c];
    int from, to;
    uint32_t count = 512u << below(random, 4);
    two(comm, random, &from, &to);
    add(p, comm->member[from],
        (struct np_step){NP_SEND, (uint8_t)c, TB_NCCL_SEND, comm->stream, (int8_t)to, false, count});
    add(p, comm->member[to],
        (struct np_step){NP_RECV, (uint8_t)c, TB_NCCL_RECV, comm->stream, (int8_t)from, false, count});
}

/* A collective of all, whose end the hosts wait for, and then a barrier of MPI or a message. */
static void add_host_order(struct np_program *p, uint64_t *random, bool barrier)
{
    int from, to;
    two(&p->comm[0], random, &from, &to);
    add_all(p, 0, collective(p, random, 0));
    add_all(p, 0, (struct np_step){.kind = NP_SYNC, .stream = p->comm[0].stream});
    if (barrier) {
        add_all(p, 0, (struct np_step){.kind = NP_BARRIER});
        return;
    }
    add(p, from, (struct np_step){.kind = NP_MPI_SEND, .root = (int8_t)to});
    add(p, to, (struct np_step){.kind = NP_MPI_RECV, .root = (int8_t)from});
}

static void add_step(struct np_program *p, uint64_t *random)
{
    int c = below(random, p->comms), kind = below(random, 20);
    if (kind < 12)
        add_all(p, c, collective(p, random, c));
    else if (kind < 14)
        add_message(p, random, c);
    else if (kind < 16)
        add_all(p, c, (struct np_step){.kind = NP_SYNC, .stream = (uint8_t)below(random, NP_STREAMS)});
    else
        add_host_order(p, random, kind < 18);
}

/* ---- the fault -------------------------------------------------------------------------------------------------- */

static void insert(struct np_program *p, int rank, int at, struct np_step step)
{
    struct np_step *steps = p->step[rank];
    memmove(steps + at + 1, steps + at, (size_t)(p->steps[rank]++ - at) * sizeof *steps);
    steps[at] = step;
}

static void leave_out(struct np_program *p, int rank, int at)
{
    struct np_step *steps = p->step[rank];
    memmove(steps + at, steps + at + 1, (size_t)(--p->steps[rank] - at) * sizeof *steps);
}

static void swap(struct np_step *a, struct np_step *b)
{
    struct np_step c = *a;
    *a = *b;
    *b = c;
}

static void blame_members(struct np_program *p, int comm)
{
    for (int i = 0; i < p->comm[comm].size; i++)
        p->blame[p->comm[comm].member[i]] = true;
}

/* Gives the step other arguments.  False: it has none of that kind. */
static bool change(struct np_program *p, struct np_step *s)
{
    const struct np_comm *comm = &p->comm[s->comm];
    if (s->kind != NP_COLLECTIVE || (p->fault == NP_OTHER_ROOT && s->root < 0))
        return false;
    if (comm->size == 2) /* two that differ: nobody knows who is right */
        blame_members(p, s->comm);
    if (p->fault == NP_OTHER_CALL)
        s->call = s->call == TB_NCCL_ALLREDUCE ? TB_NCCL_REDUCESCATTER : TB_NCCL_ALLREDUCE;
    if (p->fault == NP_OTHER_COUNT)
        s->count /= 2;
    if (p->fault == NP_OTHER_ROOT)
        s->root = (int8_t)((s->root + 1) % comm->size);
    return true;
}

/* Puts two operations on a stream in the other order.  False: the second is no such operation. */
static bool swap_on_stream(struct np_program *p, struct np_step *s)
{
    if (s[1].kind != NP_COLLECTIVE || s[1].comm == s->comm || s[1].stream != s->stream)
        return false;
    blame_members(p, s->comm);
    blame_members(p, s[1].comm);
    swap(s, s + 1);
    return true;
}

/* Puts what the host does after the collective before it.  False: it is something else. */
static bool swap_on_host(struct np_program *p, struct np_step *s)
{
    if (s[1].kind != NP_SYNC || s[2].kind != (p->fault == NP_HOST_ORDER ? NP_BARRIER : NP_MPI_RECV))
        return false;
    if (p->fault == NP_HOST_RECV)
        p->blame[s[2].root] = true;
    if (p->ranks == 2)
        blame_members(p, 0);
    swap(s, s + 2);
    swap(s + 1, s + 2);
    return true;
}

/* Plants the fault at this step of the culprit.  False: it does not fit there. */
static bool plant(struct np_program *p, int at)
{
    struct np_step *s = &p->step[p->culprit][at];
    bool collective = s->kind == NP_COLLECTIVE, swappable = collective && at + 2 < p->steps[p->culprit];
    switch (p->fault) {
    case NP_OUTSIDE:
        insert(p, p->culprit, at, (struct np_step){.kind = NP_LEAVE});
        return true;
    case NP_BLOCKED:
        if (collective)
            insert(p, p->culprit, at, (struct np_step){.kind = NP_KERNEL, .stream = s->stream});
        return collective;
    case NP_ERROR:
        s->error = true;
        return collective;
    case NP_LEFT_OUT:
        blame_members(p, s->comm);
        leave_out(p, p->culprit, at);
        return collective;
    case NP_OTHER_CALL:
    case NP_OTHER_COUNT:
    case NP_OTHER_ROOT:
        return change(p, s);
    case NP_STREAM_ORDER:
        return swappable && swap_on_stream(p, s);
    case NP_HOST_ORDER:
    case NP_HOST_RECV:
        return swappable && swap_on_host(p, s);
    case NP_NO_SEND:
    case NP_NO_RECV:
        if (s->kind != (p->fault == NP_NO_SEND ? NP_SEND : NP_RECV))
            return false;
        p->blame[p->comm[s->comm].member[s->root]] = true;
        leave_out(p, p->culprit, at);
        return true;
    default:
        return true;
    }
}

void np_generate(uint64_t seed, struct np_program *out)
{
    uint64_t random = seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < 8; i++)
        next(&random);
    enum np_fault fault = (enum np_fault)(seed % NP_FAULTS);
    for (bool planted = false; !planted;) {
        memset(out, 0, sizeof *out);
        make_comms(out, &random);
        for (int n = 4 + below(&random, 12); n-- > 0;)
            add_step(out, &random);
        for (uint8_t s = 0; s < NP_STREAMS; s++)
            add_all(out, 0, (struct np_step){.kind = NP_SYNC, .stream = s});
        add_all(out, 0, (struct np_step){.kind = NP_BARRIER});
        out->fault = fault;
        out->culprit = below(&random, out->ranks);
        out->blame[out->culprit] = true;
        planted = plant(out, below(&random, out->steps[out->culprit] - 2));
    }
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

struct world {
    const struct np_program *p;
    struct np_run *run;
    uint64_t collectives[NP_RANKS][NP_COMMS], messages[NP_RANKS][NP_COMMS][NP_RANKS][2];
    int barriers[NP_RANKS], sent[NP_RANKS][NP_RANKS], received[NP_RANKS][NP_RANKS];
};

static void enqueue(struct world *w, int rank, const struct np_step *s)
{
    struct np_op *op = &w->run->op[rank][w->run->ops[rank]++];
    *op = (struct np_op){.step = s, .state = NP_ENQUEUED, .enqueued = w->run->now};
    if (s->kind == NP_COLLECTIVE)
        op->sequence = w->collectives[rank][s->comm]++;
    else if (s->kind != NP_KERNEL)
        op->sequence = w->messages[rank][s->comm][s->root][s->kind == NP_RECV]++;
}

static bool is_idle(const struct np_run *run, int rank, int stream)
{
    for (int i = 0; i < run->ops[rank]; i++)
        if (run->op[rank][i].step->stream == stream && run->op[rank][i].state != NP_COMPLETED)
            return false;
    return true;
}

/* Whether a host's step is over. */
static bool host_step(struct world *w, int rank, const struct np_step *s, bool first)
{
    int least = w->barriers[0];
    switch (s->kind) {
    case NP_SYNC:
        return is_idle(w->run, rank, s->stream);
    case NP_BARRIER:
        w->barriers[rank] += first;
        for (int r = 0; r < w->p->ranks; r++)
            least = w->barriers[r] < least ? w->barriers[r] : least;
        return least >= w->barriers[rank];
    case NP_MPI_SEND:
        w->sent[rank][s->root]++;
        return true;
    case NP_MPI_RECV:
        if (w->sent[s->root][rank] <= w->received[rank][s->root])
            return false;
        w->received[rank][s->root]++;
        return true;
    case NP_LEAVE:
        return false;
    default:
        enqueue(w, rank, s);
        return true;
    }
}

static bool move_host(struct world *w, int rank)
{
    struct np_run *run = w->run;
    int at = run->at[rank];
    if (at == NP_STEPS)
        return false;
    const struct np_step *s = &w->p->step[rank][at];
    bool first = run->since[rank] < 0;
    if (first)
        run->since[rank] = run->now;
    if (!host_step(w, rank, s, first))
        return first;
    run->end[rank][at] = run->now + 1;
    run->since[rank] = -1;
    run->at[rank] = at + 1 < w->p->steps[rank] ? at + 1 : NP_STEPS;
    return true;
}

/* The operation that a member of the communicator has for this one; NULL: it has not come. */
static struct np_op *other_of(struct np_run *run, int rank, const struct np_op *op, int peer)
{
    static const uint8_t meets[] = {[NP_COLLECTIVE] = NP_COLLECTIVE, [NP_SEND] = NP_RECV, [NP_RECV] = NP_SEND};
    for (int i = 0; i < run->ops[rank]; i++) {
        struct np_op *other = &run->op[rank][i];
        if (other->step->kind == meets[op->step->kind] && other->step->comm == op->step->comm &&
            other->sequence == op->sequence && (peer < 0 || other->step->root == peer))
            return other;
    }
    return NULL;
}

static bool fits(const struct np_step *a, const struct np_step *b)
{
    bool message = a->kind != NP_COLLECTIVE;
    return !a->error && !b->error && a->count == b->count && (message || (a->call == b->call && a->root == b->root));
}

/* Completes an operation on all who take part, if all have started it. */
static bool complete(struct world *w, int rank, const struct np_op *op)
{
    const struct np_comm *comm = &w->p->comm[op->step->comm];
    struct np_op *all[NP_RANKS];
    int n = 0, me = np_rank_in(comm, rank);
    bool message = op->step->kind != NP_COLLECTIVE;
    for (int i = 0; i < comm->size; i++) {
        if (message && i != me && i != op->step->root)
            continue;
        struct np_op *other = i == me ? (struct np_op *)op : other_of(w->run, comm->member[i], op, message ? me : -1);
        if (!other || other->state != NP_STARTED || !fits(op->step, other->step))
            return false;
        all[n++] = other;
    }
    for (int i = 0; i < n; i++) {
        all[i]->state = NP_COMPLETED;
        all[i]->ended = w->run->now;
    }
    return true;
}

static bool move_stream(struct world *w, int rank, int stream)
{
    struct np_run *run = w->run;
    for (int i = 0; i < run->ops[rank]; i++) {
        struct np_op *op = &run->op[rank][i];
        if (op->step->stream != stream || op->state == NP_COMPLETED)
            continue;
        if (op->state == NP_ENQUEUED) {
            op->state = NP_STARTED;
            op->started = run->now;
            return true;
        }
        return op->step->kind != NP_KERNEL && complete(w, rank, op);
    }
    return false;
}

void np_run(const struct np_program *program, uint64_t seed, int rounds, struct np_run *out)
{
    static _Thread_local struct world w;
    uint64_t random = seed + 77;
    memset(out, 0, sizeof *out);
    memset(&w, 0, sizeof w);
    w.p = program;
    w.run = out;
    out->now = INT64_C(3000000000);
    for (int r = 0; r < program->ranks; r++)
        out->since[r] = -1;
    for (int quiet = 0; quiet < 64 && rounds-- > 0; quiet++) {
        for (int r = 0; r < program->ranks; r++) {
            out->now += 1000 + below(&random, 20000);
            if (below(&random, 2) && move_host(&w, r))
                quiet = 0;
            if (below(&random, 2) && move_stream(&w, r, below(&random, NP_STREAMS)))
                quiet = 0;
        }
    }
    out->finished = true;
    for (int r = 0; r < program->ranks; r++)
        out->finished &= out->at[r] == NP_STEPS;
}
