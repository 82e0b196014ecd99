/* Messages that were sent and received before, or are under way, when a rank waits: the one that it waits for. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/verdict/verdict.h"
#include <stdio.h>
#include <string.h>

#define S    INT64_C(1000000000)
#define END  (100 * S)
#define SITE 0x7fff12340000u
#define MANY 10 /* more sends and receives at once than pairs of ranks are compared for one verdict */

static void inside(struct tb *tb, enum tb_call call, int64_t since, int32_t source, int32_t tag)
{
    struct trc_sig sig = tb_sig(call);
    sig.comm = call == TB_WAITALL || call == TB_FINALIZE ? 0 : TB_WORLD;
    sig.flags = call == TB_BARRIER ? TRC_SIG_COLL : call == TB_RECV ? TRC_SIG_P2P_IN : 0;
    sig.source = call == TB_RECV ? source : TRC_PEER_NONE;
    sig.rtag = call == TB_RECV ? tag : TRC_TAG_NONE;
    tb_inside(tb, 0, &sig, since, 1);
}

/* A receive from anyone took the one message that rank 0 sent. */
static void by_any(struct tb *tb, int rank)
{
    if (rank != 1) {
        if (rank == 0)
            tb_send(tb, 0, 3 * S, 3 * S + 1000, 1, 7, 8);
        inside(tb, TB_BARRIER, 20 * S, 0, 0);
        return;
    }
    uint64_t request = tb_irecv(tb, 0, 3 * S, 3 * S + 100, TRC_PEER_ANY, 7, 8);
    tb_wait_recv(tb, 0, 3 * S + 200, 3 * S + 2000, request, 0, 7, 8);
    inside(tb, TB_RECV, 20 * S, 0, 7);
}

/* A blocking one did. */
static void by_blocking_any(struct tb *tb, int rank)
{
    struct trc_sig receive = tb_sig(TB_RECV);
    receive.comm = TB_WORLD;
    receive.source = 0;
    receive.rtag = 7;
    receive.flags = TRC_SIG_P2P_IN | TRC_SIG_ANY_SOURCE;
    receive.site = SITE;
    if (rank != 1) {
        by_any(tb, rank);
        return;
    }
    tb_site(tb, SITE, "collect", "farm");
    tb_event(tb, 0, &receive, 3 * S, 3 * S + 2000, (struct tb_more){0});
    inside(tb, TB_RECV, 20 * S, 0, 7);
}

/* A receive at another place, from the same source and of the same tag, took it. */
static void elsewhere_taken(struct tb *tb, int rank)
{
    if (rank != 1) {
        by_any(tb, rank);
        return;
    }
    struct trc_sig receive = tb_sig(TB_RECV);
    receive.comm = TB_WORLD;
    receive.source = 0;
    receive.rtag = 7;
    receive.flags = TRC_SIG_P2P_IN;
    receive.site = SITE;
    tb_site(tb, SITE, "collect", "farm");
    tb_event(tb, 0, &receive, 3 * S, 3 * S + 2000, (struct tb_more){0});
    inside(tb, TB_RECV, 20 * S, 0, 7);
}

/* A receive of any tag, but from rank 0, took it. */
static void by_any_tag(struct tb *tb, int rank)
{
    if (rank != 1) {
        by_any(tb, rank);
        return;
    }
    uint64_t request = tb_irecv(tb, 0, 3 * S, 3 * S + 100, 0, TRC_TAG_ANY, 8);
    tb_wait_recv(tb, 0, 3 * S + 200, 3 * S + 2000, request, 0, 7, 8);
    inside(tb, TB_RECV, 20 * S, 0, 7);
}

