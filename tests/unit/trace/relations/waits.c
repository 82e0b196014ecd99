/* Wait states: the patterns, one by one, and an injected delay through the whole matching. */
#include "tests/support/message_waits.h"
#include "tests/support/match_events.h"
#include "trace/metric/metric.h"
#include <stdio.h>

static const struct trc_call barrier = {"MPI_Barrier", TRC_OP_BARRIER}, bcast = {"MPI_Bcast", TRC_OP_BCAST},
                             reduce = {"MPI_Reduce", TRC_OP_REDUCE}, scan = {"MPI_Scan", TRC_OP_SCAN},
                             neighbor = {"MPI_Neighbor_alltoall", TRC_OP_NEIGHBOR};

static void check_span(int line, const struct ana_wait_span *span, enum ana_wait_kind kind, size_t waiter,
                       size_t culprit, int64_t begin, int64_t end)
{
    CHECK(span->kind == kind && span->waiter == waiter && span->culprit == culprit && span->begin_ns == begin &&
              span->end_ns == end,
          "line %d: kind %d, %zu for %zu, %lld to %lld", line, (int)span->kind, span->waiter, span->culprit,
          (long long)span->begin_ns, (long long)span->end_ns);
}
#define SPAN(span, ...) check_span(__LINE__, &(span), __VA_ARGS__)

/* Rank 0 sends to rank 1 by MPI_Send from `sb` to `se`; MPI_Recv from `rb` to `re`. */
static struct ana_message blocking(int64_t sb, int64_t se, int64_t rb, int64_t re)
{
    return (struct ana_message){.source = 0,
                                .destination = 1,
                                .bytes = 100,
                                .send_call = &call_send,
                                .recv_call = &call_recv,
                                .send_wait_call = &call_send,
                                .recv_wait_call = &call_recv,
                                .send_begin_ns = sb,
                                .send_end_ns = se,
                                .send_wait_begin_ns = sb,
                                .send_complete_ns = se,
                                .recv_begin_ns = rb,
                                .recv_wait_begin_ns = rb,
                                .recv_complete_ns = re};
}

static void test_messages(void)
{
    struct ana_wait_span span[2];
    struct ana_message m = blocking(5000, 5100, 1000, 5200);
    CHECK(waits_of_message(&m, span) == 1, "late sender");
    SPAN(span[0], ANA_LATE_SENDER, 1, 0, 1000, 5000);
    CHECK(span[0].call == &call_recv && span[0].came_ns == 5000, "in MPI_Recv");
    m = blocking(1000, 1100, 5000, 5100);
    CHECK(waits_of_message(&m, span) == 0, "an eager send is gone before the receive is posted");
    m = blocking(1000, 5200, 5000, 5100);
    CHECK(waits_of_message(&m, span) == 1, "late receiver");
    SPAN(span[0], ANA_LATE_RECEIVER, 0, 1, 1000, 5000);
    CHECK(span[0].call == &call_send && span[0].came_ns == 5000, "in MPI_Send");
    m = blocking(1000, 4900, 5000, 5100); /* clocks: a synchronous one cannot have ended before */
    m.synchronous = true;
    CHECK(waits_of_message(&m, span) == 1, "never more than the call itself");
    SPAN(span[0], ANA_LATE_RECEIVER, 0, 1, 1000, 4900);
    m = blocking(9000, 9100, 1000, 5200);
    CHECK(waits_of_message(&m, span) == 1, "clock error");
    SPAN(span[0], ANA_LATE_SENDER, 1, 0, 1000, 5200);
    m = blocking(1000, 1010, 1000, 1020);
    CHECK(waits_of_message(&m, span) == 0, "both in time");

    /* Posted early, waited for late: waiting counts from the wait on. */
    m = blocking(5000, 5100, 100, 6000);
    m.recv_wait_begin_ns = 4000;
    m.recv_wait_call = &call_wait;
    CHECK(waits_of_message(&m, span) == 1, "MPI_Irecv, MPI_Wait");
    SPAN(span[0], ANA_LATE_SENDER, 1, 0, 4000, 5000);
    CHECK(span[0].call == &call_wait, "in MPI_Wait");
    m.recv_wait_begin_ns = 5500;
    CHECK(waits_of_message(&m, span) == 0, "the message was there");
    /* A send completed elsewhere: of some size it may have been held up, a small one not. */
    m = blocking(100, 110, 5000, 5100);
    m.send_wait_begin_ns = 2000;
    m.send_complete_ns = 5200;
    CHECK(waits_of_message(&m, span) == 0, "small");
    m.bytes = 1 << 20;
    CHECK(waits_of_message(&m, span) == 1, "large");
    SPAN(span[0], ANA_LATE_RECEIVER, 0, 1, 2000, 5000);
    m.send_complete_ns = m.send_wait_begin_ns = INT64_MIN;
    CHECK(waits_of_message(&m, span) == 0, "never completed");
    m = blocking(1000, 5200, 5000, 5100);
    m.send_call = m.recv_call = &call_sendrecv;
    CHECK(waits_of_message(&m, span) == 0, "MPI_Sendrecv waits for its other half");
}

