/* Matching of messages: one test a rule, with events made by hand. */
#include "tests/support/match_events.h"

/* ---- point to point -------------------------------------------------------------------------------------------- */

static void test_blocking(void)
{
    begin_test();
    send(0, 1, 5, 10, 20);
    send(0, 1, 6, 30, 40); /* another tag */
    send(2, 1, 5, 35, 45); /* another source */
    send(0, 1, 5, 50, 60);
    recv(1, 2, 5, 70, 80);
    recv(1, 0, 6, 90, 100);
    recv(1, 0, 5, 110, 120);
    recv(1, 0, 5, 130, 140);
    PAIR(0, 35, 70);
    PAIR(1, 30, 90);
    PAIR(2, 10, 110);
    PAIR(3, 50, 130);
    CHECK(got[2].source == 0 && got[2].destination == 1 && got[2].tag == 5 && got[2].bytes == 100, "fields");
    CHECK(got[2].comm_identity == 77 && got[2].send_call == &call_send && got[2].recv_call == &call_recv, "calls");
    CHECK(got[2].send_end_ns == 20 && got[2].send_wait_begin_ns == 10 && got[2].send_complete_ns == 20, "send times");
    CHECK(got[2].recv_wait_begin_ns == 110 && got[2].recv_complete_ns == 120, "receive times");
    /* A receive that is seen first (rendezvous), to oneself, and what does not count. */
    recv(1, 0, 9, 200, 300);
    item(0, 0, &world[0], &call_ssend, out(TRC_SIG_SYNC, 1, 9), 210, 301, 0);
    PAIR(4, 210, 200);
    CHECK(got[4].synchronous, "synchronous");
    send(0, TRC_PEER_NULL, 9, 310, 311);
    item(0, 0, &world[0], &call_send, out(TRC_SIG_NESTED, 1, 9), 320, 321, 0);
    item(0, 0, &world[0], &call_sendrecv,
         (struct trc_sig){.flags = TRC_SIG_P2P_OUT | TRC_SIG_P2P_IN,
                          .peer = 0,
                          .tag = 3,
                          .source = 0,
                          .rtag = 3,
                          .sent = 7,
                          .received = 7},
         330, 340, 0);
    PAIR(5, 330, 330);
    CHECK(got[5].source == 0 && got[5].destination == 0 && got[5].bytes == 7, "to itself");
    /* The same in another communicator is another message. */
    item(0, 0, &twin[0], &call_send, out(0, 1, 5), 400, 401, 0);
    recv(1, 0, 5, 410, 420);
    END_TEST(6, 1, 0, 0, 1, 0, 0);
}

static void test_unmatched(void)
{
    begin_test();
    send(0, 1, 5, 10, 20);
    isend(0, 1, 6, 30);
    irecv(1, 0, 7, 40);
    irecv(1, ANY, 8, 50);
    send(0, 99, 5, 60, 70);               /* a rank without a file */
    send(0, TRC_PEER_UNKNOWN, 5, 80, 90); /* rank of another world */
    recv(1, 3, 5, 20, 30);
    send(3, 1, 5, 40, 50); /* arrives before it leaves */
    struct ana_match_counts c = ana_match_counts(match);
    CHECK(c.unmatched_sends == 2 && c.unmatched_receives == 2, "while it runs");
    END_TEST(1, 2, 2, 2, 0, 0, 1);
}

static void test_nonblocking(void)
{
    begin_test();
    uint64_t s = isend(0, 1, 5, 10);
    uint64_t r = irecv(1, 0, 5, 20);
    wait_call(1, 30, 50);
    done_recv(1, r, 0, 5, 30, 50);
    CHECK(messages == 0, "the send is not complete yet");
    wait_call(0, 40, 60);
    done_send(0, s, 40, 60);
    PAIR(0, 10, 20);
    CHECK(got[0].send_end_ns == 11 && got[0].send_wait_begin_ns == 40 && got[0].send_complete_ns == 60, "send");
    CHECK(got[0].recv_wait_begin_ns == 30 && got[0].recv_complete_ns == 50, "receive");
    CHECK(got[0].send_call == &call_isend && got[0].send_wait_call == &call_wait, "send's calls");
    CHECK(got[0].recv_call == &call_irecv && got[0].recv_wait_call == &call_wait, "receive's calls");
    /* A send that nobody completes comes with the flush; a freed one at once. */
    isend(0, 1, 5, 70);
    recv(1, 0, 5, 80, 90);
    s = isend(0, 1, 6, 91);
    item(0, 0, NULL, &call_free, (struct trc_sig){0}, 93, 94, UINT64_MAX);
    done_send(0, s, 93, 94);
    recv(1, 0, 6, 95, 99);
    PAIR(1, 91, 95);
    CHECK(got[1].send_complete_ns == INT64_MIN, "freed");
    ana_match_flush(match);
    PAIR(2, 70, 80);
    CHECK(got[2].send_complete_ns == INT64_MIN && got[2].send_wait_call == NULL, "never completed");
    END_TEST(3, 0, 0, 0, 0, 0, 0);
}