/* Any tag would do, but the message is on another communicator. */
static void elsewhere(struct tb *tb, int rank)
{
    static const int32_t all[] = {0, 1, 2};
    tb_comm(tb, 3, 0x2002, rank, all, 3);
    if (rank == 0) {
        struct trc_sig sig = tb_sig(TB_SEND);
        sig.comm = 3;
        sig.peer = 1;
        sig.tag = 7;
        sig.sent = 8;
        sig.flags = TRC_SIG_P2P_OUT;
        tb_event(tb, 0, &sig, 3 * S, 3 * S + 1000, (struct tb_more){0});
    }
    inside(tb, rank == 1 ? TB_RECV : TB_BARRIER, 20 * S, 0, TRC_TAG_ANY);
}

/* It was another message that a receive from anyone took: rank 0's was never sent. */
static void of_another(struct tb *tb, int rank)
{
    for (int i = 0; i < 2 && rank == 2; i++)
        tb_send(tb, 0, 3 * S + i * 2000, 3 * S + i * 2000 + 1000, 1, 9, 8);
    if (rank != 1) {
        inside(tb, TB_BARRIER, 20 * S, 0, 0);
        return;
    }
    uint64_t request = tb_irecv(tb, 0, 3 * S, 3 * S + 100, TRC_PEER_ANY, 9, 8);
    tb_wait_recv(tb, 0, 3 * S + 200, 3 * S + 2000, request, 2, 9, 8);
    tb_irecv(tb, 0, 4 * S, 4 * S + 100, 0, 5, 8);
    tb_irecv(tb, 0, 4 * S + 200, 4 * S + 300, 2, 9, 8);
    inside(tb, TB_WAITALL, 20 * S, 0, 0);
}

/* Rank 0 sends to rank 2 what rank 1 waits for, and leaves. */
static void wrong_destination(struct tb *tb, int rank)
{
    if (rank == 0)
        tb_send(tb, 0, 3 * S, 3 * S + 1000, 2, 7, 8);
    inside(tb, rank == 1 ? TB_RECV : TB_FINALIZE, 20 * S, 0, 7);
}

/* Rank 0 has no neighbour where rank 1 is one; or the message is another one. */
static void to_nobody(struct tb *tb, int rank, int32_t tag)
{
    if (rank == 0)
        tb_send(tb, 0, 3 * S, 3 * S + 1000, TRC_PEER_NULL, tag, 0);
    inside(tb, rank == 1 ? TB_RECV : TB_BARRIER, 20 * S, 0, 7);
}

static void to_null(struct tb *tb, int rank)
{
    to_nobody(tb, rank, 7);
}

static void other_to_null(struct tb *tb, int rank)
{
    to_nobody(tb, rank, 8);
}

/* Rank 1 waits for rank 2, and rank 0 has sent that message. */
static void wrong_source(struct tb *tb, int rank)
{
    if (rank == 0)
        tb_send(tb, 0, 3 * S, 3 * S + 1000, 1, 7, 8);
    inside(tb, rank == 1 ? TB_RECV : TB_BARRIER, 20 * S, 2, 7);
}

/* All that is under way fits: long, but no circle. */
static void under_way(struct tb *tb, int rank)
{
    const int other = 1 - rank;
    uint64_t in = tb_irecv(tb, 0, 3 * S, 3 * S + 10, other, 1, 8);
    uint64_t out = tb_isend(tb, 0, 3 * S + 20, 3 * S + 30, other, 1, 8);
    tb_wait_recv(tb, 0, 3 * S + 100, 3 * S + 2000, in, other, 1, 8);
    tb_wait_send(tb, 0, 3 * S + 3000, 3 * S + 4000, out);
    for (int i = 0; i < MANY; i++)
        tb_isend(tb, 0, 20 * S + i * 100, 20 * S + i * 100 + 50, other, 100 + i, 1u << 30);
    for (int i = 0; i < MANY; i++)
        tb_irecv(tb, 0, 21 * S + i * 100, 21 * S + i * 100 + 50, other, 100 + i, 1u << 30);
    inside(tb, TB_WAITALL, 22 * S, 0, 0);
}