static struct ana_instance collective(const struct trc_call *call, struct ana_arrival *a, size_t n, int64_t root)
{
    return (struct ana_instance){.call = call, .root = root, .arrivals = n, .arrival = a};
}

static void test_instances(void)
{
    struct ana_wait_span span[4];
    /* Sorted by begin: ranks 2, 0, 3, 1; ranks in the communicator run the other way. */
    struct ana_arrival a[4] = {{2, 100, 450, 1, 0}, {0, 200, 460, 3, 0}, {3, 300, 350, 0, 0}, {1, 400, 470, 2, 0}};
    struct ana_instance in = collective(&barrier, a, 4, -1);
    CHECK(ana_waits_of_instance(&in, span) == 3, "barrier");
    SPAN(span[0], ANA_LATE_IN_COLLECTIVE, 2, 1, 100, 400);
    SPAN(span[1], ANA_LATE_IN_COLLECTIVE, 0, 1, 200, 400);
    SPAN(span[2], ANA_LATE_IN_COLLECTIVE, 3, 1, 300, 350); /* it left before: not more than its own time */
    CHECK(span[0].call == &barrier, "call");
    in = collective(&bcast, a, 4, 3);
    CHECK(ana_waits_of_instance(&in, span) == 2, "late broadcast");
    SPAN(span[0], ANA_LATE_IN_COLLECTIVE, 2, 3, 100, 300);
    SPAN(span[1], ANA_LATE_IN_COLLECTIVE, 0, 3, 200, 300);
    in = collective(&reduce, a, 4, 0);
    CHECK(ana_waits_of_instance(&in, span) == 1, "early reduce");
    SPAN(span[0], ANA_LATE_IN_COLLECTIVE, 0, 1, 200, 400);
    in = collective(&scan, a, 4, -1);
    CHECK(ana_waits_of_instance(&in, span) == 2, "early scan"); /* order 3, 2, 1, 0 */
    SPAN(span[0], ANA_LATE_IN_COLLECTIVE, 2, 3, 100, 300);
    SPAN(span[1], ANA_LATE_IN_COLLECTIVE, 0, 1, 200, 400);
    /* Nobody waits. */
    in = collective(&neighbor, a, 4, -1);
    CHECK(ana_waits_of_instance(&in, span) == 0, "neighbours");
    in = collective(&bcast, a, 4, -1);
    CHECK(ana_waits_of_instance(&in, span) == 0, "root unknown");
    in = collective(&barrier, a, 4, -1);
    in.nonblocking = true;
    CHECK(ana_waits_of_instance(&in, span) == 0, "nonblocking");
    in.nonblocking = false;
    in.mismatched = true;
    CHECK(ana_waits_of_instance(&in, span) == 0, "mismatched");
    in = collective(&barrier, a, 1, -1);
    CHECK(ana_waits_of_instance(&in, span) == 0, "alone");
}

static void test_clip(void)
{
    struct ana_wait_clip *clip = ana_wait_clip_new();
    struct ana_wait_span span = {ANA_LATE_SENDER, 3, 0, 100, 150, &call_wait, 0, 0, 0};
    CHECK(ana_wait_clip(clip, &span) && span.begin_ns == 100 && span.end_ns == 150, "first");
    span = (struct ana_wait_span){ANA_LATE_SENDER, 3, 1, 100, 180, &call_wait, 0, 0, 0};
    CHECK(ana_wait_clip(clip, &span) && span.begin_ns == 150 && span.end_ns == 180, "the rest");
    span = (struct ana_wait_span){ANA_LATE_SENDER, 3, 2, 100, 170, &call_wait, 0, 0, 0};
    CHECK(!ana_wait_clip(clip, &span), "nothing left");
    span = (struct ana_wait_span){ANA_LATE_SENDER, 2, 2, 100, 170, &call_wait, 0, 0, 0};
    CHECK(ana_wait_clip(clip, &span) && span.begin_ns == 100, "another rank");
    span = (struct ana_wait_span){ANA_LATE_SENDER, 3, 2, 200, 210, &call_wait, 0, 0, 0};
    CHECK(ana_wait_clip(clip, &span) && span.begin_ns == 200, "another call");
    span = (struct ana_wait_span){ANA_LATE_SENDER, 3, 2, 100, 190, &call_wait, 0, 0, 0};
    CHECK(ana_wait_clip(clip, &span) && span.begin_ns == 180, "the first call is remembered");
    ana_wait_clip_free(clip);
    ana_wait_clip_free(NULL);
}

/* ---- injected delays, from events to sums ---------------------------------------------------------------------- */

static int64_t lost[RANKS][RANKS]; /* waiter, culprit */

