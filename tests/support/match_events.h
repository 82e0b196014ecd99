/* A small job for tests of the matching: events made by hand go in, reports are kept.  For one test program
 * each, so everything is here. */
#ifndef TESTS_MATCH_EVENTS_H
#define TESTS_MATCH_EVENTS_H

#include "tests/support/check.h"
#include "trace/relations/match.h"
#include "trace/relations/waits.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static inline void on_message(void *user, const struct ana_message *message)
{
    (void)user;
    if (messages < 1000)
        got[messages++] = *message;
}

static inline void on_instance(void *user, const struct ana_instance *in)
{
    (void)user;
    if (instances == 100)
        return;
    memcpy(arrival[instances], in->arrival, in->arrivals * sizeof *in->arrival);
    instance[instances] = *in;
    instance[instances].arrival = arrival[instances];
    instances++;
}

static inline void set_rank(size_t index, bool recycled, bool finalized)
{
    struct ana_match_rank rank = {.rank = (int32_t)index, .recycled = recycled, .finalized = finalized};
    CHECK(ana_match_set_rank(match, index, &rank), "rank %zu", index);
}

static inline void begin_test(void)
{
    match = ana_match_new((struct ana_match_sink){.on_message = on_message, .on_instance = on_instance});
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
static inline void end_test(int line, const uint64_t expect[7])
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
static inline void item(size_t rank, uint32_t thread, const struct trc_comm *comm, const struct trc_call *call,
                        struct trc_sig sig, int64_t begin, int64_t end, uint64_t number)
{
    struct ana_use use = {.call = call, .comm = comm};
    struct ana_event event = {.index = (uint32_t)rank,
                              .thread = thread,
                              .kind = TRC_RECORD_EVENT,
                              .begin_ns = begin,
                              .end_ns = end,
                              .sig = &sig,
                              .use = &use,
                              .request_thread = (uint16_t)thread,
                              .request = number};
    ana_match_event(match, &event);
}

static inline struct trc_sig out(uint32_t flags, int32_t peer, int32_t tag)
{
    return (struct trc_sig){
        .flags = flags | TRC_SIG_P2P_OUT, .peer = peer, .tag = tag, .source = TRC_PEER_NONE, .sent = 100};
}
static inline struct trc_sig in(uint32_t flags, int32_t source, int32_t tag)
{
    return (struct trc_sig){
        .flags = flags | TRC_SIG_P2P_IN, .peer = TRC_PEER_NONE, .source = source, .rtag = tag, .received = 100};
}

static inline void send(size_t rank, int32_t to, int32_t tag, int64_t begin, int64_t end)
{
    item(rank, 0, &world[rank], &call_send, out(0, to, tag), begin, end, 0);
}
static inline void recv(size_t rank, int32_t from, int32_t tag, int64_t begin, int64_t end)
{
    item(rank, 0, &world[rank], &call_recv, in(0, from, tag), begin, end, 0);
}
static inline uint64_t isend(size_t rank, int32_t to, int32_t tag, int64_t at)
{
    item(rank, 0, &world[rank], &call_isend, out(TRC_SIG_START, to, tag), at, at + 1, starts[rank][0]);
    return starts[rank][0]++;
}
static inline uint64_t irecv(size_t rank, int32_t from, int32_t tag, int64_t at)
{
    item(rank, 0, &world[rank], &call_irecv, in(TRC_SIG_START, from, tag), at, at + 1, starts[rank][0]);
    return starts[rank][0]++;
}
static inline void wait_call(size_t rank, int64_t begin, int64_t end)
{
    item(rank, 0, NULL, &call_wait, (struct trc_sig){0}, begin, end, UINT64_MAX);
}
static inline void done_send(size_t rank, uint64_t number, int64_t begin, int64_t end)
{
    struct trc_sig sig = {.flags = TRC_SIG_SUB | TRC_SIG_COMPLETE};
    item(rank, 0, &world[rank], &call_isend, sig, begin, end, number);
}
static inline void done_recv(size_t rank, uint64_t number, int32_t from, int32_t tag, int64_t begin, int64_t end)
{
    struct trc_sig sig = in(TRC_SIG_SUB | TRC_SIG_COMPLETE, from, tag);
    item(rank, 0, &world[rank], &call_irecv, sig, begin, end, number);
}
static inline void cancelled(size_t rank, uint64_t number, int64_t begin, int64_t end)
{
    struct trc_sig sig = {.flags = TRC_SIG_SUB | TRC_SIG_COMPLETE | TRC_SIG_CANCELLED};
    item(rank, 0, &world[rank], &call_irecv, sig, begin, end, number);
}

/* Message i left at `sent` and was posted at `posted`. */
static inline void check_pair(int line, size_t i, int64_t sent, int64_t posted)
{
    CHECK(i < messages, "line %d: only %zu messages", line, messages);
    if (i < messages)
        CHECK(got[i].send_begin_ns == sent && got[i].recv_begin_ns == posted, "line %d: message %zu: %lld with %lld",
              line, i, (long long)got[i].send_begin_ns, (long long)got[i].recv_begin_ns);
}
#define PAIR(i, sent, posted) check_pair(__LINE__, i, sent, posted)

#endif
