/* Matching where events are missing, the bounds of its memory, and collectives. */
#include "tests/support/match_events.h"

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
    /* Records of a thread that never got a chunk: no LOST item anywhere, but the head counts them. */
    begin_test();
    struct ana_match_rank lossy = {0, 1, false, true, true, NULL, 0};
    CHECK(ana_match_set_rank(match, 1, &lossy), "lossy");
    send(0, 1, 5, 10, 20);
    recv(1, 0, 5, 15, 25);
    send(0, 1, 5, 30, 40);
    send(0, 2, 5, 50, 60);
    END_TEST(1, 1, 0, 0, 1, 0, 0);
    /* A rank that comes late has perhaps missed some. */
    begin_test();
    send(0, 1, 5, 10, 20);
    struct ana_match_rank rank = {0, RANKS, false, true, false, NULL, 0};
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
    for (int64_t i = 0; i < n; i++) /* completes all sends, delivered ones included */
        done_send(0, (uint64_t)i, 10 * n + i, 10 * n + i + 1);
    CHECK(ana_match_counts(match).messages == (uint64_t)n, "all");
    ana_match_free(match);
}

/* ---- collectives ----------------------------------------------------------------------------------------------- */

static void arrive(size_t rank, const struct trc_call *call, uint32_t flags, int32_t root, uint64_t sequence,
                   int64_t begin, int64_t end)
{
    struct trc_sig sig = {.flags = TRC_SIG_COLL | flags, .peer = root};
    struct ana_use use = {.call = call, .comm = &world[rank]};
    struct ana_event event = {.index = (uint32_t)rank,
                              .kind = TRC_RECORD_EVENT,
                              .begin_ns = begin,
                              .end_ns = end,
                              .sig = &sig,
                              .use = &use,
                              .sequence = sequence,
                              .request = UINT64_MAX};
    ana_match_event(match, &event);
}

static const struct trc_call barrier = {"MPI_Barrier", TRC_OP_BARRIER}, bcast = {"MPI_Bcast", TRC_OP_BCAST},
                             bcast_c = {"MPI_Bcast_c", TRC_OP_BCAST}, other_bcast = {"MPI_Bcast", TRC_OP_BCAST},
                             reduce = {"MPI_Reduce", TRC_OP_REDUCE}, iall = {"MPI_Iallreduce", TRC_OP_ALLREDUCE};

static void test_collectives(void)
{
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
    CHECK(ana_match_open_instance(match, 0, &open) && open.sequence == 7 && open.arrivals == 4, "the older");
    CHECK(ana_match_open_instance(match, 1, &open) && open.sequence == 8 && open.call == &bcast, "the newer");
    CHECK(!ana_match_open_instance(match, 2, &open), "no third");
    struct ana_match_counts c = ana_match_counts(match);
    CHECK(c.instances == 7 && c.mismatched == 2 && c.incomplete == 2, "counts");
    arrive(1, &barrier, 0, TRC_PEER_NONE, 7, 730, 740);
    arrive(4, &barrier, 0, TRC_PEER_NONE, 7, 750, 760);
    CHECK(instances == 8 && ana_match_open_instances(match) == 1, "complete at last");
    END_TEST(0, 0, 0, 0, 0, 0, 0);
}

/* Alone on a communicator, and more open ones than are kept. */
static void test_kept_collectives(void)
{
    struct ana_instance open;
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
    world[1].def.size = 1000000000; /* a hostile file: no memory for claimed sizes */
    world[1].def.identity = 5;
    arrive(1, &barrier, 0, TRC_PEER_NONE, 0, 10, 20);
    CHECK(ana_match_open_instances(match) == ANA_MATCH_INSTANCES, "open ones of any size");
    ana_match_free(match);
}

/* Ends, completions and collectives that began until a time and wait for later events. */
static void test_waits(void)
{
    begin_test();
    CHECK(!ana_match_waits(match, INT64_MAX), "nothing is open");
    send(0, 1, 5, 10, 20);
    CHECK(ana_match_waits(match, 10) && !ana_match_waits(match, 9), "a send");
    recv(1, 0, 5, 30, 40);
    uint64_t first = irecv(2, 0, 6, 50);
    CHECK(ana_match_waits(match, 50) && !ana_match_waits(match, 49), "a posted receive");
    send(0, 2, 6, 55, 56);
    done_recv(2, first, 0, 6, 60, 61);
    first = irecv(2, ANY, 7, 70);
    CHECK(ana_match_waits(match, 70) && !ana_match_waits(match, 69), "a receive of any source");
    send(0, 2, 7, 71, 72);
    done_recv(2, first, 0, 7, 73, 74);
    first = isend(0, 1, 8, 80);
    recv(1, 0, 8, 81, 82);
    CHECK(ana_match_waits(match, 90), "a send that was received, but is not complete");
    done_send(0, first, 83, 84);
    CHECK(!ana_match_waits(match, INT64_MAX), "all of them are complete");
    for (size_t r = 1; r < RANKS; r++)
        arrive(r, &barrier, 0, TRC_PEER_NONE, 0, 100 + (int64_t)r, 200);
    CHECK(ana_match_waits(match, 101) && !ana_match_waits(match, 100), "a collective");
    arrive(0, &barrier, 0, TRC_PEER_NONE, 0, 100, 200);
    CHECK(!ana_match_waits(match, INT64_MAX), "all have come to it");
    send(0, 1, 5, 300, 310);
    arrive(0, &barrier, 0, TRC_PEER_NONE, 1, 320, 330);
    ana_match_stop(match);
    struct ana_match_counts c = ana_match_counts(match);
    CHECK(c.messages == 4 && c.instances == 1 && c.unmatched_sends + c.incomplete == 0, "open ends do not count");
    ana_match_free(match);
}

int main(void)
{
    test_recycled();
    test_waits();
    test_lost();
    test_bounds();
    test_collectives();
    test_kept_collectives();
    return check_result();
}