/* Waitany reports the later posted of two receives first. */
static void test_waitany_order(void)
{
    begin_test();
    send(0, 1, 5, 10, 11);
    send(0, 1, 5, 12, 13);
    uint64_t a = irecv(1, 0, 5, 20), b = irecv(1, 0, 5, 30);
    done_recv(1, b, 0, 5, 40, 50);
    CHECK(messages == 0, "held");
    done_recv(1, a, 0, 5, 60, 70);
    PAIR(0, 10, 20);
    PAIR(1, 12, 30);
    CHECK(got[1].recv_complete_ns == 50, "the later one was complete first");
    /* The same, and the program never looks at the first: it has taken the first message all the same. */
    send(0, 1, 5, 110, 111);
    send(0, 1, 5, 112, 113);
    irecv(1, 0, 5, 120);
    b = irecv(1, 0, 5, 130);
    done_recv(1, b, 0, 5, 140, 150);
    ana_match_flush(match);
    PAIR(2, 112, 130);
    END_TEST(3, 0, 1, 0, 0, 0, 0);
}

static void test_wildcards(void)
{
    begin_test();
    /* Resolved by what the completion says. */
    send(2, 1, 5, 10, 11);
    uint64_t a = irecv(1, ANY, TRC_TAG_ANY, 20);
    done_recv(1, a, 2, 5, 30, 40);
    PAIR(0, 10, 20);
    recv(1, 0, 5, 50, 60); /* a blocking one says it at once, whatever it asked for */
    send(0, 1, 5, 55, 56);
    PAIR(1, 55, 50);
    /* A wildcard posted first, a specific receive after it; Waitany shows the specific one first.  The wildcard took
     * the first message of the same channel. */
    send(0, 1, 5, 110, 111);
    send(0, 1, 5, 112, 113);
    a = irecv(1, ANY, 5, 120);
    uint64_t b = irecv(1, 0, 5, 130);
    done_recv(1, b, 0, 5, 140, 150);
    CHECK(messages == 2, "held back by the wildcard");
    done_recv(1, a, 0, 5, 160, 170);
    PAIR(2, 110, 120);
    PAIR(3, 112, 130);
    /* The wildcard took one from somewhere else: the specific receive is free once this is known. */
    send(0, 1, 5, 210, 211);
    send(3, 1, 5, 212, 213);
    a = irecv(1, ANY, 5, 220);
    b = irecv(1, 0, 5, 230);
    done_recv(1, b, 0, 5, 240, 250);
    done_recv(1, a, 3, 5, 260, 270);
    CHECK(messages == 6, "%zu", messages);
    PAIR(4, 212, 220);
    PAIR(5, 210, 230);
    /* A wildcard for another tag, for another communicator, or posted later holds nothing back. */
    a = irecv(1, ANY, 6, 300);
    item(1, 0, &twin[1], &call_irecv, in(TRC_SIG_START, ANY, TRC_TAG_ANY), 301, 302, starts[1][0]++);
    send(0, 1, 5, 310, 311);
    b = irecv(1, 0, 5, 320);
    uint64_t c = irecv(1, ANY, TRC_TAG_ANY, 330);
    done_recv(1, b, 0, 5, 340, 350);
    PAIR(6, 310, 320);
    /* Cancelled: leaves, and releases the receives behind it. */
    send(4, 1, 6, 400, 401);
    b = irecv(1, 4, 6, 410);
    done_recv(1, b, 4, 6, 420, 430);
    CHECK(messages == 7, "held back by two");
    cancelled(1, a, 440, 450);
    CHECK(messages == 7, "by one");
    cancelled(1, c, 440, 450);
    PAIR(7, 400, 410);
    /* Never resolved: its message cannot be told. */
    send(0, 1, 5, 510, 511);
    irecv(1, ANY, 5, 520);
    b = irecv(1, 0, 5, 530);
    done_recv(1, b, 0, 5, 540, 550);
    END_TEST(8, 0, 2, 0, 2, 2, 0);
}

static void test_cancelled(void)
{
    begin_test();
    uint64_t a = irecv(1, 0, 5, 10), b = irecv(1, 0, 5, 20);
    send(0, 1, 5, 30, 31);
    done_recv(1, b, 0, 5, 40, 50);
    CHECK(messages == 0, "the first may still complete");
    cancelled(1, a, 60, 70);
    PAIR(0, 30, 20);
    a = isend(0, 1, 5, 80);
    isend(0, 1, 5, 82);
    cancelled(0, a, 90, 95);
    recv(1, 0, 5, 100, 110);
    ana_match_flush(match);
    PAIR(1, 82, 100);
    END_TEST(2, 0, 0, 0, 0, 2, 0);
}

