/* MPI's rules, one operation at a time: always of the rank whose clock is behind among those that can go on. */
#include "tests/yardstick/program.h"

#include <string.h>

#define NEVER   INT64_MAX
#define CALL_NS 500 /* what a call takes that waits for nobody */
enum { MOST_MESSAGES = 4096, MOST_INSTANCES = 512 };

struct message {
    int from, to, tag;
    bool waits;          /* for its receive: synchronous, or too large to be kept */
    int64_t sent, taken; /* NEVER: nobody has received it */
};

struct posted { /* a receive */
    int from, tag;
    int64_t at;
    int message; /* -1: none yet */
};

struct instance { /* of a collective: the k-th on its communicator */
    enum tb_call call;
    int root, entered;
    bool differs, waits;
    int64_t at[MOST_RANKS]; /* when a member came; NEVER */
};

struct rank {
    int next; /* operation */
    bool entered, gone;
    int64_t clock;
    int posted_n, sent_n, started_n, collectives[MOST_COMMS];
    struct posted posted[MOST_OPS];
    int mine;              /* of the present operation: its receive, message .. */
    int sent;              /* and its send */
    int started[MOST_OPS]; /* operations whose requests are open */
    int of[MOST_OPS];      /* their receive, message or instance */
};

static struct sim {
    const struct program *p;
    struct run *run;
    struct rank rank[MOST_RANKS];
    int messages, instances[MOST_COMMS];
    struct message message[MOST_MESSAGES];
    struct instance instance[MOST_COMMS][MOST_INSTANCES];
    int64_t finalize[MOST_RANKS];
} s;

