/* Requests: what starts them, when they are complete, what a wait for them takes. */
#include "tests/yardstick/simulate.h"

static void activate(struct request *request, int rank, int64_t at, struct done *done, int nth)
{
    const struct op *op = request->op;
    request->active = true;
    request->comm = op->comm;
    if (request->kind == REQUEST_SEND)
        request->of = sim_deposit(rank, op, op->to, at);
    else if (request->kind == REQUEST_RECV)
        request->of = sim_post(rank, op, op->from, op->rtag, at);
    else {
        request->of = sim_enter(rank, op->comm, op, at);
        done->sequences[nth % 4] = (uint64_t)request->of;
    }
}

void sim_start_request(struct thread *t, int rank, const struct op *op, int64_t at, struct done *done)
{
    static const enum request_kind kinds[KINDS] = {
        [OP_ISEND] = REQUEST_SEND,     [OP_SEND_INIT] = REQUEST_SEND, [OP_IRECV] = REQUEST_RECV,
        [OP_RECV_INIT] = REQUEST_RECV, [OP_ICOLL] = REQUEST_COLL,     [OP_COLL_INIT] = REQUEST_COLL,
    };
    if (op->kind == OP_START) {
        for (int i = 0; i < op->slots; i++)
            activate(&t->request[op->slot + i], rank, at, done, i);
        return;
    }
    struct request *request = &t->request[op->slot];
    bool persistent = op->kind == OP_SEND_INIT || op->kind == OP_RECV_INIT || op->kind == OP_COLL_INIT;
    *request = (struct request){.kind = kinds[op->kind], .persistent = persistent, .op = op};
    if (!persistent)
        activate(request, rank, at, done, 0);
    done->sequence = done->sequences[0];
}

static int64_t complete_at(const struct request *request, int rank)
{
    if (request->kind == REQUEST_SEND)
        return sim_sent_at(request->of);
    return request->kind == REQUEST_RECV ? sim_received_at(rank, request->of)
                                         : sim_collective_at(rank, request->comm, request->of);
}

int64_t sim_waited_at(const struct thread *t, int rank, const struct op *op, int64_t begin)
{
    int64_t all = begin, first = NEVER;
    int active = 0;
    for (int i = 0; i < op->slots; i++) {
        const struct request *request = &t->request[op->slot + i];
        if (!request->active)
            continue;
        int64_t at = complete_at(request, rank);
        active++;
        all = later(all, at);
        first = at < first ? at : first;
    }
    return op->how == ALL_OF ? all : !active ? begin : first == NEVER ? NEVER : later(begin, first);
}

void sim_end_requests(struct thread *t, int rank, const struct op *op, int64_t at, struct done *done)
{
    for (int i = 0; i < op->slots; i++) {
        struct request *request = &t->request[op->slot + i];
        if (!request->active || complete_at(request, rank) > at)
            continue;
        request->active = false;
        if (request->kind == REQUEST_RECV) {
            int message = sim.rank[rank].posted[request->of].message;
            const struct message *of = &sim.message[message < 0 ? 0 : message];
            done->got[i] = message < 0 ? (struct got){NOBODY, NOBODY, 0} : (struct got){of->from, of->tag, of->bytes};
        }
        done->completed |= UINT32_C(1) << i;
        if (op->how == ONE_OF)
            return;
    }
}