/* An open send to itself that was received is not what rank 0 waits for: that is rank 1's message. */
static void received(struct tb *tb, int rank)
{
    if (rank != 0)
        return;
    uint64_t request = tb_irecv(tb, 0, 3 * S, 3 * S + 100, 0, 7, 8);
    tb_isend(tb, 0, 3 * S + 200, 3 * S + 300, 0, 7, 8);
    tb_wait_recv(tb, 0, 3 * S + 400, 3 * S + 2000, request, 0, 7, 8);
    tb_irecv(tb, 0, 4 * S, 4 * S + 100, 1, 5, 8);
    inside(tb, TB_WAITALL, 20 * S, 0, 0);
}

/* A helper thread of each rank has waited in a receive for longer than its main thread in MPI_Finalize. */
static void finalize_beside(struct tb *tb, int rank)
{
    struct trc_sig leaving = tb_sig(TB_FINALIZE);
    tb_barrier(tb, 1, 3 * S, 3 * S + 10, TB_WORLD, 1);
    inside(tb, TB_RECV, 20 * S, (rank + 1) % 3, 7);
    tb_inside(tb, 1, &leaving, 30 * S, 0);
}

/* The second receive is cancelled; the first has its message. */
static void cancelled(struct tb *tb, int rank)
{
    struct trc_sig cancel = tb_sig(TB_CANCEL);
    cancel.comm = TB_WORLD;
    cancel.source = 1;
    cancel.rtag = 9;
    if (rank == 1) {
        tb_send(tb, 0, 3 * S, 3 * S + 1000, 0, 7, 8);
        inside(tb, TB_BARRIER, 20 * S, 0, 0);
        return;
    }
    tb_irecv(tb, 0, 3 * S, 3 * S + 100, 1, 7, 8);
    tb_irecv(tb, 0, 3 * S + 200, 3 * S + 300, 1, 9, 8);
    tb_event(tb, 0, &cancel, 3 * S + 400, 3 * S + 500, (struct tb_more){0});
    inside(tb, TB_WAITALL, 20 * S, 0, 0);
}

/* A second receive like the first one overwrites its request; one message comes. */
static void overwritten(struct tb *tb, int rank)
{
    struct trc_sig wait = tb_sig(TB_WAIT);
    wait.comm = TB_WORLD;
    wait.source = 1;
    wait.rtag = 7;
    if (rank == 1) {
        tb_send(tb, 0, 3 * S, 3 * S + 1000, 0, 7, 8);
        inside(tb, TB_BARRIER, 20 * S, 0, 0);
        return;
    }
    tb_irecv(tb, 0, 3 * S, 3 * S + 100, 1, 7, 8);
    tb_irecv(tb, 0, 3 * S + 200, 3 * S + 300, 1, 7, 8);
    tb_inside(tb, 0, &wait, 20 * S, 1);
}

/* The second receive of a tag has its message; the first, which is smaller, waits for the one before. */
static void second_first(struct tb *tb, int rank)
{
    struct trc_sig wait = tb_sig(TB_WAITALL);
    if (rank == 1) {
        tb_send(tb, 0, 3 * S, 3 * S + 1000, 0, 7, 50);
        tb_send(tb, 0, 4 * S, 4 * S + 1000, 0, 7, 1500);
        inside(tb, TB_BARRIER, 20 * S, 0, 0);
        return;
    }
    tb_irecv(tb, 0, 3 * S, 3 * S + 100, 1, 7, 100);
    uint64_t second = tb_irecv(tb, 0, 3 * S + 200, 3 * S + 300, 1, 7, 2000);
    tb_wait_recv(tb, 0, 5 * S, 5 * S + 100, second, 1, 7, 1500);
    tb_inside(tb, 0, &wait, 20 * S, 1);
}

