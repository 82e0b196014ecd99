/* The faults: each takes its place in a correct program at random.
 *
 * Who may be blamed: the rank whose program was changed.  Where the records cannot tell which of two is wrong (both
 * ends of a message, the two of a communicator of two), both. */
#include "tests/yardstick/generate.h"

#include <string.h>

struct place {
    struct actor *actor;
    int at;
};

static struct op *op_at(struct place place)
{
    return &place.actor->op[place.at];
}

/* An operation of a kind, at random; false: there is none. */
static bool choose(struct maker *m, bool (*fits)(const struct op *op), struct place *out)
{
    struct program *p = m->program;
    int places = 0;
    for (int a = 0; a < p->actors; a++)
        for (int i = 0; i < p->actor[a].ops; i++)
            places += fits(&p->actor[a].op[i]);
    int chosen = places ? below(m, places) : 0;
    for (int a = 0; a < p->actors && places; a++)
        for (int i = 0; i < p->actor[a].ops; i++)
            if (fits(&p->actor[a].op[i]) && chosen-- == 0) {
                *out = (struct place){&p->actor[a], i};
                return true;
            }
    return false;
}

static void erase(struct place place)
{
    struct actor *actor = place.actor;
    memmove(op_at(place), op_at(place) + 1, (size_t)(--actor->ops - place.at) * sizeof(struct op));
    for (int i = place.at; i < actor->ops; i++)
        if (actor->op[i].kind == OP_LOOP && place.at >= i + 1 - actor->op[i].count)
            actor->op[i].count--;
}

/* Before the operation that is there. */
static void insert(struct place place, struct op op)
{
    struct actor *actor = place.actor;
    op.phase = op_at(place)->phase;
    memmove(op_at(place) + 1, op_at(place), (size_t)(actor->ops++ - place.at) * sizeof(struct op));
    *op_at(place) = op;
    for (int i = place.at + 1; i < actor->ops; i++)
        if (actor->op[i].kind == OP_LOOP && place.at > i - 1 - actor->op[i].count)
            actor->op[i].count++;
}

static bool is_collective(const struct op *op)
{
    return op->kind == OP_COLL || op->kind == OP_ICOLL;
}
/* Nothing that comes later needs it. */
static bool is_plain(const struct op *op)
{
    return is_collective(op) && !op->makes;
}
static bool is_rooted(const struct op *op)
{
    return is_plain(op) && op->root != NOBODY;
}
static bool is_changeable(const struct op *op)
{
    return op->kind == OP_COLL && !op->makes && op->call >= CALL_BARRIER && op->call <= CALL_EXSCAN;
}
static bool is_send(const struct op *op)
{
    return op->kind == OP_SEND || op->kind == OP_ISEND || op->kind == OP_SEND_INIT;
}
static bool is_sent(const struct op *op)
{
    return op->kind == OP_SEND || op->kind == OP_ISEND;
}
static bool is_recv(const struct op *op)
{
    return op->kind == OP_RECV || op->kind == OP_IRECV;
}
static bool is_message(const struct op *op)
{
    return is_send(op) || is_recv(op) || op->kind == OP_RECV_INIT;
}
static bool is_shift(const struct op *op)
{
    return op->kind == OP_SENDRECV;
}
static bool is_epoch(const struct op *op)
{
    return op->kind == OP_POST || op->kind == OP_COMPLETE || (op->kind == OP_UNLOCK && op->to != NOBODY);
}
static bool is_result(const struct op *op)
{
    return op->kind == OP_LOOP && op->count == 3;
}
static bool is_iteration(const struct op *op)
{
    return op->kind == OP_COMPUTE && op->tag > 0;
}
static bool is_blocking(const struct op *op)
{
    return op->kind == OP_SEND || op->kind == OP_RECV || op->kind == OP_SENDRECV || (op->kind == OP_COLL && !op->makes);
}
static bool is_any(const struct op *op)
{
    return op->kind != OP_FINALIZE && op->kind != OP_FORK && op->kind != OP_FORKED && op->kind != OP_JOIN;
}

/* Two ranks that differ: nobody can say which is wrong. */
static void blame_in(struct program *p, int comm, int rank)
{
    const struct comm *c = &p->comm[comm];
    p->blame[rank] = true;
    for (int i = 0; i < c->size + c->remote && c->size + c->remote == 2; i++)
        p->blame[c->member[i]] = true;
}

