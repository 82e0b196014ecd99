/* Matching: one test a rule, with events made by hand. */
#include "trace/match.h"
#include "trace/waits.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define CHECK(cond, ...)                                                                                               \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            failures++;                                                                                                \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #cond);                                                          \
            printf(__VA_ARGS__);                                                                                       \
            printf("\n");                                                                                              \
        }                                                                                                              \
    } while (0)

/* ---- the job under test ---------------------------------------------------------------------------------------- */

enum { RANKS = 6, ANY = TRC_PEER_ANY };
static const struct trc_call call_send = {"MPI_Send", TRC_OP_SEND}, call_ssend = {"MPI_Ssend", TRC_OP_SSEND},
                             call_recv = {"MPI_Recv", TRC_OP_RECV}, call_isend = {"MPI_Isend", TRC_OP_ISEND},
                             call_irecv = {"MPI_Irecv", TRC_OP_IRECV}, call_wait = {"MPI_Waitany", TRC_OP_WAIT},
                             call_start = {"MPI_Startall", TRC_OP_START}, call_mprobe = {"MPI_Mprobe", TRC_OP_MPROBE},
                             call_mrecv = {"MPI_Mrecv", TRC_OP_MRECV}, call_free = {"MPI_Request_free", TRC_OP_REQUEST},
                             call_sendrecv = {"MPI_Sendrecv", TRC_OP_SENDRECV};

static struct trc_comm world[RANKS], twin[RANKS]; /* two communicators of all ranks */
static struct ana_match *match;
static struct ana_message got[1000];
static size_t messages;
static struct ana_instance instance[100];
static struct ana_arrival arrival[100][RANKS];
static size_t instances;
static uint64_t starts[RANKS][4]; /* next start number by rank and thread */

static void on_message(void *user, const struct ana_message *message)
{
    (void)user;
    if (messages < 1000)
        got[messages++] = *message;
}

static void on_instance(void *user, const struct ana_instance *in)
{
    (void)user;
    if (instances == 100)
        return;
    memcpy(arrival[instances], in->arrival, in->arrivals * sizeof *in->arrival);
    instance[instances] = *in;
    instance[instances].arrival = arrival[instances];
    instances++;
}

static void set_rank(size_t index, bool recycled, bool finalized)
{
    struct ana_match_rank rank = {0, (int32_t)index, recycled, finalized};
    CHECK(ana_match_set_rank(match, index, &rank), "rank %zu", index);
}

static void begin_test(void)
{
    match = ana_match_new((struct ana_match_sink){NULL, on_message, on_instance});
    messages = instances = 0;
    memset(starts, 0, sizeof starts);
    for (int r = 0; r < RANKS; r++) {
        world[r] =
            (struct trc_comm){.id = 1, .def = {.identity = 77, .rank = r, .size = RANKS, .flags = TRC_COMM_WORLD}};
        twin[r] = world[r];
        twin[r].def.identity = 78;
        set_rank((size_t)r, false, true);
    }
}

/* Flushes, and checks the counts: {messages, unmatched sends, unmatched receives, unknown, uncertain, cancelled,
 * violations}. */
static void end_test(int line, const uint64_t expect[7])
{
    ana_match_flush(match);
    struct ana_match_counts c = ana_match_counts(match);
    const uint64_t is[7] = {c.messages,  c.unmatched_sends, c.unmatched_receives, c.unknown_peers,
                            c.uncertain, c.cancelled,       c.clock_violations};
    static const char *const name[7] = {"messages",  "sends",     "receives",  "unknown",
                                        "uncertain", "cancelled", "violations"};
    for (int i = 0; i < 7; i++)
        CHECK(is[i] == expect[i], "test at line %d: %s %llu, not %llu", line, name[i], (unsigned long long)is[i],
              (unsigned long long)expect[i]);
    CHECK(messages == c.messages, "reported %zu", messages);
    ana_match_free(match);
}
#define END_TEST(...) end_test(__LINE__, (const uint64_t[7]){__VA_ARGS__})

