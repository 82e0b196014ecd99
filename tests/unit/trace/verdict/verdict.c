/* The verdict on jobs made by hand: every class, what only looks like it, two looks at a running job, and a thousand
 * ranks (prints what that took). */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/verdict/verdict.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define S   INT64_C(1000000000)
#define END (100 * S)

/* A rank, and what it is inside at the end. */
struct rank {
    enum tb_call call; /* TB_CALL_COUNT: outside MPI */
    int32_t peer, tag; /* of a send; of a collective: the root */
    int32_t source, rtag;
    uint64_t bytes;
    int64_t since;
    uint64_t sequence;
    bool done;     /* finalized */
    int64_t ended; /* 0: at END */
    int64_t works; /* it wrote a file then; 0: never */
    off_t cut;     /* its file ends there; 0: it is whole */
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

static struct trc_sig sig_of(const struct rank *r)
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

static uint64_t began; /* of a job that runs: its time 0 by the wall clock */

/* All have gone through one barrier; then where they are. */
static struct tb *make(const struct rank *r, int me, int n)
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

static void judge(const char *what, struct ana_job *job, enum ana_verdict_state state, enum ana_verdict_class id,
                  const char *culprits, const char *says)
{
    struct ana_verdict v;
    char got[128] = "";
    bool judged = ana_verdict(job, NULL, &v);
    CHECK(judged, "%s: out of memory", what);
    if (!judged)
        return;
    for (size_t i = 0; i < v.culprits && i < 16; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", i ? "," : "",
                 ana_job_rank(job, v.culprit[i])->rank);
    CHECK(v.state == state && v.id == id && strcmp(got, culprits) == 0 && (!says || strstr(v.summary, says)),
          "%s: %s %s culprits %s: %s\n  want %s %s culprits %s: %s", what, ana_verdict_state_name(v.state),
          v.id ? ana_verdict_class_name(v.id) : "-", got, v.summary, ana_verdict_state_name(state),
          id ? ana_verdict_class_name(id) : "-", culprits, says ? says : "");
    size_t members = 0;
    for (size_t i = 0; i < v.groups; i++)
        members += v.group[i].count;
    CHECK(members == ana_job_info(job).ranks, "%s: %zu ranks in groups", what, members);
    ana_verdict_free(&v);
}

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
     "0,1",
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
    {"killed in the middle", 2, {BARRIER(END - 1000), OUTSIDE}, ANA_VERDICT_ABORTED, ANA_CLASS_DEAD, "1", NULL},
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
     "0,1",
     "it is outside MPI"},
    {"an idle worker, its source works",
     2,
     {RECV(1, 3), WORKS(99 * S)},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_DEAD,
     "1",
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
     ANA_CLASS_DEAD,
     "0",
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

/* A circle of two in a running job, five seconds old: no verdict at the first look, one at the second; and none at all
 * when something moves between them. */
static void live(bool moves)
{
    static const struct rank rank[] = {SEND(1, 3), SEND(0, 3)};
    struct timespec now, pause = {0, 700000000};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t made = (uint64_t)(now.tv_sec - 25) * 1000000000u;
    struct tb *tb[2];
    folder_make("live");
    for (int r = 0; r < 2; r++) {
        tb[r] = tb_new(r, 2);
        tb_clock(tb[r], 1000000000u, made, 1);
        folder_this_process(tb[r]);
        tb_barrier(tb[r], 0, 1 * S, 2 * S, TB_WORLD, 0);
        struct trc_sig sig = sig_of(&rank[r]);
        tb_running(tb[r], 24 * S);
        tb_inside(tb[r], 0, &sig, 20 * S, 0);
        folder_write(tb[r], r);
    }
    struct ana_job *job = folder_open();
    judge("first look", job, ANA_VERDICT_HEALTHY, ANA_CLASS_NONE, "", NULL);
    CHECK(ana_job_suspect(job) && ana_job_samples(job) == 1, "first look: %u looks", ana_job_samples(job));
    for (int r = 0; r < 2 && moves; r++) { /* the old sends have returned, the ranks are in the next */
        struct trc_sig sig = sig_of(&rank[r]);
        tb_event(tb[r], 0, &sig, 20 * S, 23 * S + 900000000, (struct tb_more){0});
        tb_inside(tb[r], 0, &sig, 23 * S + 950000000, 0);
        folder_write(tb[r], r);
    }
    nanosleep(&pause, NULL);
    ana_job_refresh(job);
    if (moves)
        judge("it moves", job, ANA_VERDICT_HEALTHY, ANA_CLASS_NONE, "", NULL);
    else
        judge("second look", job, ANA_VERDICT_HUNG, ANA_CLASS_CYCLE, "0,1", NULL);
    ana_job_close(job);
    folder_remove();
    tb_free(tb[0]);
    tb_free(tb[1]);
}

/* Two of three wait for one that gets on elsewhere: no trouble, until they have waited ten times as long as for a hang.
 */
static void elsewhere(void)
{
    static const struct rank rank[] = {BARRIER(20 * S), BARRIER(20 * S), WORKS(99 * S)};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    began = (uint64_t)(now.tv_sec - 101) * 1000000000u;
    folder_make("elsewhere");
    for (int r = 0; r < 3; r++) {
        struct tb *tb = make(&rank[r], r, 3);
        folder_write(tb, r);
        tb_free(tb);
    }
    began = 0;
    struct ana_job *job = folder_open();
    judge("elsewhere for long", job, ANA_VERDICT_HEALTHY, ANA_CLASS_NONE, "", NULL);
    ana_job_set_rules(job, (struct ana_verdict_rules){S, 5 * S});
    judge("elsewhere for very long", job, ANA_VERDICT_SLOW, ANA_CLASS_MISSING, "2",
          "rank 2 has not come to MPI_Barrier");
    ana_job_close(job);
    folder_remove();
}

/* With holes where there are zeros: a thousand of them would fill a small disk. */
static void write_sparse(struct tb *tb, const char *folder, int rank)
{
    enum { BLOCK = 4096 };
    static const uint8_t zeros[BLOCK];
    char path[600];
    size_t size;
    const uint8_t *image = tb_image(tb, &size);
    snprintf(path, sizeof path, "%s/%d.hpctop", folder, rank);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0666);
    for (size_t at = 0; fd >= 0 && at < size; at += BLOCK) {
        size_t n = size - at < BLOCK ? size - at : BLOCK;
        CHECK(memcmp(image + at, zeros, n) == 0 || pwrite(fd, image + at, n, (off_t)at) == (ssize_t)n);
    }
    CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0, "%s", path);
    close(fd);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* `odd` of n ranks are elsewhere, the others in a barrier. */
