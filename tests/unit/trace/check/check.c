/* The check on built traces: each error is found with its class, calls, ranks and count, and what looks like it is
 * left in peace. */
#include "trace/check/check.h"
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include <stdio.h>
#include <string.h>

#define US INT64_C(1000)

/* Sites: each kind of call has one of its own. */
static const struct trc_sig *at(struct trc_sig *sig, uint64_t site)
{
    sig->site = site;
    return sig;
}

static uint64_t message(struct tb *tb, enum tb_call call, int64_t us, int32_t partner, int32_t tag, uint32_t flags)
{
    struct trc_sig sig = tb_sig(call);
    bool out = flags & TRC_SIG_P2P_OUT;
    sig.comm = TB_WORLD;
    sig.flags = flags;
    *(out ? &sig.peer : &sig.source) = partner;
    *(out ? &sig.tag : &sig.rtag) = tag;
    *(out ? &sig.sent : &sig.received) = 8;
    return tb_event(tb, 0, at(&sig, 0x100 + call), us * US, (us + 5) * US, (struct tb_more){0});
}

static void send(struct tb *tb, int64_t us, int32_t to, int32_t tag)
{
    message(tb, TB_SEND, us, to, tag, TRC_SIG_P2P_OUT);
}

static void receive(struct tb *tb, int64_t us, int32_t from, int32_t tag)
{
    message(tb, TB_RECV, us, from, tag, TRC_SIG_P2P_IN);
}

static uint64_t isend(struct tb *tb, int64_t us, int32_t to, int32_t tag)
{
    return message(tb, TB_ISEND, us, to, tag, TRC_SIG_P2P_OUT | TRC_SIG_START);
}

static uint64_t irecv(struct tb *tb, int64_t us, int32_t from, int32_t tag)
{
    return message(tb, TB_IRECV, us, from, tag, TRC_SIG_P2P_IN | TRC_SIG_START);
}

/* A wait for a send (source TRC_PEER_NONE) or a receive. */
static void wait_for(struct tb *tb, int64_t us, uint64_t request, int32_t source, int32_t tag)
{
    if (source == TRC_PEER_NONE)
        tb_wait_send(tb, 0, us * US, (us + 5) * US, request);
    else
        tb_wait_recv(tb, 0, us * US, (us + 5) * US, request, source, tag, 8);
}

static void collective(struct tb *tb, enum tb_call call, int64_t us, uint64_t sequence, int32_t root, uint64_t sent,
                       uint64_t received)
{
    tb_collective(tb, 0, call, us * US, (us + 5) * US, TB_WORLD, sequence, root, sent, received);
}

/* ---- the cases: what rank `me` of three does --------------------------------------------------------------------- */

static void fine(struct tb *tb, int me)
{
    uint64_t in = irecv(tb, 10, (me + 2) % 3, 1), out = isend(tb, 20, (me + 1) % 3, 1);
    wait_for(tb, 30, in, (me + 2) % 3, 1);
    wait_for(tb, 40, out, TRC_PEER_NONE, 0);
    collective(tb, TB_BCAST, 50, 0, 1, me == 1 ? 8 : 0, me == 1 ? 0 : 8);
    collective(tb, TB_GATHER, 60, 1, 0, 8, me ? 0 : 24);
}

static void ring_of_sends(struct tb *tb, int me)
{
    for (int i = 0; i < 5; i++) {
        send(tb, 10 + i * 50, (me + 1) % 3, 1);
        receive(tb, 30 + i * 50, (me + 2) % 3, 1);
    }
}

static void chain_of_sends(struct tb *tb, int me) /* rank 0 receives first */
{
    if (me == 0)
        receive(tb, 10, 2, 1);
    send(tb, 30, (me + 1) % 3, 1);
    if (me != 0)
        receive(tb, 50, (me + 2) % 3, 1);
}

static void send_before_wait(struct tb *tb, int me) /* MPI_Isend, then MPI_Wait for it before the receive */
{
    uint64_t out = isend(tb, 10, (me + 1) % 3, 1);
    wait_for(tb, 20, out, TRC_PEER_NONE, 0);
    receive(tb, 30, (me + 2) % 3, 1);
}

static void bcast_then_send(struct tb *tb, int me) /* rank 1 receives what rank 0 sends after its MPI_Bcast */
{
    if (me == 1)
        receive(tb, 10, 0, 1);
    collective(tb, TB_BCAST, 30, 0, 0, me ? 0 : 8, me ? 8 : 0);
    if (me == 0)
        send(tb, 50, 1, 1);
}