/* One item; `number`: of the request it starts or completes. */
static void item(size_t rank, uint32_t thread, const struct trc_comm *comm, const struct trc_call *call,
                 struct trc_sig sig, int64_t begin, int64_t end, uint64_t number)
{
    struct ana_event event = {.index = rank,
                              .thread = thread,
                              .kind = TRC_RECORD_EVENT,
                              .begin_ns = begin,
                              .end_ns = end,
                              .count = 1,
                              .sig = &sig,
                              .call = call,
                              .comm = comm,
                              .request_thread = thread,
                              .request = number};
    ana_match_event(match, &event);
}

static struct trc_sig out(uint32_t flags, int32_t peer, int32_t tag)
{
    return (struct trc_sig){
        .flags = flags | TRC_SIG_P2P_OUT, .peer = peer, .tag = tag, .source = TRC_PEER_NONE, .sent = 100};
}
static struct trc_sig in(uint32_t flags, int32_t source, int32_t tag)
{
    return (struct trc_sig){
        .flags = flags | TRC_SIG_P2P_IN, .peer = TRC_PEER_NONE, .source = source, .rtag = tag, .received = 100};
}

static void send(size_t rank, int32_t to, int32_t tag, int64_t begin, int64_t end)
{
    item(rank, 0, &world[rank], &call_send, out(0, to, tag), begin, end, 0);
}
static void recv(size_t rank, int32_t from, int32_t tag, int64_t begin, int64_t end)
{
    item(rank, 0, &world[rank], &call_recv, in(0, from, tag), begin, end, 0);
}
static uint64_t isend(size_t rank, int32_t to, int32_t tag, int64_t at)
{
    item(rank, 0, &world[rank], &call_isend, out(TRC_SIG_START, to, tag), at, at + 1, starts[rank][0]);
    return starts[rank][0]++;
}
static uint64_t irecv(size_t rank, int32_t from, int32_t tag, int64_t at)
{
    item(rank, 0, &world[rank], &call_irecv, in(TRC_SIG_START, from, tag), at, at + 1, starts[rank][0]);
    return starts[rank][0]++;
}
static void wait_call(size_t rank, int64_t begin, int64_t end)
{
    item(rank, 0, NULL, &call_wait, (struct trc_sig){0}, begin, end, UINT64_MAX);
}
static void done_send(size_t rank, uint64_t number, int64_t begin, int64_t end)
{
    struct trc_sig sig = {.flags = TRC_SIG_SUB | TRC_SIG_COMPLETE};
    item(rank, 0, &world[rank], &call_isend, sig, begin, end, number);
}
static void done_recv(size_t rank, uint64_t number, int32_t from, int32_t tag, int64_t begin, int64_t end)
{
    struct trc_sig sig = in(TRC_SIG_SUB | TRC_SIG_COMPLETE, from, tag);
    item(rank, 0, &world[rank], &call_irecv, sig, begin, end, number);
}
static void cancelled(size_t rank, uint64_t number, int64_t begin, int64_t end)
{
    struct trc_sig sig = {.flags = TRC_SIG_SUB | TRC_SIG_COMPLETE | TRC_SIG_CANCELLED};
    item(rank, 0, &world[rank], &call_irecv, sig, begin, end, number);
}

/* Message i left at `sent` and was posted at `posted`. */
static void check_pair(int line, size_t i, int64_t sent, int64_t posted)
{
    CHECK(i < messages, "line %d: only %zu messages", line, messages);
    if (i < messages)
        CHECK(got[i].send_begin_ns == sent && got[i].recv_begin_ns == posted, "line %d: message %zu: %lld with %lld",
              line, i, (long long)got[i].send_begin_ns, (long long)got[i].recv_begin_ns);
}
#define PAIR(i, sent, posted) check_pair(__LINE__, i, sent, posted)

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
    send(0, TRC_PEER_UNKNOWN, 5, 80, 90); /* of another world */
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
    /* The wildcard took one from somewhere else: the specific one is free as soon as that is known. */
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
    /* Cancelled: leaves, and lets go what it held back. */
    send(4, 1, 6, 400, 401);
    b = irecv(1, 4, 6, 410);
    done_recv(1, b, 4, 6, 420, 430);
    CHECK(messages == 7, "held back by two");
    cancelled(1, a, 440, 450);
    CHECK(messages == 7, "by one");
    cancelled(1, c, 440, 450);
    PAIR(7, 400, 410);
    /* Never resolved: what it may have taken cannot be told. */
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
    struct ana_match_rank rank = {1, 0, false, true};
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
    struct ana_event event = {.index = 1,
                              .thread = 0,
                              .kind = TRC_RECORD_EVENT,
                              .begin_ns = 120,
                              .end_ns = 130,
                              .sig = &sig,
                              .call = &call_irecv,
                              .comm = &world[1],
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
    done_recv(1, c, 2, 7, 160, 170); /* and if the request turns up later, nothing is counted twice */
    END_TEST(3, 0, 0, 0, 0, 0, 0);
}