/* Rank 0 receives its own message from any source, and waits for a message of rank 1, too. */
static void to_itself(struct tb *tb, int rank)
{
    struct trc_sig send = tb_sig(TB_ISEND), receive = tb_sig(TB_IRECV);
    tb_comm(tb, 5, 55 + (uint64_t)rank, 0, &(int32_t){rank}, 1);
    send.comm = receive.comm = 5;
    send.tag = receive.rtag = 7;
    send.peer = 0;
    send.sent = receive.received = 8;
    receive.source = TRC_PEER_ANY;
    send.flags = TRC_SIG_P2P_OUT | TRC_SIG_START;
    receive.flags = TRC_SIG_P2P_IN | TRC_SIG_START;
    if (rank)
        return;
    tb_event(tb, 0, &receive, 3 * S, 3 * S + 100, (struct tb_more){0});
    tb_event(tb, 0, &send, 3 * S + 200, 3 * S + 300, (struct tb_more){0});
    tb_irecv(tb, 0, 3 * S + 400, 3 * S + 500, 1, 9, 8);
    inside(tb, TB_WAITALL, 20 * S, 0, 0);
}

/* A receive failed, and rank 1 went on without the answer that rank 0 waits for. */
static void failed(struct tb *tb, int rank)
{
    struct trc_sig receive = tb_sig(TB_RECV);
    receive.comm = TB_WORLD;
    receive.flags = TRC_SIG_P2P_IN | TRC_SIG_FAILED;
    if (rank == 0)
        tb_send(tb, 0, 3 * S, 3 * S + 1000, 1, 7, 8);
    else if (rank == 1)
        tb_event(tb, 0, &receive, 3 * S, 3 * S + 1000, (struct tb_more){0});
    inside(tb, rank ? TB_BARRIER : TB_RECV, 20 * S, 1, 9);
}

static struct trc_sig probe_of(int32_t tag)
{
    struct trc_sig probe = tb_sig(TB_MPROBE);
    probe.comm = TB_WORLD;
    probe.source = 0;
    probe.rtag = tag;
    probe.flags = TRC_SIG_P2P_IN | TRC_SIG_START;
    return probe;
}

/* Rank 1 has found a message of rank 0 by MPI_Mprobe.  It asks for the next one, which is behind it, first. */
static void probed(struct tb *tb, int rank)
{
    struct trc_sig send = tb_sig(TB_SSEND), found = probe_of(7), next = probe_of(8);
    send.comm = TB_WORLD;
    send.peer = 1;
    send.tag = 7;
    send.flags = TRC_SIG_P2P_OUT;
    if (rank == 0) {
        tb_inside(tb, 0, &send, 20 * S, 0);
        return;
    }
    tb_event(tb, 0, &found, 21 * S, 21 * S + 1000, (struct tb_more){0});
    tb_inside(tb, 0, &next, 22 * S, 0);
}

/* Rank 1 passes it to MPI_Imrecv; it waits for another one, which was not sent. */
static void probed_and_received(struct tb *tb, int rank)
{
    struct trc_sig found = probe_of(7), receive = probe_of(7);
    receive.call = tb_sig(TB_IMRECV).call;
    receive.flags = 0;
    if (rank == 0) {
        probed(tb, rank);
        return;
    }
    tb_event(tb, 0, &found, 21 * S, 21 * S + 1000, (struct tb_more){0});
    tb_event(tb, 0, &receive, 21 * S + 2000, 21 * S + 3000, (struct tb_more){0});
    inside(tb, TB_RECV, 22 * S, 0, 9);
}

/* Everybody waits for anybody: nobody differs. */
static void any_of_all(struct tb *tb, int rank)
{
    (void)rank;
    inside(tb, TB_RECV, 20 * S, TRC_PEER_ANY, 7);
}

static void exchange(struct tb *tb, int rank, bool sends)
{
    struct trc_sig sig = tb_sig(TB_SENDRECV);
    sig.comm = TB_WORLD;
    sig.flags = TRC_SIG_P2P_IN | (sends ? TRC_SIG_P2P_OUT : 0);
    sig.source = 1 - rank;
    sig.rtag = 6;
    sig.peer = sends ? 1 - rank : TRC_PEER_NONE;
    sig.tag = sends ? 5 : TRC_TAG_NONE;
    tb_inside(tb, 0, &sig, 20 * S, 0);
}