static void roots(struct tb *tb, int me)
{
    collective(tb, TB_BCAST, 10, 0, me == 1, me < 2 ? 8 : 0, me < 2 ? 0 : 8);
}

static void calls(struct tb *tb, int me)
{
    collective(tb, me == 2 ? TB_REDUCE : TB_ALLREDUCE, 10, 0, me == 2 ? 0 : TRC_PEER_NONE, 8, 8);
}

static void counts(struct tb *tb, int me)
{
    collective(tb, TB_ALLREDUCE, 10, 0, TRC_PEER_NONE, me == 1 ? 16 : 8, 8);
}

static void doubtful(struct tb *tb, int me) /* they may be numbered otherwise: nothing can be compared */
{
    tb_comm_doubt(tb, TB_WORLD, 0);
    roots(tb, me);
}

static void not_received(struct tb *tb, int me)
{
    if (me < 2)
        send(tb, 10, 2, 1 + me);
    if (me == 2)
        receive(tb, 20, 0, 1);
}

static void not_completed(struct tb *tb, int me)
{
    if (me == 0)
        isend(tb, 10, 1, 1);
    if (me == 1)
        receive(tb, 10, 0, 1);
}

static void races(struct tb *tb, int me) /* two messages from anyone, of two ranks */
{
    if (me != 0) {
        send(tb, 20, 0, 1);
        return;
    }
    for (int i = 1; i < 3; i++) {
        uint64_t in = irecv(tb, 10 + i * 20, TRC_PEER_ANY, 1);
        wait_for(tb, 20 + i * 20, in, i, 1);
    }
}

static void starves(struct tb *tb, int me) /* the second one is received by name */
{
    if (me != 0) {
        send(tb, 20, 0, 1);
        return;
    }
    uint64_t in = irecv(tb, 10, TRC_PEER_ANY, 1);
    wait_for(tb, 20, in, 1, 1);
    receive(tb, 40, 2, 1);
}

static void no_race(struct tb *tb, int me) /* rank 2 sends when it knows that rank 0 has received */
{
    if (me == 1)
        send(tb, 10, 0, 1);
    if (me == 0) {
        uint64_t in = irecv(tb, 10, TRC_PEER_ANY, 1);
        wait_for(tb, 20, in, 1, 1);
        send(tb, 30, 2, 3);
        in = irecv(tb, 50, TRC_PEER_ANY, 1);
        wait_for(tb, 60, in, 2, 1);
    }
    if (me == 2) {
        receive(tb, 40, 0, 3);
        send(tb, 50, 0, 1);
    }
}

static void window(struct tb *tb, int me, bool first, bool last)
{
    static const int32_t all[] = {0, 1, 2};
    tb_comm(tb, 3, 0x3003, me, all, 3);
    tb_win(tb, 5, 3);
    struct trc_sig fence = tb_sig(TB_WIN_FENCE), put = tb_sig(TB_PUT);
    fence.comm = put.comm = 3;
    fence.object = put.object = 5;
    fence.flags = TRC_SIG_RMA | TRC_SIG_COLL;
    put.flags = TRC_SIG_RMA;
    put.peer = (me + 1) % 3;
    put.sent = 8;
    if (first)
        tb_event(tb, 0, at(&fence, 0x500), 10 * US, 15 * US, (struct tb_more){.sequence = 0});
    tb_event(tb, 0, at(&put, 0x501), 20 * US, 25 * US, (struct tb_more){0});
    if (last)
        tb_event(tb, 0, at(&fence, 0x502), 30 * US, 35 * US, (struct tb_more){.sequence = first});
}

static void fenced(struct tb *tb, int me)
{
    window(tb, me, true, true);
}

static void not_opened(struct tb *tb, int me)
{
    window(tb, me, false, true);
}

static void not_closed(struct tb *tb, int me)
{
    window(tb, me, true, false);
}

/* Defines datatype `id` with a number of bytes. */
static void moved(struct tb *tb, uint32_t id, const char *sent, const char *received, uint64_t size,
                  enum trc_reduction operation)
{
    struct {
        struct trc_def_data def;
        char text[200];
    } data = {.def = {.size = {*sent ? size : 0, *received ? size : 0}, .operation = operation}};
    size_t n = (size_t)snprintf(data.text, sizeof data.text, "%s%c%s", sent, 0, received) + 1;
    tb_define(tb, TRC_DEF_DATA, id, 0, 0, &data, sizeof data.def + n, n);
}