/* Both ends of a message; of any source, all who send in that phase. */
static void blame_ends(struct program *p, int rank, const struct op *op)
{
    p->blame[rank] = true;
    for (int side = 0; side < 2; side++) {
        bool has = side ? is_recv(op) || op->kind == OP_RECV_INIT || is_shift(op) : is_send(op) || is_shift(op);
        int other = side ? op->from : op->to;
        if (has && other >= 0)
            p->blame[other] = true;
        for (int a = 0; a < p->actors && has && other < 0; a++)
            for (int i = 0; i < p->actor[a].ops; i++)
                p->blame[p->actor[a].rank] |= p->actor[a].op[i].phase == op->phase && is_message(&p->actor[a].op[i]);
    }
}

static void blame_call(struct program *p, int rank, const struct op *op)
{
    if (is_collective(op))
        blame_in(p, op->comm, rank);
    else
        blame_ends(p, rank, op);
}

static bool plant_collective(struct maker *m)
{
    struct program *p = m->program;
    struct place place;
    bool (*fits)(const struct op *op) = p->fault == FAULT_SKIPPED      ? is_plain
                                        : p->fault == FAULT_OTHER_ROOT ? is_rooted
                                                                       : is_changeable;
    if (!choose(m, fits, &place))
        return false;
    struct op *op = op_at(place);
    const struct comm *c = &p->comm[op->comm];
    if (c->size + c->remote < 2)
        return false;
    blame_in(p, op->comm, place.actor->rank);
    int root = c->member[below(m, c->size)];
    enum call call = other_collective(m);
    if (p->fault == FAULT_SKIPPED) {
        erase(place);
    } else if (p->fault == FAULT_OTHER_ROOT) {
        if (root == op->root)
            return false;
        op->root = root;
    } else {
        if (call == op->call)
            return false;
        op->call = call;
        op->root = call_is_rooted(call) ? root : NOBODY;
    }
    return true;
}

static bool plant_swap(struct maker *m)
{
    struct program *p = m->program;
    struct place place;
    if (!choose(m, is_blocking, &place))
        return false;
    struct actor *actor = place.actor;
    int next = place.at + 1;
    while (next < actor->ops && actor->op[next].kind == OP_COMPUTE)
        next++;
    if (next == actor->ops || !is_blocking(&actor->op[next]))
        return false;
    struct op one = *op_at(place), other = actor->op[next];
    if (one.to == REPLY || other.to == REPLY || one.from == REPLY || other.from == REPLY)
        return false;
    blame_call(p, actor->rank, &one);
    blame_call(p, actor->rank, &other);
    *op_at(place) = other;
    actor->op[next] = one;
    return true;
}

static bool plant_comm(struct maker *m)
{
    struct program *p = m->program;
    struct place place;
    int comm = some_comm(m, COMM_PLAIN), member = 0;
    if (!choose(m, below(m, 2) ? is_changeable : is_message, &place))
        return false;
    struct op *op = op_at(place);
    const struct comm *c = &p->comm[comm];
    for (int i = 0; i < c->size; i++)
        member += c->member[i] == place.actor->rank || c->member[i] == (is_send(op) ? op->to : op->from);
    if (comm == op->comm || c->thread != p->comm[op->comm].thread || c->size < 2 || member < 1 + !is_collective(op))
        return false;
    if (is_collective(op) && op->root != NOBODY)
        return false;
    bool in = false, made = comm == 0;
    for (int i = 0; i < c->size; i++)
        in |= c->member[i] == place.actor->rank;
    for (int i = 0; i < place.at; i++)
        made |= place.actor->op[i].makes == comm;
    if (!in || !made)
        return false;
    blame_call(p, place.actor->rank, op);
    op->comm = comm;
    blame_call(p, place.actor->rank, op);
    return true;
}

static bool plant_message(struct maker *m)
{
    struct program *p = m->program;
    struct place place;
    if (!choose(m, p->fault == FAULT_NO_SEND ? is_sent : is_recv, &place))
        return false;
    struct op *op = op_at(place);
    if (op->to == REPLY || op->from == REPLY || op->rtag == ANY)
        return false;
    blame_ends(p, place.actor->rank, op);
    if (p->fault == FAULT_TAG)
        op->rtag += 5000;
    else if (p->fault == FAULT_TRUNCATED) {
        if (op->from == ANY)
            return false;
        op->room = op->bytes / 2;
    } else
        erase(place);
    return true;
}