/* All ranks loop over MPI_Iprobe of one tag and MPI_Test of a collective: rank 2 has sent with another tag, and has not
 * started the collective. */
static void polls_in_turns(struct tb *tb, int rank)
{
    struct trc_sig probe = tb_sig(TB_IPROBE), test = tb_sig(TB_TEST), start = tb_sig(TB_IALLREDUCE);
    probe.comm = start.comm = TB_WORLD;
    probe.source = TRC_PEER_ANY;
    probe.rtag = 7;
    probe.flags = test.flags = TRC_SIG_POLL;
    start.flags = TRC_SIG_COLL | TRC_SIG_START;
    if (rank == 2)
        tb_isend(tb, 0, 3 * S, 3 * S + 100, 0, 8, 8);
    else
        tb_event(tb, 0, &start, 3 * S, 3 * S + 100, (struct tb_more){.sequence = 1});
    tb_fold(tb, 0, rank ? &probe : &test, 4 * S, END - 2000, 100, 1000);
    tb_fold(tb, 0, rank ? &test : &probe, 4 * S + 1000, END - 1000, 100, 1000);
}

/* Rank 1 gave a communicator that it had freed. */
static void freed(struct tb *tb, int rank)
{
    struct trc_sig barrier = tb_sig(TB_BARRIER);
    if (rank == 1)
        tb_inside(tb, 0, &barrier, 20 * S, 0);
    else
        inside(tb, TB_BARRIER, 20 * S, 0, 0);
}

/* The last of four ranks has no file. */
static void without_a_file(struct tb *tb, int rank)
{
    (void)rank;
    inside(tb, TB_BARRIER, 20 * S, 0, 0);
}

/* Both receive from an end where nobody sends. */
static void no_end(struct tb *tb, int rank)
{
    exchange(tb, rank, false);
}

static void both_partners(struct tb *tb, int rank)
{
    exchange(tb, rank, true);
}