/* Rank 0 sends 48 bytes of one datatype, rank 1 receives them as another. */
static void typed(struct tb *tb, int me, const char *sent, uint64_t sent_size, const char *received, uint64_t size)
{
    struct trc_sig sig = tb_sig(me ? TB_RECV : TB_SEND);
    moved(tb, 1, sent, "", sent_size, TRC_REDUCTION_NONE);
    moved(tb, 2, "", received, size, TRC_REDUCTION_NONE);
    sig.comm = TB_WORLD;
    sig.flags = me ? TRC_SIG_P2P_IN : TRC_SIG_P2P_OUT;
    *(me ? &sig.source : &sig.peer) = !me;
    *(me ? &sig.rtag : &sig.tag) = 1;
    *(me ? &sig.received : &sig.sent) = 48;
    sig.object = me ? 2 : 1;
    if (me < 2)
        tb_event(tb, 0, at(&sig, 0x700 + (uint64_t)me), 10 * US, 15 * US, (struct tb_more){0});
}

static void types(struct tb *tb, int me)
{
    typed(tb, me, "MPI_INT", 4, "MPI_FLOAT", 4);
}

static void types_nested(struct tb *tb, int me) /* the same in other words */
{
    typed(tb, me, "2*(2*MPI_INT MPI_DOUBLE)", 32, "MPI_INT MPI_INT32_T MPI_REAL8", 16);
}

static void types_later(struct tb *tb, int me) /* the third one differs */
{
    typed(tb, me, "MPI_INT MPI_DOUBLE", 16, "MPI_DOUBLE_INT", 16);
}

static void types_part(struct tb *tb, int me) /* less than one datatype has come */
{
    typed(tb, me, "12*MPI_INT", 48, "100*MPI_DOUBLE", 800);
}

static void types_packed(struct tb *tb, int me)
{
    typed(tb, me, "MPI_PACKED", 1, "3*(MPI_INT MPI_DOUBLE)", 48);
}

static void types_broken(struct tb *tb, int me) /* items that no recorder writes must do no harm */
{
    typed(tb, me, "99999999999*(((MPI_INT", 1, "0*MPI_INT )(3*", 4);
}

static void operations(struct tb *tb, int me)
{
    struct trc_sig sig = tb_sig(TB_ALLREDUCE);
    moved(tb, 1, "MPI_INT", "", 4, me == 2 ? TRC_REDUCTION_MAX : TRC_REDUCTION_SUM);
    sig.comm = TB_WORLD;
    sig.flags = TRC_SIG_COLL;
    sig.sent = sig.received = 8;
    sig.object = 1;
    tb_event(tb, 0, at(&sig, 0x800), 10 * US, 15 * US, (struct tb_more){.sequence = 0});
}

static void left(struct tb *tb, int me)
{
    tb_define(tb, TRC_DEF_LEFT, 2, TB_COMM_DUP, 0x900, "communicator", 12, 12);
    (void)me;
}

static void kept(struct tb *tb, int me)
{
    tb_define(tb, TRC_DEF_LEFT, 1, TB_COMM_DUP, 0x900, "communicator", 12, 12);
    (void)me;
}

static void threads(struct tb *tb, int me)
{
    tb_head(tb)->thread_level = me == 1 ? 3 : 1;
    for (uint32_t thread = 0; thread < 2; thread++) {
        uint64_t out = tb_isend(tb, thread, 10 * US, 15 * US, me, 1 + (int)thread, 8);
        tb_recv(tb, thread, 20 * US, 25 * US, me, 1 + (int)thread, 8);
        tb_wait_send(tb, thread, 30 * US, 35 * US, out);
    }
}

static void incomplete(struct tb *tb, int me)
{
    if (me != 0)
        collective(tb, TB_REDUCE, 10, 0, 0, 8, 0);
}

static void failed(struct tb *tb, int me)
{
    struct trc_sig sig = tb_sig(TB_SEND);
    sig.flags = me == 1 ? TRC_SIG_FAILED : 0;
    sig.peer = TRC_PEER_UNKNOWN;
    tb_event(tb, 0, at(&sig, 0x600), 10 * US, 15 * US, (struct tb_more){0});
}

static void lossy(struct tb *tb, int me) /* unmatched messages say nothing, collectives do all the same */
{
    ring_of_sends(tb, me);
    if (me == 1)
        tb_lost(tb, 0, 7);
    collective(tb, TB_BCAST, 1000, 0, me == 1, me < 2 ? 8 : 0, me < 2 ? 0 : 8);
}