/* ---- missing events -------------------------------------------------------------------------------------------- */

static void test_recycled(void)
{
    /* The first two receives of rank 1 are gone; the last three pair with the last three sends. */
    begin_test();
    set_rank(1, true, true);
    for (int64_t i = 0; i < 5; i++)
        send(0, 1, 5, 100 * i, 100 * i + 10);
    for (int64_t i = 2; i < 5; i++)
        recv(1, 0, 5, 100 * i + 20, 100 * i + 30);
    CHECK(messages == 0, "not before the end");
    send(2, 3, 5, 10, 20);
    recv(3, 2, 5, 15, 25);
    CHECK(messages == 1, "other ranks are not concerned");
    ana_match_flush(match);
    for (size_t i = 0; i < 3; i++)
        PAIR(i + 1, 100 * (int64_t)i + 200, 100 * (int64_t)i + 220);
    END_TEST(4, 0, 0, 0, 2, 0, 0);

    /* One of the two was killed: nothing says that the last ones belong together. */
    begin_test();
    set_rank(1, true, true);
    set_rank(0, false, false);
    for (int64_t i = 0; i < 5; i++)
        send(0, 1, 5, 100 * i, 100 * i + 10);
    for (int64_t i = 2; i < 5; i++)
        recv(1, 0, 5, 100 * i + 20, 100 * i + 30);
    END_TEST(0, 0, 0, 0, 8, 0, 0);

    /* Paired from the end they would arrive before they leave: more is missing than it seems. */
    begin_test();
    set_rank(1, true, true);
    for (int64_t i = 0; i < 5; i++)
        send(0, 1, 5, 100 * i, 100 * i + 10);
    for (int64_t i = 0; i < 3; i++)
        recv(1, 0, 5, 100 * i + 20, 100 * i + 30);
    END_TEST(0, 0, 0, 0, 8, 0, 0);

    /* Starts are gone, their completions are there. */
    begin_test();
    set_rank(1, true, true);
    send(0, 1, 5, 10, 20);
    done_recv(1, 1234, 0, 5, 30, 40);
    ana_match_flush(match);
    CHECK(messages == 1 && got[0].recv_wait_begin_ns == 30 && got[0].recv_complete_ns == 40, "completed by the wait");
    END_TEST(1, 0, 0, 0, 0, 0, 0);
}

static void test_lost(void)
{
    begin_test();
    send(0, 1, 5, 10, 20);
    send(0, 1, 5, 30, 40);
    recv(1, 0, 5, 15, 25);
    PAIR(0, 10, 15);
    uint64_t open = irecv(1, 0, 5, 26);
    struct ana_event lost = {.index = 1, .kind = TRC_RECORD_LOST, .count = 3, .begin_ns = 50, .end_ns = 50};
    ana_match_event(match, &lost);
    done_recv(1, open, 0, 5, 60, 70); /* posted before the loss: its place is not known */
    send(0, 1, 5, 100, 110);
    recv(1, 0, 5, 120, 130);
    CHECK(messages == 1, "wait for the end");
    ana_match_flush(match);
    PAIR(1, 100, 120);
    END_TEST(2, 0, 0, 0, 2, 0, 0);
    /* A rank that comes late has perhaps missed some. */
    begin_test();
    send(0, 1, 5, 10, 20);
    struct ana_match_rank rank = {0, RANKS, false, true};
    CHECK(ana_match_set_rank(match, RANKS, &rank), "late");
    send(0, RANKS, 5, 30, 40);
    struct trc_sig sig = in(0, 0, 5);
    item(RANKS, 0, &world[0], &call_recv, sig, 50, 60, 0);
    CHECK(messages == 0, "at the end");
    END_TEST(1, 1, 0, 0, 0, 0, 0);
    /* Sources are not told at all: the rank's messages are uncertain, nobody else's. */
    begin_test();
    send(0, 1, 5, 10, 20);
    recv(1, TRC_PEER_UNKNOWN, TRC_TAG_ANY, 30, 40);
    send(2, 3, 5, 50, 60);
    recv(3, 2, 5, 70, 80);
    set_rank(1, false, false);
    END_TEST(1, 0, 0, 0, 2, 0, 0);
}