static const struct {
    const char *what;
    int ranks;
    void (*make)(struct tb *tb, int rank);
    enum ana_verdict_class id;
    const char *says; /* text of the summary, a fact, the advice or of what a rank does */
} cases[] = {
    {"taken by a receive from anyone", 3, by_any, ANA_CLASS_UNMATCHED,
     "of 1 that rank 0 sent, its receives from any source or of any tag took 1"},
    {"taken by a blocking receive from anyone", 3, by_blocking_any, ANA_CLASS_UNMATCHED,
     "of any tag took 1, the last at collect"},
    {"taken at another place", 3, elsewhere_taken, ANA_CLASS_UNMATCHED,
     "of 1 that rank 0 sent, it received the last at collect"},
    {"taken by a receive of any tag", 3, by_any_tag, ANA_CLASS_UNMATCHED, "or of any tag took 1"},
    {"polls in turns", 3, polls_in_turns, ANA_CLASS_UNMATCHED, "rank 2 sent one with tag 8, which nobody receives"},
    {"a communicator that was freed", 2, freed, ANA_CLASS_MISSING,
     "in MPI_Barrier on an unknown communicator (freed, null, or never recorded)"},
    {"a rank without a file", 3, without_a_file, ANA_CLASS_MISSING,
     "rank 3 has not called MPI_Barrier, where 3 of 4 wait"},
    {"any tag, on another communicator", 3, elsewhere, ANA_CLASS_UNMATCHED,
     "rank 0 sent one with tag 7 on another communicator, which nobody receives"},
    {"another one was taken", 3, of_another, ANA_CLASS_UNMATCHED,
     "a message from rank 0 with tag 5 on MPI_COMM_WORLD that was never sent"},
    {"sent to another rank", 3, wrong_destination, ANA_CLASS_UNMATCHED,
     "with tag 7 on MPI_COMM_WORLD; rank 0 sent 1 message with this tag and communicator to rank 2, which has received "
     "none such"},
    {"sent to MPI_PROC_NULL", 3, to_null, ANA_CLASS_UNMATCHED,
     "rank 0 has sent a message with this tag and communicator to MPI_PROC_NULL"},
    {"another one sent to MPI_PROC_NULL", 3, other_to_null, ANA_CLASS_UNMATCHED,
     "source, tag and communicator of this receive"},
    {"sent by another rank", 3, wrong_source, ANA_CLASS_UNMATCHED,
     "rank 0 sent 1 message with this tag and communicator to rank 1, which has received none such"},
    {"many under way", 2, under_way, ANA_CLASS_NONE, "nothing moves: all ranks are inside MPI"},
    {"a send that was received", 2, received, ANA_CLASS_UNMATCHED,
     "a message from rank 1 with tag 5 on MPI_COMM_WORLD; rank 1 has not sent it, and is outside MPI"},
    {"a receive beside MPI_Finalize", 3, finalize_beside, ANA_CLASS_EARLY_EXIT,
     "ranks 0-2 are in MPI_Finalize while rank 0 and 2 more still wait in MPI_Recv from rank 1, tag 7"},
    {"a receive that is cancelled", 2, cancelled, ANA_CLASS_UNMATCHED,
     "rank 0 does not come out of MPI_Waitall, and 1 of 2 waits in MPI_Barrier"},
    {"a request that was overwritten", 2, overwritten, ANA_CLASS_UNMATCHED,
     "which an earlier receive took that nobody completed"},
    {"the second receive completed first", 2, second_first, ANA_CLASS_UNMATCHED,
     "rank 0 does not come out of MPI_Waitall"},
    {"a message to itself", 2, to_itself, ANA_CLASS_UNMATCHED, "a message from rank 1 with tag 9"},
    {"a receive that failed", 3, failed, ANA_CLASS_UNMATCHED, "before that, MPI_Recv returned an error to rank 1"},
    {"a message that was only probed", 2, probed, ANA_CLASS_UNMATCHED,
     "rank 1 has found by MPI_Mprobe what rank 0 sends in MPI_Ssend to rank 1, tag 7, and does not receive it"},
    {"a message that was probed and is received", 2, probed_and_received, ANA_CLASS_NONE,
     "nothing moves: all ranks are inside MPI"},
    {"an exchange beyond the end", 2, no_end, ANA_CLASS_CYCLE,
     "at an end that is not periodic both name MPI_PROC_NULL"},
    {"an exchange has two partners", 2, both_partners, ANA_CLASS_UNMATCHED,
     "in MPI_Sendrecv to rank 1, tag 5, from rank 1, tag 6"},
    {"everybody waits for anybody", 4, any_of_all, ANA_CLASS_CYCLE,
     "2 ranks wait for each other in a circle: 0 -> 1 -> 0"},
};

int main(void)
{
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        folder_make("messages");
        for (int r = 0; r < cases[k].ranks; r++) {
            struct tb *tb = tb_new(r, cases[k].ranks + (cases[k].make == without_a_file));
            tb_barrier(tb, 0, 1 * S, 2 * S, TB_WORLD, 0);
            tb_running(tb, END);
            cases[k].make(tb, r);
            folder_write(tb, r);
            tb_free(tb);
        }
        struct ana_job *job = folder_open();
        const struct ana_verdict *v = ana_job_verdict(job);
        bool told = v && (strstr(v->summary.text, cases[k].says) || strstr(v->next, cases[k].says));
        for (size_t i = 0; v && i < v->groups; i++)
            told |= strstr(v->group[i].doing, cases[k].says) != NULL;
        for (size_t i = 0; v && i < v->facts; i++)
            told |= strstr(v->fact[i].text, cases[k].says) != NULL;
        CHECK(v && v->state == ANA_VERDICT_HUNG && v->id == cases[k].id && told, "%s: %s", cases[k].what,
              v ? v->summary.text : "no verdict");
        ana_job_close(job);
        folder_remove();
    }
    return check_result();
}