/* ---- findings ---------------------------------------------------------------------------------------------------- */

/* "class: calls; ranks; times", a line for each finding. */
static void show(const struct ana_findings *found, char *out, size_t size)
{
    size_t n = 0;
    *out = 0;
    for (size_t i = 0; found && i < found->count; i++) {
        const struct ana_finding *f = &found->finding[i];
        n += (size_t)snprintf(out + n, size - n, "%s:", ana_check_rows[f->id].name);
        for (size_t k = 0; k < f->places; k++)
            n += (size_t)snprintf(out + n, size - n, " %s", f->place[k].call);
        n += (size_t)snprintf(out + n, size - n, ";");
        for (size_t k = 0; k < f->ranks; k++)
            n += (size_t)snprintf(out + n, size - n, " %zu", f->rank[k]);
        n += (size_t)snprintf(out + n, size - n, "; %llu\n", (unsigned long long)f->times);
    }
    if (n && out[n - 1] == '\n')
        out[n - 1] = 0;
}

static const struct {
    const char *name;
    void (*play)(struct tb *, int);
    size_t errors;
    const char *want;
} cases[] = {
    {"fine", fine, 0, ""},
    {"ring of sends", ring_of_sends, 1, "needs-buffering: MPI_Send; 0 1 2; 5"},
    {"chain of sends", chain_of_sends, 0, ""},
    {"send before wait", send_before_wait, 1, "needs-buffering: MPI_Isend; 0 1 2; 1"},
    {"bcast then send", bcast_then_send, 1, "needs-buffering: MPI_Bcast MPI_Recv; 0 1; 1"},
    {"roots", roots, 1, "collective-mismatch: MPI_Bcast; 0 1; 1"},
    {"calls", calls, 1, "collective-mismatch: MPI_Allreduce MPI_Reduce; 0 2; 1"},
    {"counts", counts, 1, "collective-mismatch: MPI_Allreduce; 0 1; 1"},
    {"doubtful", doubtful, 0, ""},
    {"not received", not_received, 1, "message-not-received: MPI_Send; 1; 1"},
    {"not completed", not_completed, 1, "request-not-completed: MPI_Isend; 0; 1"},
    {"races", races, 0, "message-race: MPI_Irecv; 0; 1"},
    {"starves", starves, 1, "race-starves: MPI_Irecv MPI_Recv; 0; 1"},
    {"no race", no_race, 0, ""},
    {"fenced", fenced, 0, ""},
    {"not opened", not_opened, 1, "outside-epoch: MPI_Put; 0 1 2; 3"},
    {"not closed", not_closed, 1, "epoch-not-closed: MPI_Put; 0 1 2; 3"},
    {"types", types, 1, "type-mismatch: MPI_Recv MPI_Send; 0 1; 1"},
    {"types nested", types_nested, 0, ""},
    {"types later", types_later, 1, "type-mismatch: MPI_Recv MPI_Send; 0 1; 1"},
    {"types in part", types_part, 1, "type-mismatch: MPI_Recv MPI_Send; 0 1; 1"},
    {"types packed", types_packed, 0, ""},
    {"types broken", types_broken, 0, ""},
    {"operations", operations, 1, "collective-mismatch: MPI_Allreduce; 0 2; 1"},
    {"left", left, 1, "not-freed: MPI_Comm_dup; 0 1 2; 6"},
    {"kept", kept, 0, "kept: MPI_Comm_dup; 0 1 2; 3"},
    {"threads", threads, 1, "thread-level: MPI_Wait; 0 2; 2"},
    {"incomplete", incomplete, 1, "collective-incomplete: MPI_Reduce; 1 2; 1"},
    {"failed", failed, 1, "failed-call: MPI_Send; 1; 1"},
    {"lossy", lossy, 1, "collective-mismatch: MPI_Bcast; 0 1; 1"},
};

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        folder_make("checked");
        for (int me = 0; me < 3; me++) {
            struct tb *tb = tb_new(me, 3);
            cases[i].play(tb, me);
            folder_write(tb, me);
            tb_free(tb);
        }
        struct ana_job *job = folder_open();
        const struct ana_findings *found = ana_check(job);
        char got[1024];
        show(found, got, sizeof got);
        CHECK(found && strcmp(got, cases[i].want) == 0 && found->errors == cases[i].errors, "%s\n  got  %s\n  want %s",
              cases[i].name, got, cases[i].want);
        ana_findings_free(found);
        ana_job_close(job);
        folder_remove();
    }
    return check_result();
}
