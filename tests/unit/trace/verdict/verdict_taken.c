/* Receives that took a message and returned an error, or were given up: what a rank waits for was sent. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/verdict/verdict.h"
#include <string.h>

#define S   INT64_C(1000000000)
#define END (100 * S)

static void inside(struct tb *tb, enum tb_call call, int64_t since, int32_t source, int32_t tag)
{
    struct trc_sig sig = tb_sig(call);
    sig.comm = TB_WORLD;
    sig.flags = call == TB_BARRIER ? TRC_SIG_COLL : TRC_SIG_P2P_IN;
    sig.source = call == TB_RECV ? source : TRC_PEER_NONE;
    sig.rtag = call == TB_RECV ? tag : TRC_TAG_NONE;
    tb_inside(tb, 0, &sig, since, 1);
}

/* Rank 0 sends one message, and waits with all others for rank 1. */
static void other_rank(struct tb *tb, int rank)
{
    if (rank == 0)
        tb_send(tb, 0, 3 * S, 3 * S + 1000, 1, 7, 8);
    inside(tb, TB_BARRIER, 20 * S, 0, 0);
}

/* Rank 1 received the one message of rank 0 with an error, by this call, and waits for it again. */
static void took_and_failed(struct tb *tb, int rank, enum tb_call call)
{
    struct trc_sig sig = tb_sig(call);
    sig.flags = TRC_SIG_FAILED;
    if (rank != 1) {
        other_rank(tb, rank);
        return;
    }
    uint64_t request = call == TB_RECV ? 0 : tb_irecv(tb, 0, 3 * S, 3 * S + 100, 0, 7, 4);
    if (call == TB_RECV) {
        sig.flags |= TRC_SIG_P2P_IN;
        sig.comm = TB_WORLD;
        sig.source = 0;
        sig.rtag = 7;
        sig.received = 4;
    }
    tb_event(tb, 0, &sig, 3 * S + 200, 3 * S + 2000, (struct tb_more){0});
    if (call != TB_RECV)
        tb_completed_recv(tb, 0, request, 0, 7, 4);
    inside(tb, TB_RECV, 20 * S, 0, 7);
}

static void receive_failed(struct tb *tb, int rank)
{
    took_and_failed(tb, rank, TB_RECV);
}

static void waitall_failed(struct tb *tb, int rank)
{
    took_and_failed(tb, rank, TB_WAITALL);
}

static void test_failed(struct tb *tb, int rank)
{
    took_and_failed(tb, rank, TB_TEST);
}

/* A receive for rank 0's message was given up, after MPI_Cancel or not, before one with this tag that waits. */
static void given_up(struct tb *tb, int rank, bool cancels, int32_t tag)
{
    struct trc_sig sub = tb_sig(TB_IRECV), cancel = tb_sig(TB_CANCEL), give_up = tb_sig(TB_REQUEST_FREE);
    sub.comm = cancel.comm = TB_WORLD;
    sub.source = cancel.source = 0;
    sub.rtag = cancel.rtag = 7;
    sub.flags = TRC_SIG_COMPLETE | TRC_SIG_CANCELLED | TRC_SIG_P2P_IN;
    if (rank != 1) {
        other_rank(tb, rank);
        return;
    }
    uint64_t request = tb_irecv(tb, 0, 3 * S, 3 * S + 100, 0, 7, 8);
    if (cancels)
        tb_event(tb, 0, &cancel, 3 * S + 200, 3 * S + 300, (struct tb_more){0});
    tb_event(tb, 0, &give_up, 3 * S + 400, 3 * S + 500, (struct tb_more){0});
    tb_sub(tb, 0, &sub, (struct tb_more){.request = request});
    inside(tb, TB_RECV, 20 * S, 0, tag);
}

static void request_freed(struct tb *tb, int rank)
{
    given_up(tb, rank, false, 7);
}

static void other_request_freed(struct tb *tb, int rank)
{
    given_up(tb, rank, false, 8);
}

static void request_cancelled(struct tb *tb, int rank)
{
    given_up(tb, rank, true, 8);
}

static const struct {
    const char *what;
    void (*make)(struct tb *tb, int rank);
    const char *says; /* text in the summary or a fact */
    bool proven;
} cases[] = {
    {"a receive that took a message and failed", receive_failed,
     "with tag 7 on MPI_COMM_WORLD: MPI_Recv, with room for 4 B, received one such and returned an error, of 1 that "
     "rank 0 sent",
     false},
    {"a wait that did", waitall_failed, ": MPI_Waitall received one such and returned an error", false},
    {"a test that did", test_failed, ": MPI_Test received one such and returned an error", false},
    {"a receive that was given up", request_freed, "and gave its request to MPI_Request_free", true},
    {"one that was cancelled before", request_cancelled, "rank 0 sent one with tag 7, which nobody receives", true},
    {"a receive of another tag that was given up", other_request_freed,
     "rank 1 waits for a message from rank 0 with tag 8 on MPI_COMM_WORLD that was never sent", true},
};

int main(void)
{
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        folder_make(cases[k].what);
        for (int r = 0; r < 3; r++) {
            struct tb *tb = tb_new(r, 3);
            tb_barrier(tb, 0, 1 * S, 2 * S, TB_WORLD, 0);
            tb_running(tb, END);
            cases[k].make(tb, r);
            folder_write(tb, r);
            tb_free(tb);
        }
        struct ana_job *job = folder_open();
        const struct ana_verdict *v = ana_job_verdict(job);
        bool says = v && strstr(v->summary.text, cases[k].says);
        for (size_t i = 0; v && i < v->facts; i++)
            says |= strstr(v->fact[i].text, cases[k].says) != NULL;
        CHECK(v && v->state == ANA_VERDICT_HUNG && v->id == ANA_CLASS_UNMATCHED && says, "%s: %s", cases[k].what,
              v ? v->summary.text : "no verdict");
        CHECK(v && (v->confidence == ANA_PROVEN) == cases[k].proven, "%s: certainty", cases[k].what);
        ana_job_close(job);
        folder_remove();
    }
    return check_result();
}
