/* MPI's rules, one operation at a time: always of the thread whose clock is behind among all that can go on. */
#include "tests/yardstick/simulate.h"

#include <string.h>

#define CALL_NS 500 /* duration of a call that waits for nobody */

struct sim sim;

/* Rank that a thread means by REPLY. */
static int meant(int value, int reply)
{
    return value == REPLY ? reply : value;
}

static void begin_message(struct thread *t, int rank, const struct op *op, struct done *done)
{
    int64_t at = done->begin;
    done->to = meant(op->to, t->reply_from);
    if (op->kind == OP_SEND || op->kind == OP_SENDRECV)
        t->sent = sim_deposit(rank, op, done->to, at);
    if (op->kind == OP_RECV || op->kind == OP_SENDRECV) {
        done->from = meant(op->from, t->reply_from);
        done->tag = meant(op->rtag, t->reply_tag);
        t->mine = sim_post(rank, op, done->from, done->tag, at);
    }
}

/* Ends the job: the launcher ends all others a moment later. */
static void end_all(int rank, int64_t at)
{
    sim.run->ended_all = true;
    for (int r = 0; r < sim.p->ranks; r++) {
        uint64_t random = sim.p->seed + (uint64_t)r;
        int64_t gone = r == rank ? at : at + 1000000 + random_below(&random, 200000000);
        sim.run->gone[r] = gone < sim.run->gone[r] ? gone : sim.run->gone[r];
    }
}

static void begin(struct thread *t, int rank, const struct op *op, struct done *done)
{
    int64_t at = t->clock;
    *done = (struct done){.op = t->next, .begin = at, .end = NEVER, .to = op->to, .from = op->from, .tag = op->rtag};
    switch (op->kind) {
    case OP_SEND:
    case OP_RECV:
    case OP_SENDRECV:
        begin_message(t, rank, op, done);
        break;
    case OP_ISEND:
    case OP_IRECV:
    case OP_SEND_INIT:
    case OP_RECV_INIT:
    case OP_COLL_INIT:
    case OP_ICOLL:
    case OP_START:
        sim_start_request(t, rank, op, at, done);
        break;
    case OP_COLL:
        t->mine = sim_enter(rank, op->comm, op, at);
        done->sequence = (uint64_t)t->mine;
        if (op->makes && sim.p->comm[op->makes].kind == COMM_INTER) /* all of both groups meet */
            sim_enter(rank, op->makes, op, at);
        else if (sim.p->comm[op->comm].kind == COMM_INTER)
            done->sequence--;
        break;
    case OP_LOCK:
        sim_ask_lock(rank, op, at);
        break;
    case OP_POST:
        sim_tell(rank, op, false, at);
        break;
    case OP_COMPLETE:
        break;
    case OP_FINALIZE:
        sim.finalize[rank] = at;
        break;
    case OP_FORK:
        sim.forked[rank] = at;
        break;
    case OP_EXIT:
    case OP_KILLED:
        sim.run->gone[rank] = at < sim.run->gone[rank] ? at : sim.run->gone[rank];
        break;
    case OP_ABORT:
        end_all(rank, at);
        break;
    default:
        break;
    }
}

static int64_t completed_collective(const struct thread *t, int rank, const struct op *op)
{
    int64_t at = sim_collective_at(rank, op->comm, t->mine);
    if (at != NEVER && op->makes && sim.p->comm[op->makes].kind == COMM_INTER)
        at = later(at, sim_collective_at(rank, op->makes, 0));
    return at;
}

static int64_t all_finalize(void)
{
    int64_t at = 0;
    for (int r = 0; r < sim.p->ranks; r++)
        at = later(at, sim.finalize[r]);
    return at;
}