static void sum_up(void)
{
    struct ana_wait_clip *clip = ana_wait_clip_new();
    memset(lost, 0, sizeof lost);
    for (size_t i = 0; i < messages; i++) {
        struct ana_wait_span span[2];
        size_t n = waits_of_message(&got[i], span);
        for (size_t s = 0; s < n; s++)
            if (ana_wait_clip(clip, &span[s]))
                lost[span[s].waiter][span[s].culprit] += span[s].end_ns - span[s].begin_ns;
    }
    for (size_t i = 0; i < instances; i++) {
        struct ana_wait_span span[RANKS];
        size_t n = ana_waits_of_instance(&instance[i], span);
        for (size_t s = 0; s < n; s++)
            lost[span[s].waiter][span[s].culprit] += span[s].end_ns - span[s].begin_ns;
    }
    ana_wait_clip_free(clip);
}

static void test_injected(void)
{
    const int64_t ms = 1000000;
    /* Rank 0 computes for 5 ms before it sends; rank 1 waits in MPI_Recv.  The latency is nobody's fault. */
    begin_test();
    for (int64_t i = 0; i < 10; i++) {
        int64_t t = i * 20 * ms;
        send(0, 1, 5, t + 5 * ms, t + 5 * ms + 300);
        recv(1, 0, 5, t, t + 5 * ms + 700);
    }
    sum_up();
    CHECK(lost[1][0] == 50 * ms && lost[0][1] == 0, "ten times 5 ms: %lld", (long long)lost[1][0]);
    END_TEST(10, 0, 0, 0, 0, 0, 0);

    /* Rank 2 waits in one MPI_Waitall for ranks 0 (2 ms late) and 1 (5 ms late): 5 ms in all, 2 for the one and then 3
     * for the other. */
    begin_test();
    uint64_t a = irecv(2, 0, 5, 10), b = irecv(2, 1, 5, 20), c = isend(2, 3, 5, 30);
    send(0, 2, 5, 100 + 2 * ms, 200 + 2 * ms);
    send(1, 2, 5, 100 + 5 * ms, 200 + 5 * ms);
    wait_call(2, 100, 500 + 5 * ms);
    done_recv(2, a, 0, 5, 100, 500 + 5 * ms);
    done_recv(2, b, 1, 5, 100, 500 + 5 * ms);
    done_send(2, c, 100, 500 + 5 * ms);
    recv(3, 2, 5, 4 * ms, 5 * ms);
    sum_up();
    CHECK(lost[2][0] == 2 * ms && lost[2][1] == 3 * ms && lost[2][3] == 0, "%lld, %lld, %lld", (long long)lost[2][0],
          (long long)lost[2][1], (long long)lost[2][3]);
    END_TEST(3, 0, 0, 0, 0, 0, 0);

    /* A synchronous send to a rank that posts its receive 5 ms later. */
    begin_test();
    item(0, 0, &world[0], &call_ssend, out(TRC_SIG_SYNC, 1, 5), 1000, 1500 + 5 * ms, 0);
    recv(1, 0, 5, 1000 + 5 * ms, 1600 + 5 * ms);
    sum_up();
    CHECK(lost[0][1] == 5 * ms && lost[1][0] == 0, "late receiver: %lld", (long long)lost[0][1]);
    END_TEST(1, 0, 0, 0, 0, 0, 0);

    /* Rank 3 comes 5 ms late to a barrier. */
    begin_test();
    for (size_t r = 0; r < RANKS; r++) {
        struct trc_sig sig = {.flags = TRC_SIG_COLL, .peer = TRC_PEER_NONE};
        item(r, 0, &world[r], &barrier, sig, r == 3 ? 5 * ms : 0, 5 * ms + 100, 0);
    }
    sum_up();
    for (size_t r = 0; r < RANKS; r++)
        CHECK(lost[r][3] == (r == 3 ? 0 : 5 * ms), "rank %zu lost %lld", r, (long long)lost[r][3]);
    END_TEST(0, 0, 0, 0, 0, 0, 0);
}

/* Each kind has all words, and no two kinds share one. */
static void test_words(void)
{
    for (size_t i = 0; i < ANA_WAIT_KINDS; i++) {
        const struct ana_wait_words *w = &ana_wait_words[i];
        char key[64];
        snprintf(key, sizeof key, "%s", w->name);
        for (char *c = key; (c = strchr(c, ' '));)
            *c = '-';
        CHECK(strcmp(key, w->key) == 0, "%s: its key is %s", w->name, w->key);
        CHECK(strncmp(w->does_whom, w->does, strlen(w->does)) == 0, "%s: %s", w->name, w->does_whom);
        CHECK(strlen(w->does_whom) <= 22, "%s: the report's column is as wide", w->does_whom);
        CHECK(strstr(ana_metrics[ANA_METRIC_WAIT_KIND].help, w->key), "%s: help does not name it", w->key);
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(w->key, ana_wait_words[k].key) != 0 && strcmp(w->does, ana_wait_words[k].does) != 0,
                  "%s twice", w->key);
    }
}

int main(void)
{
    test_messages();
    test_instances();
    test_clip();
    test_injected();
    test_words();
    return check_result();
}
