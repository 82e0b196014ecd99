/* The verdict on jobs made by hand: every class, its look-alikes, and the evidence. */
#include "tests/support/check.h"
#include "tests/support/verdict_facts.h"
#include "tests/support/verdict_ranks.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 5 };
static const struct {
    const char *what;
    int n;
    struct rank rank[MOST];
    enum ana_verdict_state state;
    enum ana_verdict_class id;
    const char *culprits, *tells;
} cases[] = {
    {"missing",
     4,
     {BARRIER(20 * S), BARRIER(21 * S), OUTSIDE, BARRIER(30 * S)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "2",
     "NOT_COME; who=2; call=MPI_Barrier; comm=MPI_COMM_WORLD; count=3; of=4"},
    {"the last came a moment ago",
     3,
     {BARRIER(20 * S), BARRIER(90 * S), OUTSIDE},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_KILLED,
     "",
     NULL},
    {"operation",
     3,
     {BARRIER(20 * S), {.call = TB_REDUCE, .since = 20 * S, .sequence = 1}, BARRIER(20 * S)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISMATCHED,
     "1",
     "OTHER_CALL; who=1; call=MPI_Reduce; other_call=MPI_Barrier; more=2; number=2"},
    {"root",
     3,
     {{.call = TB_BCAST, .since = 20 * S, .sequence = 1},
      {.call = TB_BCAST, .since = 20 * S, .sequence = 1},
      {.call = TB_BCAST, .peer = 2, .since = 20 * S, .sequence = 1}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISMATCHED,
     "2",
     "OTHER_ROOT; who=2; call=MPI_Bcast; count=2; of=0; more=2"},
    {"count",
     3,
     {{.call = TB_ALLREDUCE, .bytes = 8, .since = 20 * S, .sequence = 1},
      {.call = TB_ALLREDUCE, .bytes = 16, .since = 20 * S, .sequence = 1},
      {.call = TB_ALLREDUCE, .bytes = 8, .since = 20 * S, .sequence = 1}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISMATCHED,
     "1",
     "OTHER_DATA; who=1; call=MPI_Allreduce; count=16; of=8; more=2"},
    {"circle of sends",
     5,
     {SEND(1, 3), SEND(2, 3), SEND(3, 3), SEND(4, 3), SEND(0, 3)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_CYCLE,
     "0,1,2,3,4",
     "CIRCLE; circle=0,1,2,3,4; who=0"},
    {"circle beside others",
     5,
     {RECV(1, 3), RECV(0, 3), BARRIER(20 * S), BARRIER(20 * S), BARRIER(20 * S)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_CYCLE,
     "0,1",
     NULL},
    {"a send that is being received",
     2,
     {SEND(1, 3), RECV(0, 3)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_NONE,
     "",
     "NOTHING_MOVES"},
    {"a send with another tag",
     2,
     {SEND(1, 3), RECV(0, 4)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_UNMATCHED,
     "0,1",
     "OTHER_MESSAGE; who=1; others=0; number=3"},
    {"any source, somebody is free",
     3,
     {RECV(TRC_PEER_ANY, 3), OUTSIDE, BARRIER(20 * S)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "1",
     NULL},
    {"any source, nobody is free",
     3,
     {RECV(TRC_PEER_ANY, 3), BARRIER(20 * S), BARRIER(20 * S)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_CYCLE,
     "0",
     NULL},
    {"never sent",
     3,
     {RECV(1, 3), BARRIER(20 * S), BARRIER(20 * S)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_UNMATCHED,
     "0,1",
     "NEVER_SENT; who=0; others=1; call=MPI_Barrier"},
    {"finalized",
     2,
     {RECV(1, 3), {.done = true}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_EARLY_EXIT,
     "1",
     "LEFT_EARLY; who=1; others=0; call=MPI_Recv from rank 1, tag 3"},
    {"in MPI_Finalize",
     2,
     {RECV(1, 3), {.call = TB_FINALIZE, .since = 20 * S}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_EARLY_EXIT,
     "1",
     "LEFT_EARLY; who=1"},
    {"one call more than most",
     3,
     {BARRIER(20 * S), {.call = TB_FINALIZE, .since = 20 * S}, {.call = TB_FINALIZE, .since = 20 * S}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISMATCHED,
     "0",
     "ONE_CALL_MORE; who=1,2; others=0; call=MPI_Barrier"},
    {"one call more than half",
     4,
     {BARRIER(20 * S), BARRIER(20 * S), {.call = TB_FINALIZE, .since = 20 * S}, {.done = true}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISMATCHED,
     "0,1,2,3",
     "ONE_CALL_MORE; who=2,3; others=0,1; call=MPI_Barrier"},
    {"one call less than most",
     3,
     {BARRIER(20 * S), BARRIER(20 * S), {.call = TB_FINALIZE, .since = 20 * S}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_EARLY_EXIT,
     "2",
     "LEFT_EARLY; who=2; others=0; call=MPI_Barrier; more=1"},
    {"gone first",
     3,
     {BARRIER(20 * S), {.call = TB_CALL_COUNT, .ended = 25 * S}, BARRIER(20 * S)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_DEAD,
     "1",
     "GONE; who=1"},
    {"inside",
     3,
     {BARRIER(20 * S), BARRIER(21 * S), BARRIER(22 * S)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_INSIDE,
     "",
     "ALL_HAVE_COME; call=MPI_Barrier; count=3; of=3"},
    {"killed in the middle", 2, {BARRIER(END - 1000), OUTSIDE}, ANA_VERDICT_ABORTED, ANA_CLASS_KILLED, "", NULL},
    {"a send to itself",
     2,
     {SEND(0, 3), BARRIER(20 * S)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_CYCLE,
     "0",
     "WAITS_FOR_ITSELF; who=0"},
    {"its source stands still",
     2,
     {RECV(1, 3), OUTSIDE},
     ANA_VERDICT_HUNG,
     ANA_CLASS_UNMATCHED,
     "1",
     "SENDER_OUTSIDE; who=0; others=1"},
    {"an idle worker, its source works",
     2,
     {RECV(1, 3), WORKS(99 * S)},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_KILLED,
     "",
     NULL},
    {"of two missing one works",
     4,
     {BARRIER(20 * S), BARRIER(20 * S), WORKS(99 * S), OUTSIDE},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "3",
     "NOT_COME; who=3; call=MPI_Barrier"},
    {"since it worked last",
     3,
     {BARRIER(20 * S), BARRIER(20 * S), WORKS(60 * S)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "2",
     "NOT_COME; who=2; call=MPI_Barrier"},
    {"bytes that are not known yet",
     3,
     {{.call = TB_ALLREDUCE, .bytes = 8, .since = 20 * S, .sequence = 1},
      {.call = TB_ALLREDUCE, .bytes = TRC_BYTES_UNKNOWN, .since = 20 * S, .sequence = 1},
      OUTSIDE},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "2",
     NULL},
    {"data of a root that works",
     3,
     {WORKS(99 * S), {.call = TB_BCAST, .since = 20 * S, .sequence = 1}, RECV(1, 3)},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_KILLED,
     "",
     NULL},
    {"data of a root that waits for it",
     3,
     {RECV(1, 3), {.call = TB_BCAST, .since = 20 * S, .sequence = 1}, OUTSIDE},
     ANA_VERDICT_HUNG,
     ANA_CLASS_UNMATCHED,
     "0,1",
     "NEVER_SENT; who=0; others=1; call=MPI_Bcast"},
    {"all is well", 2, {{.done = true}, {.done = true}}, ANA_VERDICT_HEALTHY, ANA_CLASS_NONE, "", NULL},
    {"cut off: all",
     2,
     {{.done = true, .cut = CUT}, {.done = true, .cut = CUT}},
     ANA_VERDICT_UNKNOWN,
     ANA_CLASS_NONE,
     "",
     "CUT; who=0; more=1"},
    {"cut off: one of those that wait",
     3,
     {{.call = TB_BARRIER, .since = 20 * S, .sequence = 1, .cut = CUT}, BARRIER(20 * S), OUTSIDE},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "2",
     "NOT_COME; who=2; call=MPI_Barrier"},
    {"cut off: who is waited for",
     3,
     {BARRIER(20 * S), BARRIER(20 * S), {.call = TB_CALL_COUNT, .cut = CUT}},
     ANA_VERDICT_UNKNOWN,
     ANA_CLASS_NONE,
     "",
     "CUT; who=2"},
    {"cut off: one, and the others are outside MPI",
     3,
     {OUTSIDE, OUTSIDE, {.call = TB_CALL_COUNT, .cut = CUT}},
     ANA_VERDICT_UNKNOWN,
     ANA_CLASS_NONE,
     "",
     "CUT; who=2"},
    {"cut off: one of a circle",
     2,
     {SEND(1, 3), {.call = TB_SEND, .bytes = 1 << 20, .tag = 3, .since = 20 * S, .cut = CUT}},
     ANA_VERDICT_UNKNOWN,
     ANA_CLASS_NONE,
     "",
     "CUT; who=1"},
    {"cut off: a rank that was done, and is waited for",
     2,
     {RECV(1, 3), {.done = true, .cut = CUT}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_EARLY_EXIT,
     "1",
     "LEFT_EARLY; who=1"},
};

static void over(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *folder = folder_make("case");
        for (int r = 0; r < cases[i].n; r++) {
            struct tb *tb = make(&cases[i].rank[r], r, cases[i].n);
            folder_write(tb, r);
            tb_free(tb);
            char path[256];
            snprintf(path, sizeof path, "%s/%d.hpctop", folder, r);
            CHECK(!cases[i].rank[r].cut || truncate(path, cases[i].rank[r].cut) == 0);
        }
        struct ana_job *job = folder_open();
        judge(cases[i].what, job, cases[i].state, cases[i].id, cases[i].culprits, NULL);
        const struct ana_verdict *v = ana_job_verdict(job);
        char told[1024] = "";
        if (v && v->summary.id)
            fact_fields(job, &v->summary, told, sizeof told);
        CHECK(!cases[i].tells || (v && fact_has(job, &v->summary, cases[i].tells)), "%s: %s\n  want %s", cases[i].what,
              told, cases[i].tells);
        ana_job_close(job);
        folder_remove();
    }
}

/* Known bad facts are said of the culprits. */
static void known(void)
{
    for (int who = 1; who < 3; who++) {
        static const struct rank rank[] = {BARRIER(20 * S), BARRIER(21 * S), OUTSIDE};
        bool said = false;
        folder_make("known");
        for (int r = 0; r < 3; r++) {
            struct tb *tb = make(&rank[r], r, 3);
            if (r == who)
                tb_fact(tb, "forks after MPI_Init", "4");
            folder_write(tb, r);
            tb_free(tb);
        }
        struct ana_job *job = folder_open();
        const struct ana_verdict *v = ana_job_verdict(job);
        CHECK(v, "out of memory");
        if (v) {
            for (size_t i = 0; i < v->facts; i++)
                said |= strcmp(v->fact[i].id, "KNOWN_FORK") == 0;
        }
        CHECK(said == (who == 2), "known: rank %d has forked, and that is %ssaid", who, said ? "" : "not ");
        ana_job_close(job);
        folder_remove();
    }
}

/* A rank in a long read when its stack was taken may have been slow: nothing tells, and the verdict says so. */
static void reads(bool file)
{
    static const struct rank rank[] = {BARRIER(20 * S), OUTSIDE};
    bool said = false;
    folder_make("reads");
    for (int r = 0; r < 2; r++) {
        struct tb *tb = make(&rank[r], r, 2);
        if (r == 1) {
            tb_stack(tb, 1, 1, (struct trc_def_stack){.reason = TRC_STACK_HANG, .state = 'D', .flags = TRC_STACK_MAIN},
                     file ? "on\tread() on /data/shard-17\nnative\tread+0x1\tlibc.so.6+0x2\n"
                          : "on\tfutex\nnative\twait+0x1\tlibc.so.6+0x2\n");
            tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING}, "");
        }
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    judge("in a read", job, ANA_VERDICT_HUNG, ANA_CLASS_MISSING, "1", NULL);
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v, "out of memory");
    if (v) {
        for (size_t i = 0; i < v->facts; i++)
            said |= fact_has(job, &v->fact[i], "FILE_DOUBT; who=1; name=read() on /data/shard-17");
        CHECK(said == file && v->confidence == (file ? ANA_POSSIBLE : ANA_LIKELY),
              "in a read: %ssaid that it may have moved, %s", said ? "" : "not ", ana_confidence_name(v->confidence));
    }
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    over();
    known();
    reads(true);
    reads(false);
    return check_result();
}