static void test_persistent(void)
{
    begin_test();
    for (int64_t round = 0; round < 3; round++) {
        int64_t t = 100 * round;
        item(0, 0, NULL, &call_start, (struct trc_sig){0}, t + 10, t + 12, UINT64_MAX);
        item(0, 0, &world[0], &call_isend, out(TRC_SIG_SUB | TRC_SIG_START, 1, 5), t + 10, t + 12, starts[0][0]++);
        item(0, 0, &world[0], &call_isend, out(TRC_SIG_SUB | TRC_SIG_START, 1, 5), t + 10, t + 12, starts[0][0]++);
        item(1, 0, NULL, &call_start, (struct trc_sig){0}, t + 5, t + 14, UINT64_MAX);
        item(1, 0, &world[1], &call_irecv, in(TRC_SIG_SUB | TRC_SIG_START, 0, 5), t + 5, t + 14, starts[1][0]++);
        item(1, 0, &world[1], &call_irecv, in(TRC_SIG_SUB | TRC_SIG_START, ANY, 5), t + 5, t + 14, starts[1][0]++);
        wait_call(0, t + 20, t + 30);
        done_send(0, starts[0][0] - 2, t + 20, t + 30);
        done_send(0, starts[0][0] - 1, t + 20, t + 30);
        wait_call(1, t + 20, t + 40);
        done_recv(1, starts[1][0] - 1, 0, 5, t + 20, t + 40);
        done_recv(1, starts[1][0] - 2, 0, 5, t + 20, t + 40);
        CHECK(messages == 2 * (size_t)round + 2, "%zu messages", messages);
        PAIR(2 * (size_t)round, t + 10, t + 5);
        CHECK(got[2 * round].send_call == &call_start && got[2 * round].recv_call == &call_start,
              "started by MPI_Start");
    }
    END_TEST(6, 0, 0, 0, 0, 0, 0);
}

/* MPI_Mprobe takes the message; the MPI_Mrecv of a later one may come first. */
static void test_mprobe(void)
{
    begin_test();
    send(0, 1, 5, 10, 11);
    send(0, 1, 5, 12, 13);
    item(1, 0, &world[1], &call_mprobe, in(TRC_SIG_START, 0, 5), 20, 25, 0);
    item(1, 0, &world[1], &call_mprobe, in(TRC_SIG_START, 0, 5), 30, 35, 1);
    item(1, 0, &world[1], &call_mrecv, (struct trc_sig){0}, 40, 45, UINT64_MAX);
    done_recv(1, 1, 0, 5, 40, 45);
    item(1, 0, &world[1], &call_mrecv, (struct trc_sig){0}, 50, 55, UINT64_MAX);
    done_recv(1, 0, 0, 5, 50, 55);
    PAIR(0, 10, 20);
    PAIR(1, 12, 30);
    CHECK(got[0].recv_wait_begin_ns == 50 && got[0].recv_wait_call == &call_mrecv, "completed by MPI_Mrecv");
    CHECK(got[0].recv_call == &call_mprobe, "posted by MPI_Mprobe");
    END_TEST(2, 0, 0, 0, 0, 0, 0);
}

/* Local and remote group count apart, but signatures hold world ranks: the channel is the same from both sides. */
static void test_intercomm(void)
{
    begin_test();
    static const int32_t left[] = {0, 1, 2, 3, 4}, right[] = {2, 3, 4, 0, 1};
    struct trc_comm a = {
        .def = {.identity = 99, .rank = 0, .size = 2, .remote_size = 3, .flags = TRC_COMM_INTER, .members = 5},
        .members = left};
    struct trc_comm b = {
        .def = {.identity = 99, .rank = 0, .size = 3, .remote_size = 2, .flags = TRC_COMM_INTER, .members = 5},
        .members = right};
    item(0, 0, &a, &call_send, out(0, 2, 5), 10, 20, 0);
    item(2, 0, &b, &call_recv, in(0, 0, 5), 15, 25, 0);
    PAIR(0, 10, 15);
    /* A broadcast from rank 0: the other rank of its group is a bystander, the remote group names the root. */
    static const struct trc_call bcast = {"MPI_Bcast", TRC_OP_BCAST};
    static const int32_t root[5] = {TRC_PEER_ROOT, TRC_PEER_NULL, 0, 0, 0};
    for (int r = 0; r < 5; r++) {
        struct trc_comm *comm = r < 2 ? &a : &b;
        comm->def.rank = r < 2 ? r : r - 2;
        item((size_t)r, 0, comm, &bcast, (struct trc_sig){.flags = TRC_SIG_COLL, .peer = root[r]}, 100 - r, 200, 0);
    }
    CHECK(instances == 1 && instance[0].arrivals == 5 && instance[0].root == 0, "root %lld",
          (long long)instance[0].root);
    CHECK(!instance[0].mismatched && arrival[0][4].index == 0 && arrival[0][3].comm_rank == -1, "arrivals");
    struct ana_wait_span span[5];
    size_t n = ana_waits_of_instance(&instance[0], span);
    CHECK(n == 3, "%zu wait for the root", n);
    /* Between worlds: the partner is none of ours. */
    b.def.flags |= TRC_COMM_FOREIGN;
    item(2, 0, &b, &call_recv, in(0, TRC_PEER_UNKNOWN, 5), 300, 310, 0);
    item(2, 0, &b, &call_irecv, in(TRC_SIG_START, ANY, 5), 320, 330, 0);
    item(2, 0, &b, &call_irecv, in(TRC_SIG_SUB | TRC_SIG_COMPLETE, TRC_PEER_UNKNOWN, 5), 340, 350, 0);
    END_TEST(1, 0, 0, 2, 0, 0, 0);
}

