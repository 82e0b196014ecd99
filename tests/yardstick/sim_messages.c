/* MPI's rules of messages: messages of one sender do not overtake each other; the first receive that fits gets one. */
#include "tests/yardstick/simulate.h"

static bool fits(const struct posted *recv, const struct message *message)
{
    return recv->comm == message->comm && (recv->from == ANY || recv->from == message->from) &&
           (recv->tag == ANY || recv->tag == message->tag);
}

int sim_post(int rank, const struct op *op, int from, int tag, int64_t at)
{
    struct rank *r = &sim.rank[rank];
    struct posted *recv = &r->posted[r->posted_n];
    *recv = (struct posted){from, tag, op->comm, op->room ? op->room : op->bytes, at, -1, false};
    for (int i = 0; i < sim.messages && recv->message < 0; i++) {
        struct message *message = &sim.message[i];
        if (message->to == rank && message->taken == NEVER && !message->claimed && fits(recv, message)) {
            recv->message = i;
            message->taken = later(at, message->sent);
        }
    }
    return r->posted_n++;
}

int sim_deposit(int rank, const struct op *op, int to, int64_t at)
{
    struct message *message = &sim.message[sim.messages];
    bool synchronous = op->call == CALL_SSEND || op->call == CALL_ISSEND || op->call == CALL_SSEND_INIT;
    bool parts = op->call == CALL_PSEND_INIT;
    *message = (struct message){.from = rank,
                                .to = to,
                                .tag = op->tag,
                                .comm = op->comm,
                                .bytes = op->bytes,
                                .waits = synchronous || (op->bytes > EAGER && op->call != CALL_BSEND),
                                .parts = parts ? 2 : 0,
                                .sent = at,
                                .ready = parts ? NEVER : at,
                                .taken = NEVER};
    struct rank *r = &sim.rank[to];
    for (int i = 0; i < r->posted_n && message->taken == NEVER; i++)
        if (r->posted[i].message < 0 && !r->posted[i].cancelled && fits(&r->posted[i], message)) {
            r->posted[i].message = sim.messages;
            message->taken = later(at, r->posted[i].at);
        }
    return sim.messages++;
}

int64_t sim_sent_at(int message)
{
    const struct message *m = &sim.message[message];
    return m->ready == NEVER ? NEVER : m->waits ? later(m->taken, m->ready) : m->ready;
}

int64_t sim_received_at(int rank, int recv)
{
    const struct posted *posted = &sim.rank[rank].posted[recv];
    if (posted->cancelled)
        return posted->at;
    if (posted->message < 0)
        return NEVER;
    const struct message *m = &sim.message[posted->message];
    return later(m->taken, m->ready);
}

int sim_waiting(int rank, const struct op *op)
{
    struct posted recv = {.from = op->from, .tag = op->rtag, .comm = op->comm};
    for (int i = 0; i < sim.messages; i++)
        if (sim.message[i].to == rank && sim.message[i].taken == NEVER && !sim.message[i].claimed &&
            fits(&recv, &sim.message[i]))
            return i;
    return -1;
}
