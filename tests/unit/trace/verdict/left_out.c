/* Ranks that left out their part: jobs of ranks that make call after call, and their last calls.
 *
 * A rank is a line of calls; it is inside the last one.  The first letter is the call and the place in the program:
 *
 *     b  MPI_Barrier        s2 t2     a send to rank 2 with tag 1, with tag 2
 *     g  MPI_Allreduce      r2 q2 a2  a receive from rank 2 (* any) with tag 1, with tag 2, with any tag
 *     d  MPI_Allreduce on another communicator of all
 *     x23  MPI_Sendrecv to rank 2, from rank 3
 *     f  MPI_Finalize */
#include "tests/support/verdict_ranks.h"
#include <stdlib.h>

enum { RANKS = 6, OTHER = 3 };
static const struct {
    const char *what;
    const char *rank[RANKS];
    enum ana_verdict_class id;
    enum ana_confidence confidence;
    const char *culprits, *says;
} cases[] = {
    {"a round less: it stands where nobody has been",
     {"g x13 g x13 g", "g x20 g x20 g", "g x31 g x31 g", "g x02 g x02 d"},
     ANA_CLASS_MISSING,
     ANA_LIKELY,
     "3",
     "rank 3 has left out MPI_Allreduce on MPI_COMM_WORLD, where 3 of 4 wait, and went on to MPI_Allreduce on"},
    {"a round less, and then MPI_Finalize",
     {"g x13 g x13 g", "g x20 g x20 f", "g x31 g x31 g", "g x02 g x02 g"},
     ANA_CLASS_MISSING,
     ANA_LIKELY,
     "1",
     "rank 1 has left out MPI_Allreduce on MPI_COMM_WORLD, where 3 of 4 wait, and went on to MPI_Finalize"},
    {"a message less: those who did all of it tell the order",
     {"x13 x13 x13", "x20 x20 x20 d", "x31 x31 x31 d", "x02 x02 d"},
     ANA_CLASS_UNMATCHED,
     ANA_LIKELY,
     "3",
     "rank 3 went on to MPI_Allreduce on a communicator of 4 and left out what rank 0 waits for in MPI_Sendrecv"},
    {"of two nobody can tell", {"b r1", "b d"}, ANA_CLASS_UNMATCHED, ANA_PROVEN, "0,1", "that was never sent"},
    {"it waits for two, and both are in the collective",
     {"b g", "b x20", "b g", "b g"},
     ANA_CLASS_MISSING,
     ANA_LIKELY,
     "1",
     "rank 1 has left out MPI_Allreduce"},
    {"it waits for one, who has not taken its message either",
     {"b s1 r1", "b g", "b g"},
     ANA_CLASS_MISSING,
     ANA_LIKELY,
     "0",
     "rank 0 has left out MPI_Allreduce"},
    {"it waits for one, and that is all",
     {"b r1", "b g", "b g"},
     ANA_CLASS_UNMATCHED,
     ANA_PROVEN,
     "0,1",
     "that was never sent"},
    {"of two that wait alike for the same rank, none is blamed",
     {"b b g", "b r0", "b r0"},
     ANA_CLASS_UNMATCHED,
     ANA_LIKELY,
     "0",
     "ranks 1 and 2 wait for a message from rank 0 with tag 1 on MPI_COMM_WORLD that was never sent"},
    {"on another communicator than the others",
     {"b d", "b d", "b d", "b g"},
     ANA_CLASS_CYCLE,
     ANA_LIKELY,
     "3",
     "rank 3 waits in MPI_Allreduce, ranks 0-2 in MPI_Allreduce on a communicator of 4: in opposite order, or with one "
     "left out"},
    {"two and two", {"b d", "b g", "b d", "b g"}, ANA_CLASS_CYCLE, ANA_PROVEN, "0,1,2,3", "in opposite order"},
    {"a result is lost",
     {"t1 t2 t3 r1 t1 r3 t3 r3 t3 r1 r3 r*", "q0 s0 q0 s0 q0", "q0 q0", "q0 s0 q0 s0 q0 s0 q0"},
     ANA_CLASS_UNMATCHED,
     ANA_LIKELY,
     "2",
     "rank 0 waits for a message from any rank with tag 1 on MPI_COMM_WORLD, and rank 2 owes it"},
    {"a result is lost, and the others are done",
     {"t1 t2 t3 r1 t1 r3 t3 r*", "q0 s0 q0 f", "q0 q0", "q0 s0 q0 f"},
     ANA_CLASS_UNMATCHED,
     ANA_LIKELY,
     "2",
     "and rank 2 owes it"},
    {"a task is kept back: who has left owes nothing",
     {"t1 t3 r1 t1 r3 t3 r*", "q0 s0 q0 f", "q0", "q0 s0 q0 f"},
     ANA_CLASS_CYCLE,
     ANA_LIKELY,
     "0,2",
     NULL},
    {"two do not agree, and the third is on its way",
     {"r1", "r3 q2", "r0", "s1 f"},
     ANA_CLASS_UNMATCHED,
     ANA_LIKELY,
     "0,1",
     "rank 0 waits in MPI_Recv from rank 1, tag 1, and rank 1 makes no call that fits"},
    {"who is in MPI_Finalize is not proven to be wrong", {"b r1", "b f"}, ANA_CLASS_EARLY_EXIT, ANA_LIKELY, "1", NULL},
    {"all have answered",
     {"t1 t2 t3 r1 r2 r3 r*", "q0 s0 q0", "q0 s0 q0", "q0 s0 q0"},
     ANA_CLASS_CYCLE,
     ANA_LIKELY,
     "0",
     NULL},
    {"a result of the only worker", {"t1 r*", "q0 q0"}, ANA_CLASS_UNMATCHED, ANA_LIKELY, "1", "and rank 1 owes it"},
    {"the only worker has answered", {"t1 r1 r*", "q0 s0 q0"}, ANA_CLASS_CYCLE, ANA_PROVEN, "0,1", NULL},
};