static bool fits(const struct posted *recv, const struct message *message)
{
    return (recv->from == ANY || recv->from == message->from) && (recv->tag == ANY || recv->tag == message->tag);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int post(int rank, int from, int tag, int64_t at)
{
    struct rank *r = &s.rank[rank];
    struct posted *recv = &r->posted[r->posted_n];
    *recv = (struct posted){from, tag, at, -1};
    for (int i = 0; i < s.messages && recv->message < 0; i++)
        if (s.message[i].to == rank && s.message[i].taken == NEVER && fits(recv, &s.message[i])) {
            recv->message = i;
            s.message[i].taken = later(at, s.message[i].sent);
        }
    return r->posted_n++;
}

static int deposit(int rank, const struct op *op, int64_t at)
{
    struct message *message = &s.message[s.messages];
    *message = (struct message){rank, op->to, op->tag, op->call == TB_SSEND || op->bytes > EAGER, at, NEVER};
    struct rank *to = &s.rank[op->to];
    for (int i = 0; i < to->posted_n && message->taken == NEVER; i++)
        if (to->posted[i].message < 0 && fits(&to->posted[i], message)) {
            to->posted[i].message = s.messages;
            message->taken = later(at, to->posted[i].at);
        }
    return s.messages++;
}

static int64_t sent_at(int message)
{
    return s.message[message].waits ? s.message[message].taken : s.message[message].sent;
}

static int64_t received_at(int rank, int recv)
{
    int message = s.rank[rank].posted[recv].message;
    return message < 0 ? NEVER : s.message[message].taken;
}

static int waiting_for(int rank, const struct op *op)
{
    struct posted recv = {op->from, op->rtag, 0, -1};
    for (int i = 0; i < s.messages; i++)
        if (s.message[i].to == rank && s.message[i].taken == NEVER && fits(&recv, &s.message[i]))
            return i;
    return -1;
}

/* ---- collectives */

static int enter(int rank, const struct op *op, int64_t at, uint64_t *sequence)
{
    int k = s.rank[rank].collectives[op->comm]++;
    struct instance *in = &s.instance[op->comm][k];
    *sequence = (uint64_t)k;
    if (k == s.instances[op->comm]) {
        s.instances[op->comm]++;
        uint64_t random = s.p->seed + (uint64_t)(k * 8 + op->comm);
        *in = (struct instance){.call = op->call, .root = op->root, .waits = random_below(&random, 2)};
        for (int r = 0; r < MOST_RANKS; r++)
            in->at[r] = NEVER;
    }
    in->differs |= in->call != op->call || in->root != op->root;
    in->at[rank] = at;
    in->entered++;
    return k;
}

static int64_t all_at(const struct comm *c, const struct instance *in)
{
    int64_t last = 0;
    for (int i = 0; i < c->size; i++)
        last = later(last, in->at[c->member[i]]);
    return last;
}

static int64_t collective_at(int rank, int comm, int k)
{
    const struct instance *in = &s.instance[comm][k];
    if (in->differs)
        return NEVER;
    if (!in->waits && (in->call == TB_BCAST || in->call == TB_SCATTER))
        return later(in->at[rank], in->at[in->root]);
    if (!in->waits && (in->call == TB_GATHER || in->call == TB_REDUCE) && rank != in->root)
        return in->at[rank];
    return all_at(&s.p->comm[comm], in);
}

/* ---- requests */

static int64_t request_at(int rank, int i)
{
    const struct rank *r = &s.rank[rank];
    const struct op *op = &s.p->op[rank][r->started[i]];
    if (op->kind == OP_ISEND)
        return sent_at(r->of[i]);
    return op->kind == OP_IRECV ? received_at(rank, r->of[i]) : collective_at(rank, op->comm, r->of[i]);
}

static void took(int rank, struct done *done, int message)
{
    (void)rank;
    done->from = s.message[message].from;
    done->tag = s.message[message].tag;
}

static void close_requests(int rank)
{
    struct rank *r = &s.rank[rank];
    for (int i = 0; i < r->started_n; i++)
        if (s.p->op[rank][r->started[i]].kind == OP_IRECV)
            took(rank, &s.run->op[rank][r->started[i]], r->posted[r->of[i]].message);
    r->started_n = 0;
}

/* ---- one rank */

static void begin(int rank, const struct op *op, struct done *done)
{
    struct rank *r = &s.rank[rank];
    int64_t at = r->clock;
    *done = (struct done){.begin = at, .end = NEVER};
    if (op->kind == OP_SEND || op->kind == OP_SENDRECV || op->kind == OP_ISEND)
        r->sent = deposit(rank, op, at);
    if (op->kind == OP_RECV || op->kind == OP_SENDRECV || op->kind == OP_IRECV)
        r->mine = post(rank, op->from, op->rtag, at);
    if (op->kind == OP_COLLECTIVE || op->kind == OP_ICOLLECTIVE)
        r->mine = enter(rank, op, at, &done->sequence);
    if (op->kind == OP_ISEND || op->kind == OP_IRECV || op->kind == OP_ICOLLECTIVE) {
        r->of[r->started_n] = op->kind == OP_ISEND ? r->sent : r->mine;
        r->started[r->started_n++] = r->next;
    }
    if (op->kind == OP_FINALIZE)
        s.finalize[rank] = at;
}

/* When the operation is complete; NEVER: not yet. */
static int64_t complete(int rank, const struct op *op, int64_t begin)
{
    const struct rank *r = &s.rank[rank];
    int64_t at = begin, message;
    switch (op->kind) {
    case OP_COMPUTE:
        return begin + op->ns;
    case OP_SEND:
        return sent_at(r->sent);
    case OP_RECV:
        return received_at(rank, r->mine);
    case OP_SENDRECV:
        return later(sent_at(r->sent), received_at(rank, r->mine));
    case OP_COLLECTIVE:
        return collective_at(rank, op->comm, r->mine);
    case OP_WAITALL:
        for (int i = 0; i < r->started_n; i++)
            at = later(at, request_at(rank, i));
        return at;
    case OP_TEST:
        return r->started_n ? later(at, request_at(rank, r->started_n - 1)) : at;
    case OP_PROBE:
    case OP_IPROBE:
        message = waiting_for(rank, op);
        return message < 0 ? NEVER : later(begin, s.message[message].sent);
    case OP_FINALIZE:
        for (int i = 0; i < s.p->ranks; i++)
            at = later(at, s.finalize[i]);
        return at;
    case OP_STUCK:
    case OP_EXIT:
        return NEVER;
    default:
        return begin;
    }
}

static bool step(int rank)
{
    struct rank *r = &s.rank[rank];
    if (r->next == s.p->ops[rank])
        return false;
    const struct op *op = &s.p->op[rank][r->next];
    struct done *done = &s.run->op[rank][r->next];
    bool fresh = !r->entered;
    if (fresh) {
        begin(rank, op, done);
        r->entered = true;
        s.run->done[rank] = r->next + 1;
        s.run->last = later(s.run->last, r->clock);
    }
    int64_t end = complete(rank, op, done->begin);
    if (end == NEVER)
        return fresh;
    done->end = end + CALL_NS;
    if (op->kind == OP_RECV || op->kind == OP_SENDRECV)
        took(rank, done, r->posted[r->mine].message);
    if (op->kind == OP_PROBE || op->kind == OP_IPROBE)
        took(rank, done, waiting_for(rank, op));
    if (op->kind == OP_WAITALL)
        close_requests(rank);
    r->clock = done->end + 100;
    s.run->last = later(s.run->last, done->end);
    r->entered = false;
    r->next++;
    return true;
}

void simulate(const struct program *program, struct run *out)
{
    memset(&s, 0, sizeof s);
    memset(out, 0, sizeof *out);
    s.p = program;
    s.run = out;
    for (int r = 0; r < program->ranks; r++) {
        s.rank[r].clock = 1000000;
        s.finalize[r] = NEVER;
    }
    for (bool moved = true; moved;) {
        moved = false;
        bool tried[MOST_RANKS] = {false};
        for (int n = 0; n < program->ranks && !moved; n++) {
            int rank = -1;
            for (int r = 0; r < program->ranks; r++)
                if (!tried[r] && (rank < 0 || s.rank[r].clock < s.rank[rank].clock))
                    rank = r;
            tried[rank] = true;
            moved = step(rank);
        }
    }
    out->finished = true;
    for (int r = 0; r < program->ranks; r++) {
        out->stuck[r] = s.rank[r].next < program->ops[r];
        out->finished &= !out->stuck[r];
    }
}