static void test_worlds(void)
{
    begin_test();
    struct ana_match_rank rank = {1, 0, false, true, false, NULL, 0};
    CHECK(ana_match_set_rank(match, 4, &rank), "spawned");
    rank.rank = 1;
    CHECK(ana_match_set_rank(match, 5, &rank), "spawned");
    struct trc_comm other = {.def = {.identity = 500, .size = 2, .flags = TRC_COMM_WORLD}};
    item(4, 0, &other, &call_send, out(0, 1, 5), 10, 20, 0);
    item(5, 0, &other, &call_recv, in(0, 0, 5), 15, 25, 0);
    PAIR(0, 10, 15);
    CHECK(got[0].source == 4 && got[0].destination == 5, "ranks of their own world");
    END_TEST(1, 0, 0, 0, 0, 0, 0);
}

static void test_threads(void)
{
    begin_test();
    /* Two threads send on one channel; the one that began first ends last. */
    item(0, 1, &world[0], &call_send, out(0, 1, 5), 20, 30, 0);
    item(0, 0, &world[0], &call_send, out(0, 1, 5), 10, 40, 0);
    recv(1, 0, 5, 50, 60);
    recv(1, 0, 5, 70, 80);
    PAIR(0, 10, 50);
    PAIR(1, 20, 70);
    /* A receive posted in one thread, completed in another: request thread and number say which. */
    item(1, 2, &world[1], &call_irecv, in(TRC_SIG_START, 0, 5), 100, 101, 0);
    item(1, 3, &world[1], &call_irecv, in(TRC_SIG_START, 0, 6), 100, 101, 0);
    send(0, 1, 6, 110, 111);
    struct trc_sig sig = in(TRC_SIG_SUB | TRC_SIG_COMPLETE, 0, 6);
    struct ana_use use = {.call = &call_irecv, .comm = &world[1]};
    struct ana_event event = {.index = 1,
                              .thread = 0,
                              .kind = TRC_RECORD_EVENT,
                              .begin_ns = 120,
                              .end_ns = 130,
                              .sig = &sig,
                              .use = &use,
                              .request_thread = 3,
                              .request = 0};
    ana_match_event(match, &event);
    PAIR(2, 110, 100);
    END_TEST(3, 0, 1, 0, 0, 0, 0);
}

/* The completion does not know its request: it takes the oldest that fits. */
static void test_unknown_request(void)
{
    begin_test();
    send(0, 1, 5, 10, 11);
    send(0, 1, 5, 12, 13);
    irecv(1, 0, 5, 20);
    uint64_t b = irecv(1, 0, 5, 30);
    done_recv(1, UINT64_MAX, 0, 5, 40, 50);
    done_recv(1, b, 0, 5, 60, 70);
    PAIR(0, 10, 20);
    PAIR(1, 12, 30);
    send(2, 1, 7, 110, 111);
    uint64_t c = irecv(1, ANY, 7, 120);
    done_recv(1, UINT64_MAX, 2, 7, 140, 150);
    PAIR(2, 110, 120);
    done_recv(1, c, 2, 7, 160, 170); /* a request that turns up later counts nothing twice */
    END_TEST(3, 0, 0, 0, 0, 0, 0);
}

int main(void)
{
    test_blocking();
    test_unmatched();
    test_nonblocking();
    test_waitany_order();
    test_wildcards();
    test_cancelled();
    test_persistent();
    test_mprobe();
    test_intercomm();
    test_worlds();
    test_threads();
    test_unknown_request();
    return check_result();
}