static int32_t rank_of(char letter)
{
    return letter == '*' ? TRC_PEER_ANY : letter - '0';
}

static struct trc_sig sig_of_step(const char *step)
{
    enum tb_call call = strchr("rqa", *step)  ? TB_RECV
                        : strchr("st", *step) ? TB_SEND
                        : *step == 'x'        ? TB_SENDRECV
                        : *step == 'b'        ? TB_BARRIER
                        : *step == 'f'        ? TB_FINALIZE
                                              : TB_ALLREDUCE;
    struct trc_sig sig = tb_sig(call);
    sig.site = (uint64_t)*step;
    sig.comm = *step == 'd' ? OTHER : TB_WORLD;
    if (strchr("stx", *step)) {
        sig.flags |= TRC_SIG_P2P_OUT;
        sig.peer = rank_of(step[1]);
        sig.tag = *step == 't' ? 2 : 1;
        sig.sent = 8;
    }
    if (strchr("rqax", *step)) {
        sig.flags |= TRC_SIG_P2P_IN;
        sig.received = 8;
        sig.source = rank_of(step[*step == 'x' ? 2 : 1]);
        sig.rtag = *step == 'a' ? TRC_TAG_ANY : *step == 'q' ? 2 : 1;
    }
    if (strchr("bgd", *step))
        sig.flags |= TRC_SIG_COLL;
    return sig;
}

static struct tb *make_rank(const char *steps, int rank, int ranks)
{
    static const int32_t all[RANKS] = {0, 1, 2, 3, 4, 5};
    struct tb *tb = tb_new(rank, ranks);
    uint64_t called[2] = {0}; /* collectives, on each communicator */
    int64_t at = S;
    tb_comm(tb, OTHER, 0x2002, rank, all, ranks);
    tb_running(tb, END);
    for (const char *step = steps; step; at += S / 10) {
        struct trc_sig sig = sig_of_step(step);
        uint64_t *sequence = &called[sig.comm == OTHER];
        step = strchr(step, ' ');
        if (step)
            tb_event(tb, 0, &sig, at, at + S / 20, (struct tb_more){.sequence = *sequence});
        else
            tb_inside(tb, 0, &sig, at, *sequence);
        *sequence += sig.flags & TRC_SIG_COLL ? 1 : 0;
        step = step ? step + 1 : NULL;
    }
    return tb;
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int ranks = 0;
        while (ranks < RANKS && cases[i].rank[ranks])
            ranks++;
        folder_make("left-out");
        for (int r = 0; r < ranks; r++) {
            struct tb *tb = make_rank(cases[i].rank[r], r, ranks);
            folder_write(tb, r);
            tb_free(tb);
        }
        struct ana_job *job = folder_open();
        judge(cases[i].what, job, ANA_VERDICT_HUNG, cases[i].id, cases[i].culprits, cases[i].says);
        const struct ana_verdict *v = ana_job_verdict(job);
        CHECK(v && v->confidence == cases[i].confidence, "%s: %s", cases[i].what,
              v ? ana_confidence_name(v->confidence) : "");
        ana_job_close(job);
        folder_remove();
    }
    return check_result();
}