static void test_bounds(void)
{
    /* Many channels come and go; a channel that outgrows its room is paired from the end. */
    begin_test();
    for (int64_t i = 0; i < 300000; i++) {
        send(0, 1, (int32_t)i, 10 * i, 10 * i + 1);
        recv(1, 0, (int32_t)i, 10 * i + 2, 10 * i + 3);
    }
    messages = 0;
    struct ana_match_counts c = ana_match_counts(match);
    CHECK(c.messages == 300000 && c.unmatched_sends == 0, "%llu", (unsigned long long)c.messages);
    const int64_t base = 10000000, n = ANA_MATCH_KEPT + 1000;
    for (int64_t i = 0; i < n; i++)
        send(2, 3, 1, base + i, base + i + 1);
    for (int64_t i = 0; i < n; i++)
        recv(3, 2, 1, base + n + i, base + n + i + 1);
    ana_match_flush(match);
    c = ana_match_counts(match);
    CHECK(c.messages == 300000 + ANA_MATCH_KEPT && c.uncertain == 2000, "%llu messages, %llu uncertain",
          (unsigned long long)c.messages, (unsigned long long)c.uncertain);
    PAIR(0, base + 1000, base + n + 1000);
    /* Nobody completes these sends: the oldest are given up with an unknown completion. */
    ana_match_free(match);
    begin_test();
    for (int64_t i = 0; i < n; i++) {
        isend(0, 1, 1, 10 * i);
        recv(1, 0, 1, 10 * i + 2, 10 * i + 3);
    }
    CHECK(ana_match_counts(match).messages == 1000, "delivered");
    for (int64_t i = 0; i < n; i++) /* and then they do, even those */
        done_send(0, (uint64_t)i, 10 * n + i, 10 * n + i + 1);
    CHECK(ana_match_counts(match).messages == (uint64_t)n, "all");
    ana_match_free(match);
}

/* ---- collectives ----------------------------------------------------------------------------------------------- */

static void arrive(size_t rank, const struct trc_call *call, uint32_t flags, int32_t root, uint64_t sequence,
                   int64_t begin, int64_t end)
{
    struct trc_sig sig = {.flags = TRC_SIG_COLL | flags, .peer = root};
    struct ana_event event = {.index = rank,
                              .kind = TRC_RECORD_EVENT,
                              .begin_ns = begin,
                              .end_ns = end,
                              .sig = &sig,
                              .call = call,
                              .comm = &world[rank],
                              .sequence = sequence,
                              .request = UINT64_MAX};
    ana_match_event(match, &event);
}

