/* The verdict on jobs made by hand: every class, what only looks like it, and what is said beside it. */
#include "tests/support/check.h"
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
    const char *culprits, *says;
} cases[] = {
    {"missing",
     4,
     {BARRIER(20 * S), BARRIER(21 * S), OUTSIDE, BARRIER(30 * S)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "2",
     "rank 2 has not come to MPI_Barrier on MPI_COMM_WORLD, where 3 of 4 wait"},
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
     "rank 1 called MPI_Reduce where the other 2 called MPI_Barrier"},
    {"root",
     3,
     {{.call = TB_BCAST, .since = 20 * S, .sequence = 1},
      {.call = TB_BCAST, .since = 20 * S, .sequence = 1},
      {.call = TB_BCAST, .peer = 2, .since = 20 * S, .sequence = 1}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISMATCHED,
     "2",
     "rank 2 gave root 2 to MPI_Bcast where the other 2 gave root 0"},
    {"count",
     3,
     {{.call = TB_ALLREDUCE, .bytes = 8, .since = 20 * S, .sequence = 1},
      {.call = TB_ALLREDUCE, .bytes = 16, .since = 20 * S, .sequence = 1},
      {.call = TB_ALLREDUCE, .bytes = 8, .since = 20 * S, .sequence = 1}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISMATCHED,
     "1",
     "rank 1 gave 16 bytes to MPI_Allreduce"},
    {"circle of sends",
     5,
     {SEND(1, 3), SEND(2, 3), SEND(3, 3), SEND(4, 3), SEND(0, 3)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_CYCLE,
     "0,1,2,3,4",
     "0 -> 1 -> 2 -> 3 -> 4 -> 0"},
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
     "nothing moves"},
    {"a send with another tag",
     2,
     {SEND(1, 3), RECV(0, 4)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_UNMATCHED,
     "0,1",
     "rank 0 sent one with tag 3, which nobody receives"},
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
     "that was never sent; rank 1 is in MPI_Barrier"},
    {"finalized",
     2,
     {RECV(1, 3), {.done = true}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_EARLY_EXIT,
     "1",
     "rank 1 finished while rank 0 still waits in MPI_Recv from rank 1, tag 3"},
    {"in MPI_Finalize",
     2,
     {RECV(1, 3), {.call = TB_FINALIZE, .since = 20 * S}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_EARLY_EXIT,
     "1",
     "rank 1 is in MPI_Finalize"},
    {"gone first",
     3,
     {BARRIER(20 * S), {.call = TB_CALL_COUNT, .ended = 25 * S}, BARRIER(20 * S)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_DEAD,
     "1",
     "rank 1 is gone without MPI_Finalize"},
    {"inside",
     3,
     {BARRIER(20 * S), BARRIER(21 * S), BARRIER(22 * S)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_INSIDE,
     "",
     "all 3 ranks have come to MPI_Barrier"},
    {"killed in the middle", 2, {BARRIER(END - 1000), OUTSIDE}, ANA_VERDICT_ABORTED, ANA_CLASS_KILLED, "", NULL},
    {"a send to itself",
     2,
     {SEND(0, 3), BARRIER(20 * S)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_CYCLE,
     "0",
     "rank 0 waits for itself"},
    {"its source stands still",
     2,
     {RECV(1, 3), OUTSIDE},
     ANA_VERDICT_HUNG,
     ANA_CLASS_UNMATCHED,
     "1",
     "rank 1 has not sent it, and is outside MPI"},
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
     "rank 3 has not come to MPI_Barrier"},
    {"since it worked last",
     3,
     {BARRIER(20 * S), BARRIER(20 * S), WORKS(60 * S)},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "2",
     "rank 2 has not come to MPI_Barrier"},
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
     "never sent; rank 1 is in MPI_Bcast"},
    {"all is well", 2, {{.done = true}, {.done = true}}, ANA_VERDICT_HEALTHY, ANA_CLASS_NONE, "", NULL},
    {"cut off: all",
     2,
     {{.done = true, .cut = CUT}, {.done = true, .cut = CUT}},
     ANA_VERDICT_UNKNOWN,
     ANA_CLASS_NONE,
     "",
     "the trace file of rank 0 (and of 1 more) is cut off: what it did is not known"},
    {"cut off: one of those that wait",
     3,
     {{.call = TB_BARRIER, .since = 20 * S, .sequence = 1, .cut = CUT}, BARRIER(20 * S), OUTSIDE},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "2",
     "rank 2 has not come to MPI_Barrier"},
    {"cut off: who is waited for",
     3,
     {BARRIER(20 * S), BARRIER(20 * S), {.call = TB_CALL_COUNT, .cut = CUT}},
     ANA_VERDICT_UNKNOWN,
     ANA_CLASS_NONE,
     "",
     "the trace file of rank 2 is cut off"},
    {"cut off: one, and the others are outside MPI",
     3,
     {OUTSIDE, OUTSIDE, {.call = TB_CALL_COUNT, .cut = CUT}},
     ANA_VERDICT_UNKNOWN,
     ANA_CLASS_NONE,
     "",
     "the trace file of rank 2 is cut off"},
    {"cut off: one of a circle",
     2,
     {SEND(1, 3), {.call = TB_SEND, .bytes = 1 << 20, .tag = 3, .since = 20 * S, .cut = CUT}},
     ANA_VERDICT_UNKNOWN,
     ANA_CLASS_NONE,
     "",
     "the trace file of rank 1 is cut off"},
    {"cut off: a rank that was done, and is waited for",
     2,
     {RECV(1, 3), {.done = true, .cut = CUT}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_EARLY_EXIT,
     "1",
     "rank 1 finished"},
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
        judge(cases[i].what, job, cases[i].state, cases[i].id, cases[i].culprits, cases[i].says);
        ana_job_close(job);
        folder_remove();
    }
}

/* What is known to be bad is said of those who are to blame. */
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
                said |= strstr(v->fact[i].text, "forked after MPI_Init") != NULL;
        }
        CHECK(said == (who == 2), "known: rank %d has forked, and that is %ssaid", who, said ? "" : "not ");
        ana_job_close(job);
        folder_remove();
    }
}

/* Who was in a long read when its stack was taken may have been slow: nothing tells, and that is said. */
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
            said |= strstr(v->fact[i].text, "rank 1 was in read() on /data/shard-17: the files do not tell") != NULL;
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