/* Time at which the operation is complete; NEVER: not yet. */
static int64_t complete(const struct thread *t, int rank, const struct op *op, int64_t begin)
{
    int message;
    switch (op->kind) {
    case OP_COMPUTE:
    case OP_WRITE:
        return begin + op->ns;
    case OP_SEND:
        return sim_sent_at(t->sent);
    case OP_RECV:
        return sim_received_at(rank, t->mine);
    case OP_SENDRECV:
        return later(sim_sent_at(t->sent), sim_received_at(rank, t->mine));
    case OP_COLL:
        return completed_collective(t, rank, op);
    case OP_WAIT:
        return sim_waited_at(t, rank, op, begin);
    case OP_PROBE:
    case OP_MPROBE:
        message = sim_waiting(rank, op);
        return message < 0 ? NEVER : later(begin, sim.message[message].sent);
    case OP_LOCK:
        return sim.p->lazy_locks ? begin : sim_locked_at(rank, op);
    case OP_UNLOCK:
    case OP_FLUSH:
        return later(begin, sim_locked_at(rank, op));
    case OP_OPEN:
        return sim.p->lazy_locks ? begin : later(begin, sim_told_at(rank, op, false, false));
    case OP_COMPLETE:
        return later(begin, sim_told_at(rank, op, false, false));
    case OP_CLOSE:
        return later(begin, sim_told_at(rank, op, true, false));
    case OP_SPIN:
        return later(begin, sim.flag[op->tag]);
    case OP_FORKED:
        return later(begin, sim.forked[rank]);
    case OP_JOIN:
        return later(begin, sim.joined[rank]);
    case OP_FINALIZE:
        return all_finalize();
    case OP_VAIN:
    case OP_STUCK:
    case OP_EXIT:
    case OP_KILLED:
    case OP_ABORT:
        return NEVER;
    default:
        return begin;
    }
}

/* A computation that looks at a request now and then sees that it is complete. */
static void look(struct thread *t, int rank, const struct op *op, struct done *done)
{
    int64_t gap = op->count ? op->ns / (op->count + 1) : 0;
    int64_t at = gap && t->request[op->slot].active ? sim_waited_at(t, rank, op, done->begin) : NEVER;
    if (at >= done->begin + op->count * gap)
        return;
    done->looked = done->begin + ((at - done->begin) / gap + 1) * gap;
    sim_end_requests(t, rank, op, at, done);
}

static void take_message(struct thread *t, struct done *done, int message)
{
    t->reply_from = done->from = sim.message[message].from;
    t->reply_tag = done->tag = sim.message[message].tag;
    done->bytes = sim.message[message].bytes;
}

static void receive_claimed(struct thread *t, int rank, const struct op *op, struct done *done, int64_t at)
{
    struct rank *r = &sim.rank[rank];
    sim.message[t->claimed].taken = at;
    done->from = t->reply_from;
    done->tag = t->reply_tag;
    done->bytes = sim.message[t->claimed].bytes;
    if (op->kind != OP_IMRECV)
        return;
    r->posted[r->posted_n] = (struct posted){.comm = op->comm, .room = UINT64_MAX, .at = at, .message = t->claimed};
    t->request[op->slot] = (struct request){.kind = REQUEST_RECV, .active = true, .op = op, .of = r->posted_n++};
}

/* Effects of a rank's complete operation. */
static void finish(struct thread *t, int rank, const struct op *op, struct done *done, int64_t at)
{
    switch (op->kind) {
    case OP_RECV:
    case OP_SENDRECV:
        take_message(t, done, sim.rank[rank].posted[t->mine].message);
        break;
    case OP_MPROBE:
        t->claimed = sim_waiting(rank, op);
        sim.message[t->claimed].claimed = true; /* fall through */
    case OP_PROBE:
        take_message(t, done, op->kind == OP_MPROBE ? t->claimed : sim_waiting(rank, op));
        break;
    case OP_MRECV:
    case OP_IMRECV:
        receive_claimed(t, rank, op, done, at);
        break;
    case OP_PREADY: {
        struct message *message = &sim.message[t->request[op->slot].of];
        message->ready = --message->parts == 0 ? at : message->ready;
        break;
    }
    case OP_CANCEL: {
        struct posted *posted = &sim.rank[rank].posted[t->request[op->slot].of];
        posted->cancelled = posted->message < 0;
        posted->at = at;
        break;
    }
    case OP_COMPUTE:
        look(t, rank, op, done);
        break;
    case OP_WAIT:
        sim_end_requests(t, rank, op, at, done);
        break;
    case OP_UNLOCK:
        sim_unlock(rank, op, at);
        break;
    case OP_OPEN:
        break;
    case OP_COMPLETE:
        sim_told_at(rank, op, false, true);
        sim_tell(rank, op, true, at);
        break;
    case OP_CLOSE:
        sim_told_at(rank, op, true, true);
        break;
    case OP_MOVE:
        if (op->tag)
            sim.flag[op->tag] = at;
        break;
    default:
        break;
    }
}

static bool is_cut_by(int rank, int recv)
{
    const struct posted *posted = &sim.rank[rank].posted[recv];
    return posted->message >= 0 && sim.message[posted->message].bytes > posted->room;
}