static void test_collectives(void)
{
    static const struct trc_call barrier = {"MPI_Barrier", TRC_OP_BARRIER}, bcast = {"MPI_Bcast", TRC_OP_BCAST},
                                 bcast_c = {"MPI_Bcast_c", TRC_OP_BCAST}, other_bcast = {"MPI_Bcast", TRC_OP_BCAST},
                                 reduce = {"MPI_Reduce", TRC_OP_REDUCE}, iall = {"MPI_Iallreduce", TRC_OP_ALLREDUCE};
    begin_test();
    for (size_t r = 0; r < RANKS; r++)
        arrive(r, &barrier, 0, TRC_PEER_NONE, 0, 100 - (int64_t)r, 200 + (int64_t)r);
    CHECK(instances == 1 && instance[0].arrivals == RANKS && !instance[0].mismatched && instance[0].root == -1,
          "barrier");
    CHECK(instance[0].call == &barrier && instance[0].comm_identity == 77 && instance[0].sequence == 0, "fields");
    for (size_t i = 0; i < RANKS; i++)
        CHECK(arrival[0][i].index == RANKS - 1 - i && arrival[0][i].begin_ns == 95 + (int64_t)i &&
                  arrival[0][i].comm_rank == (int32_t)(RANKS - 1 - i),
              "sorted by begin: %zu", i);
    /* Several under way at once, in any order of sequence; large counts and other schemas are the same function. */
    for (uint64_t s = 3; s > 0; s--)
        for (size_t r = 0; r < RANKS; r++)
            arrive(r, r == 1 ? &bcast_c : r == 2 ? &other_bcast : &bcast, 0, 2, s, 300, 310);
    CHECK(instances == 4 && !instance[3].mismatched && instance[3].root == 2 && instance[3].sequence == 1, "bcasts");
    /* Different functions, or different roots, under one number. */
    for (size_t r = 0; r < RANKS; r++)
        arrive(r, r == 4 ? &reduce : &bcast, 0, 2, 4, 400, 410);
    for (size_t r = 0; r < RANKS; r++)
        arrive(r, &bcast, 0, r == 3, 5, 500, 510);
    CHECK(instances == 6 && instance[4].mismatched && instance[5].mismatched, "mismatched");
    for (size_t r = 0; r < RANKS; r++)
        arrive(r, &iall, TRC_SIG_START, TRC_PEER_NONE, 6, 600, 610);
    CHECK(instances == 7 && instance[6].nonblocking, "nonblocking");
    /* Missing ranks. */
    for (size_t r = 0; r < RANKS; r++)
        if (r != 1 && r != 4)
            arrive(r, &barrier, 0, TRC_PEER_NONE, 7, 700, 710);
    arrive(0, &bcast, 0, 0, 8, 720, 721);
    CHECK(ana_match_open_instances(match) == 2, "two open");
    struct ana_instance open;
    size_t missing[RANKS] = {0};
    CHECK(ana_match_open_instance(match, 0, &open) && open.sequence == 7 && open.arrivals == 4, "the older");
    CHECK(ana_match_missing(match, 0, missing, RANKS) == 2 && missing[0] == 1 && missing[1] == 4, "who");
    CHECK(ana_match_open_instance(match, 1, &open) && open.sequence == 8 && open.call == &bcast, "the newer");
    CHECK(ana_match_missing(match, 1, missing, 1) == 5 && missing[0] == 1, "the first");
    CHECK(!ana_match_open_instance(match, 2, &open) && ana_match_missing(match, 2, missing, 1) == 0, "no third");
    struct ana_match_counts c = ana_match_counts(match);
    CHECK(c.instances == 7 && c.mismatched == 2 && c.incomplete == 2, "counts");
    arrive(1, &barrier, 0, TRC_PEER_NONE, 7, 730, 740);
    arrive(4, &barrier, 0, TRC_PEER_NONE, 7, 750, 760);
    CHECK(instances == 8 && ana_match_open_instances(match) == 1, "complete at last");
    END_TEST(0, 0, 0, 0, 0, 0, 0);

    /* Alone on a communicator, and more open ones than are kept. */
    begin_test();
    world[0].def.size = 1;
    arrive(0, &barrier, 0, TRC_PEER_NONE, 0, 10, 20);
    CHECK(instances == 1 && instance[0].arrivals == 1, "alone");
    world[0].def.size = RANKS;
    for (uint64_t s = 0; s < ANA_MATCH_INSTANCES + 10; s++)
        arrive(0, &barrier, 0, TRC_PEER_NONE, s, 10 * (int64_t)s, 10 * (int64_t)s + 5);
    CHECK(ana_match_open_instances(match) == ANA_MATCH_INSTANCES, "bounded");
    CHECK(ana_match_open_instance(match, 0, &open) && open.sequence == 10, "the oldest are given up");
    CHECK(ana_match_counts(match).incomplete == ANA_MATCH_INSTANCES + 10, "and counted");
    world[1].def.size = 1000000000; /* a hostile file: no memory for what is only claimed */
    world[1].def.identity = 5;
    arrive(1, &barrier, 0, TRC_PEER_NONE, 0, 10, 20);
    CHECK(ana_match_missing(match, ANA_MATCH_INSTANCES - 1, missing, 2) == 999999999, "missing");
    ana_match_free(match);
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
    test_recycled();
    test_lost();
    test_bounds();
    test_collectives();
    return failures ? 1 : 0;
}