static bool plant_circle(struct maker *m)
{
    struct program *p = m->program;
    struct place place;
    if (!choose(m, is_shift, &place))
        return false;
    bool receives = below(m, 2);
    int phase = op_at(place)->phase, comm = op_at(place)->comm;
    if (p->comm[comm].kind == COMM_INTER)
        return false;
    for (int a = 0; a < p->actors; a++)
        for (int i = 0; i < p->actor[a].ops; i++) {
            place = (struct place){&p->actor[a], i};
            struct op shift = *op_at(place);
            if (shift.kind != OP_SENDRECV || shift.phase != phase)
                continue;
            struct op send = shift, recv = shift;
            send.kind = OP_SEND;
            send.call = CALL_SSEND;
            recv.kind = OP_RECV;
            recv.call = CALL_RECV;
            *op_at(place) = receives ? send : recv;
            insert(place, receives ? recv : send);
            i++;
            p->blame[place.actor->rank] = true;
        }
    return true;
}

static bool plant_epoch(struct maker *m)
{
    struct place place;
    if (!choose(m, is_epoch, &place))
        return false;
    m->program->blame[place.actor->rank] = true;
    struct place end = place; /* end of the epoch that nobody opened: MPI_Win_wait would be an error */
    while (op_at(place)->kind == OP_POST && op_at(end)->kind != OP_CLOSE)
        end.at++;
    if (end.at > place.at)
        erase(end);
    erase(place);
    return true;
}

static bool plant_iteration(struct maker *m)
{
    struct place place;
    if (!choose(m, is_iteration, &place))
        return false;
    struct actor *actor = place.actor;
    if (m->program->fault == FAULT_SLOW) {
        int64_t ns = (1 + below(m, 8)) * INT64_C(1000000000);
        for (int i = 0; i < actor->ops; i++)
            if (is_iteration(&actor->op[i]) && actor->op[i].phase == op_at(place)->phase)
                actor->op[i].ns = ns;
        m->program->blame[actor->rank] = true;
        return true;
    }
    /* The last one, from its computation back to the computation before, and the shift behind it. */
    int last = place.at;
    for (int i = place.at; i < actor->ops; i++)
        if (is_iteration(&actor->op[i]) && actor->op[i].phase == op_at(place)->phase)
            last = i;
    int first = last - 1;
    while (first > 0 && !is_iteration(&actor->op[first]))
        first--;
    if (!is_iteration(&actor->op[first]) || actor->op[first].phase != actor->op[last].phase)
        return false;
    blame_in(m->program, 0, actor->rank);
    int n = last - first;
    memmove(&actor->op[first + 2], &actor->op[last + 2], (size_t)(actor->ops - last - 2) * sizeof(struct op));
    actor->ops -= n;
    return true;
}

static bool plant_lost(struct maker *m)
{
    struct place place;
    if (!choose(m, is_result, &place))
        return false;
    place.actor->op[place.at - 2].count = 1 + below(m, 2); /* sends: the first or the second one is left out */
    m->program->blame[place.actor->rank] = true;
    return true;
}

static bool plant_absence(struct maker *m)
{
    static const enum kind kinds[FAULTS] = {
        [FAULT_OUTSIDE] = OP_STUCK, [FAULT_BUSY] = OP_STUCK,    [FAULT_EXIT] = OP_EXIT,
        [FAULT_ABORT] = OP_ABORT,   [FAULT_KILLED] = OP_KILLED,
    };
    struct place place;
    if (!choose(m, is_any, &place))
        return false;
    insert(place,
           (struct op){.kind = kinds[m->program->fault], .call = CALL_ABORT, .idle = m->program->fault != FAULT_BUSY});
    m->program->blame[place.actor->rank] = true;
    return true;
}

bool plant(struct maker *m)
{
    switch (m->program->fault) {
    case FAULT_NONE:
    case FAULT_MIXED:
    case FAULT_LIVELOCK:
        return true;
    case FAULT_SLOW:
    case FAULT_ITERATIONS:
        return plant_iteration(m);
    case FAULT_SKIPPED:
    case FAULT_OTHER_CALL:
    case FAULT_OTHER_ROOT:
        return plant_collective(m);
    case FAULT_SWAPPED:
        return plant_swap(m);
    case FAULT_COMM:
        return plant_comm(m);
    case FAULT_NO_SEND:
    case FAULT_NO_RECV:
    case FAULT_TRUNCATED:
    case FAULT_TAG:
        return plant_message(m);
    case FAULT_CIRCLE:
        return plant_circle(m);
    case FAULT_EPOCH:
        return plant_epoch(m);
    case FAULT_LOST:
        return plant_lost(m);
    default:
        return plant_absence(m);
    }
}