/* A message that is longer than its receive ends the job. */
static bool is_cut(const struct thread *t, int rank, const struct op *op)
{
    if (op->kind == OP_RECV || op->kind == OP_SENDRECV)
        return is_cut_by(rank, t->mine);
    for (int i = 0; op->kind == OP_WAIT && i < op->slots; i++) {
        const struct request *request = &t->request[op->slot + i];
        if (request->active && request->kind == REQUEST_RECV && is_cut_by(rank, request->of))
            return true;
    }
    return false;
}

/* Steps over what costs no time: loops, and a result that is not returned. */
static bool jump(struct thread *t, const struct op *op)
{
    if (op->kind == OP_SEND && op->count && ++t->runs[t->next] == op->count) {
        t->next++;
        return true;
    }
    if (op->kind != OP_LOOP)
        return false;
    bool again = op->tag != NOBODY && t->reply_tag != op->tag;
    for (int i = 0; i < op->slots; i++)
        again |= t->request[op->slot + i].active;
    t->next += again ? -op->count : 1;
    return true;
}

/* The second thread of a rank has come to its end. */
static void note_joined(int index)
{
    const struct actor *actor = &sim.p->actor[index];
    if (actor->thread && sim.thread[index].next == actor->ops)
        sim.joined[actor->rank] = sim.thread[index].clock;
}

static bool step(int index)
{
    const struct actor *actor = &sim.p->actor[index];
    struct thread *t = &sim.thread[index];
    int rank = actor->rank;
    if (t->next == actor->ops || t->gone || sim.run->done[index] == MOST_LOG)
        return false;
    const struct op *op = &actor->op[t->next];
    if (!t->entered && jump(t, op)) {
        note_joined(index);
        return true;
    }
    bool fresh = !t->entered;
    if (t->clock > sim.run->gone[rank])
        return false;
    if (fresh) {
        begin(t, rank, op, &sim.run->log[index][sim.run->done[index]++]);
        t->entered = true;
        sim.run->last = later(sim.run->last, t->clock);
    }
    struct done *done = &sim.run->log[index][sim.run->done[index] - 1];
    int64_t end = complete(t, rank, op, done->begin);
    if (end == NEVER || end + CALL_NS > sim.run->gone[rank])
        return fresh;
    if (is_cut(t, rank, op)) {
        done->fails = true;
        end_all(rank, end);
        return true;
    }
    finish(t, rank, op, done, end);
    done->end = end + CALL_NS;
    t->clock = done->end + 100;
    sim.run->last = later(sim.run->last, done->end);
    t->entered = false;
    t->next++;
    note_joined(index);
    return true;
}

static void reset(const struct program *p, const int64_t *killed, struct run *out)
{
    sim.p = p;
    sim.run = out;
    sim.messages = sim.locks = sim.epochs = 0;
    memset(sim.instances, 0, sizeof sim.instances);
    memset(sim.thread, 0, (size_t)p->actors * sizeof *sim.thread);
    memset(out->done, 0, sizeof out->done);
    out->last = 0;
    out->ended_all = false;
    for (int i = 0; i < 256; i++)
        sim.flag[i] = NEVER;
    for (int a = 0; a < p->actors; a++)
        sim.thread[a].clock = 1000000;
    for (int r = 0; r < p->ranks; r++) {
        sim.rank[r].posted_n = 0;
        memset(sim.rank[r].collectives, 0, sizeof sim.rank[r].collectives);
        sim.finalize[r] = sim.forked[r] = sim.joined[r] = NEVER;
        out->gone[r] = killed ? killed[r] : NEVER;
    }
}

void simulate(const struct program *p, const int64_t *killed, struct run *out)
{
    reset(p, killed, out);
    for (bool moved = true; moved;) {
        bool tried[MOST_ACTORS] = {false};
        moved = false;
        for (int n = 0; n < p->actors && !moved; n++) {
            int next = -1;
            for (int a = 0; a < p->actors; a++)
                if (!tried[a] && (next < 0 || sim.thread[a].clock < sim.thread[next].clock))
                    next = a;
            tried[next] = true;
            moved = step(next);
        }
    }
    out->finished = true;
    for (int r = 0; r < p->ranks; r++) {
        out->stuck[r] = sim.thread[r].next < p->actor[r].ops;
        out->finished &= !out->stuck[r];
    }
}