static void many(int n, int every, const struct rank *odd, enum ana_verdict_class id)
{
    struct rank usual = BARRIER(20 * S);
    const char *folder = folder_make("many");
    for (int r = 0; r < n; r++) {
        struct tb *tb = make(r % every == 7 ? odd : &usual, r, n);
        write_sparse(tb, folder, r);
        tb_free(tb);
    }
    double opened = seconds();
    struct ana_job *job = folder_open();
    double judged = seconds();
    struct ana_verdict v;
    bool made = ana_verdict(job, NULL, &v);
    CHECK(made, "out of memory");
    if (made) {
        double end = seconds();
        printf("%d ranks, %zu to blame (%s): files read in %.0f ms, verdict in %.0f ms\n", n, v.culprits,
               ana_verdict_class_name(v.id), (judged - opened) * 1e3, (end - judged) * 1e3);
        CHECK(v.state == ANA_VERDICT_HUNG && v.id == id && v.culprits >= 1, "%d ranks, one in %d", n, every);
        ana_verdict_free(&v);
    }
    ana_job_close(job);
    folder_remove();
}

/* What is known to be bad is said of those who are to blame. */
static void known(void)
{
    for (int who = 1; who < 3; who++) {
        static const struct rank rank[] = {BARRIER(20 * S), BARRIER(21 * S), OUTSIDE};
        struct ana_verdict v;
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
        bool judged = ana_verdict(job, NULL, &v);
        CHECK(judged, "out of memory");
        if (judged) {
            for (size_t i = 0; i < v.lines; i++)
                said |= strstr(v.line[i], "forked after MPI_Init") != NULL;
            ana_verdict_free(&v);
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
    struct ana_verdict v;
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
    bool judged = ana_verdict(job, NULL, &v);
    CHECK(judged, "out of memory");
    if (judged) {
        for (size_t i = 0; i < v.lines; i++)
            said |= strstr(v.line[i], "rank 1 was in read() on /data/shard-17: the files do not tell") != NULL;
        CHECK(said == file && v.confidence == (file ? ANA_POSSIBLE : ANA_LIKELY),
              "in a read: %ssaid that it may have moved, %s", said ? "" : "not ", ana_confidence_name(v.confidence));
        ana_verdict_free(&v);
    }
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    static const struct rank outside = OUTSIDE, recv = RECV(0, 3),
                             reduce = {.call = TB_REDUCE, .since = 20 * S, .sequence = 1};
    over();
    known();
    reads(true);
    reads(false);
    live(false);
    live(true);
    elsewhere();
    many(1000, 1000, &outside, ANA_CLASS_MISSING);
    many(1000, 8, &outside, ANA_CLASS_MISSING);
    many(1000, 1000, &recv, ANA_CLASS_UNMATCHED);
    many(1000, 1000, &reduce, ANA_CLASS_MISMATCHED);
    return check_result();
}
