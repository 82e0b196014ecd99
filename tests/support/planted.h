/* Built jobs whose ranks lose time by plan: calls one after the other, each rank with a clock of its own. */
#ifndef TESTS_PLANTED_H
#define TESTS_PLANTED_H

#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include <string.h>

#define US 1000ll
#define MS 1000000ll

enum { PLANTED_RANKS = 64 };

/* The ranks, and where each stands. */
struct planted {
    struct tb *tb[PLANTED_RANKS];
    int64_t at[PLANTED_RANKS];
    uint64_t meetings;
    int ranks, tag; /* of messages */
    uint32_t path;  /* call path of the next meetings; 0: unknown */
};

/* Begins a job: all leave MPI_Init at 1 us. */
static inline struct planted planted_begin(const char *name, int ranks)
{
    struct planted p = {.ranks = ranks, .tag = 1};
    struct trc_sig init = tb_sig(TB_INIT);
    init.site = 0x10;
    folder_make(name);
    for (int r = 0; r < ranks; r++) {
        p.tb[r] = tb_new(r, ranks);
        tb_event(p.tb[r], 0, &init, 0, US, (struct tb_more){0});
        p.at[r] = US;
    }
    return p;
}

/* Writes the files and opens them. */
static inline struct ana_job *planted_open(struct planted *p)
{
    for (int r = 0; r < p->ranks; r++) {
        folder_write(p->tb[r], r);
        tb_free(p->tb[r]);
    }
    return folder_open();
}

/* All ranks, or the ones in `mask`, meet at `site`: each has computed until its `at`; they part 1 us after the
 * last has come. */
static inline void planted_meet(struct planted *p, uint64_t site, uint32_t comm, uint64_t mask)
{
    int64_t last = 0;
    for (int r = 0; r < p->ranks; r++)
        if (mask >> r & 1)
            last = p->at[r] > last ? p->at[r] : last;
    struct trc_sig sig = tb_sig(TB_ALLREDUCE);
    sig.flags = TRC_SIG_COLL;
    sig.comm = comm;
    sig.sent = sig.received = 8;
    sig.site = site;
    sig.path = p->path;
    p->meetings++;
    for (int r = 0; r < p->ranks; r++)
        if (mask >> r & 1) {
            tb_event(p->tb[r], 0, &sig, p->at[r], last + US, (struct tb_more){.sequence = p->meetings});
            p->at[r] = last + US;
        }
}

/* A message: `from` sends 8 bytes from site 0x100, `to` receives them at site 0x200; each call takes 1 us beyond its
 * wait. */
static inline void planted_message(struct planted *p, int from, int to)
{
    struct trc_sig send = tb_sig(TB_SEND), recv = tb_sig(TB_RECV);
    send.flags = TRC_SIG_P2P_OUT;
    recv.flags = TRC_SIG_P2P_IN;
    send.comm = recv.comm = TB_WORLD;
    send.peer = to;
    recv.source = from;
    send.tag = recv.rtag = p->tag;
    send.sent = recv.received = 8;
    send.site = 0x100;
    recv.site = 0x200;
    int64_t came = p->at[from], end = (came > p->at[to] ? came : p->at[to]) + US;
    tb_event(p->tb[from], 0, &send, came, came + US, (struct tb_more){0});
    tb_event(p->tb[to], 0, &recv, p->at[to], end, (struct tb_more){0});
    p->at[from] = came + US;
    p->at[to] = end;
}

/* Rank 2 comes 10 ms late to a collective with rank 0, which therefore sends late to rank 1. */
static inline struct planted planted_sender(void)
{
    struct planted p = planted_begin("sender", 3);
    static const int32_t members[] = {0, 2};
    for (int r = 0; r < 3; r += 2)
        tb_comm(p.tb[r], 5, 0x5005, r / 2, members, 2);
    planted_meet(&p, 0x20, TB_WORLD, UINT64_MAX);
    p.at[0] += MS;
    p.at[1] += MS;
    p.at[2] += 11 * MS;
    planted_meet(&p, 0x30, 5, 5);
    planted_message(&p, 0, 1);
    return p;
}

/* All the waiting there was, in ns. */
static inline int64_t planted_waits(const struct ana_summary *s)
{
    int64_t all = 0;
    for (size_t i = 0; i < s->wait_count; i++)
        all += s->waits[i].lost_ns;
    return all;
}

/* All that was charged, in ns. */
static inline int64_t planted_costs(const struct ana_summary *s)
{
    int64_t all = s->cost_inside_ns + s->cost_unknown_ns;
    for (size_t i = 0; i < s->segment_count; i++)
        all += s->segments[i].cost_ns;
    return all;
}

/* The segment between two places, which are addresses without a name. */
static inline const struct ana_segment_stat *planted_segment(const struct ana_summary *s, const char *from,
                                                             const char *to)
{
    static const struct ana_segment_stat none;
    for (size_t i = 0; i < s->segment_count; i++)
        if (strcmp(s->segments[i].from.place, from) == 0 && strcmp(s->segments[i].to.place, to) == 0)
            return &s->segments[i];
    CHECK(false, "no segment from %s to %s", from, to);
    return &none;
}

#endif
