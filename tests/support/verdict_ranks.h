/* Jobs for tests of the verdict: ranks made by hand, and the expected verdicts. */
#ifndef TESTS_VERDICT_RANKS_H
#define TESTS_VERDICT_RANKS_H

#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/verdict/verdict.h"
#include <stdio.h>
#include <string.h>

#define S   INT64_C(1000000000)
#define END (100 * S)

/* A rank, and the call that it is inside at the end. */
struct rank {
    enum tb_call call; /* TB_CALL_COUNT: outside MPI */
    int32_t peer, tag; /* peer and tag of a send; peer of a collective: the root */
    int32_t source, rtag;
    uint64_t bytes;
    int64_t since;
    uint64_t sequence;
    bool done;     /* finalized */
    int64_t ended; /* 0: at END */
    int64_t works; /* it wrote a file then; 0: never */
    off_t cut;     /* end of its file; 0: it is whole */
};

#define OUTSIDE                                                                                                        \
    {                                                                                                                  \
        .call = TB_CALL_COUNT                                                                                          \
    }
#define WORKS(at)                                                                                                      \
    {                                                                                                                  \
        .call = TB_CALL_COUNT, .works = (at)                                                                           \
    }
#define CUT TRC_HEAD_SIZE + 100 /* nothing behind the head */
#define BARRIER(at)                                                                                                    \
    {                                                                                                                  \
        .call = TB_BARRIER, .since = (at), .sequence = 1                                                               \
    }
#define RECV(from, t)                                                                                                  \
    {                                                                                                                  \
        .call = TB_RECV, .source = (from), .rtag = (t), .since = 20 * S                                                \
    }
#define SEND(to, t)                                                                                                    \
    {                                                                                                                  \
        .call = TB_SEND, .peer = (to), .tag = (t), .bytes = 1 << 20, .since = 20 * S                                   \
    }

static inline struct trc_sig sig_of(const struct rank *r)
{
    struct trc_sig sig = tb_sig(r->call);
    sig.comm = TB_WORLD;
    switch (r->call) {
    case TB_SENDRECV:
    case TB_RECV:
        sig.flags = TRC_SIG_P2P_IN;
        sig.source = r->source;
        sig.rtag = r->rtag;
        if (r->call == TB_RECV)
            break;
        /* fall through */
    case TB_SEND:
        sig.flags |= TRC_SIG_P2P_OUT;
        sig.peer = r->peer;
        sig.tag = r->tag;
        sig.sent = r->bytes;
        break;
    case TB_FINALIZE:
        break;
    default:
        sig.flags = TRC_SIG_COLL;
        sig.sent = r->bytes;
        if (r->call == TB_BCAST)
            sig.peer = r->peer;
    }
    return sig;
}

static uint64_t began; /* time 0 of a running job by the wall clock */

/* All have gone through one barrier; then where they are. */
static inline struct tb *make(const struct rank *r, int me, int n)
{
    struct tb *tb = tb_new(me, n);
    if (began) {
        tb_clock(tb, 1000000000u, began, 1);
        folder_this_process(tb);
    }
    tb_barrier(tb, 0, 1 * S, 2 * S, TB_WORLD, 0);
    if (r->done)
        return tb;
    tb_running(tb, r->ended ? r->ended : END);
    if (r->works) {
        struct trc_sig io = tb_sig(TB_FILE_WRITE);
        io.flags = TRC_SIG_IO;
        tb_event(tb, 0, &io, r->works, r->works + 1000, (struct tb_more){0});
    }
    if (r->call != TB_CALL_COUNT) {
        struct trc_sig sig = sig_of(r);
        tb_inside(tb, 0, &sig, r->since, r->sequence);
    }
    return tb;
}

static inline void judge(const char *what, struct ana_job *job, enum ana_verdict_state state, enum ana_verdict_class id,
                         const char *culprits, const char *says)
{
    char got[128] = "";
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v, "%s: out of memory", what);
    if (!v)
        return;
    for (size_t i = 0; i < v->culprits && i < 16; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", i ? "," : "",
                 ana_job_rank(job, v->culprit[i])->rank);
    CHECK(v->state == state && v->id == id && strcmp(got, culprits) == 0 && (!says || strstr(v->summary.text, says)),
          "%s: %s %s culprits %s: %s\n  want %s %s culprits %s: %s", what, ana_verdict_state_name(v->state),
          v->id ? ana_verdict_class_name(v->id) : "-", got, v->summary.text, ana_verdict_state_name(state),
          id ? ana_verdict_class_name(id) : "-", culprits, says ? says : "");
    size_t members = 0;
    for (size_t i = 0; i < v->groups; i++)
        members += v->group[i].count;
    CHECK(members == ana_job_info(job).ranks, "%s: %zu ranks in groups", what, members);
    CHECK((ana_job_info(job).state == ANA_HUNG) == (v && v->state == ANA_VERDICT_HUNG), "%s: the job is %s", what,
          ana_state_name(ana_job_info(job).state));
}

#endif
