/* Signs of life: a rank outside MPI hangs when it shows none, and is waited for when it does, by counts of the kernel.
 * Two ranks wait in a barrier from 20 s to 100 s. */
#include "tests/support/verdict_ranks.h"
#include <time.h>

#define MS UINT64_C(1000) /* in us */

static struct trc_usage counts(uint32_t whose, enum trc_usage_field field, uint64_t value)
{
    struct trc_usage usage = {.whose = whose, .fields = 1u << field};
    usage.value[field] = value;
    return usage;
}

static uint64_t hundred_seconds_ago(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)(now.tv_sec - 100) * 1000000000u;
}

static int64_t counted_until = 99 * S; /* end of the recorder's counts */

/* Judges a job, `live` or after all were killed, whose rank 2 has these counts each second from `from` to `to`;
 * `inside`: a second thread of it waits for a message from any rank. */
static void life(const char *what, bool live, bool inside, const struct trc_usage *usage, size_t n, int64_t from,
                 int64_t to, enum ana_verdict_state state, enum ana_verdict_class id, const char *culprits,
                 const char *says)
{
    static const struct rank rank[] = {BARRIER(20 * S), BARRIER(20 * S), OUTSIDE};
    began = live ? hundred_seconds_ago() : 0;
    folder_make("life");
    for (int r = 0; r < 3; r++) {
        struct tb *tb = make(&rank[r], r, 3);
        if (r == 2 && inside)
            tb_listens(tb, 1, 10 * S);
        for (int64_t at = from; r == 2 && at < to; at += S)
            tb_usage(tb, at, at + S, usage, n);
        for (int64_t at = to; r == 2 && n && at < counted_until; at += S)
            tb_usage(tb, at, at + S, usage, 0);
        folder_write(tb, r);
        tb_free(tb);
    }
    began = 0;
    struct ana_job *job = folder_open();
    judge(what, job, state, id, culprits, says);
    ana_job_close(job);
    folder_remove();
}

/* Ranks 0 and 1 are outside MPI since 2 s, and rank 1 computes, or does not; rank 0 is `on` something; `limit`: of
 * 30 s, by the user.  The job is live, or all its ranks were killed. */
static void beside(const char *what, bool live, bool computes, const char *on, double limit,
                   enum ana_verdict_state state, const char *culprits)
{
    static const struct rank rank[] = {OUTSIDE, OUTSIDE, BARRIER(20 * S)};
    const struct trc_usage cpu = counts(TRC_USAGE_PROCESS, TRC_USAGE_CPU, 900 * MS),
                           little = counts(TRC_USAGE_PROCESS, TRC_USAGE_CPU, 5 * MS);
    began = live ? hundred_seconds_ago() : 0;
    folder_make("beside");
    for (int r = 0; r < 3; r++) {
        struct tb *tb = make(&rank[r], r, 3);
        for (int64_t at = 3 * S; r < 2 && at < 99 * S; at += S)
            tb_usage(tb, at, at + S, r == 1 && computes ? &cpu : &little, 1);
        char text[128];
        snprintf(text, sizeof text, "name\tapp\non\t%s\nnative\tserve+0x10\tapp+0x1010\n", on ? on : "");
        if (r == 0 && on) {
            tb_stack(tb, 1, 1000, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_MAIN}, text);
            tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING}, "");
        }
        folder_write(tb, r);
        tb_free(tb);
    }
    began = 0;
    struct ana_job *job = folder_open();
    if (limit > 0)
        ana_job_set_hang(job, limit);
    const char *missing = state == ANA_VERDICT_HUNG && limit > 0 ? "rank 0 has not come to MPI_Barrier"
                                                                 : "ranks 0 and 1 have not come to MPI_Barrier";
    bool killed = state == ANA_VERDICT_ABORTED;
    judge(what, job, state, killed ? ANA_CLASS_KILLED : ANA_CLASS_MISSING, culprits, killed ? NULL : missing);
    ana_job_close(job);
    folder_remove();
}

/* All ranks are in a sum from 20 s to 100 s: of an `own` operation, or most of the time without a processor. */
static void inside(const char *what, bool own, bool queue, enum ana_verdict_state state)
{
    const struct rank sum = {.call = TB_ALLREDUCE, .since = 20 * S, .sequence = 1};
    const struct trc_usage usage[] = {counts(TRC_USAGE_THREAD, TRC_USAGE_QUEUED, 900 * MS),
                                      counts(TRC_USAGE_THREAD, TRC_USAGE_CPU, 2 * MS)};
    began = hundred_seconds_ago();
    folder_make("inside");
    for (int r = 0; r < 3; r++) {
        struct tb *tb = make(&sum, r, 3);
        struct trc_sig sig = tb_sig(TB_OP_CREATE);
        if (own)
            tb_event(tb, 1, &sig, 3 * S, 3 * S + 1000, (struct tb_more){0});
        for (int64_t at = 3 * S; queue && at < 99 * S; at += S)
            tb_usage(tb, at, at + S, usage, 2);
        folder_write(tb, r);
        tb_free(tb);
    }
    began = 0;
    struct ana_job *job = folder_open();
    judge(what, job, state, ANA_CLASS_INSIDE, "", "all 3 ranks have come to MPI_Allreduce");
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    inside("a sum that does not end", false, false, ANA_VERDICT_HUNG);
    inside("an operation of the program's own", true, false, ANA_VERDICT_WAITING);
    inside("no rank gets a processor", false, true, ANA_VERDICT_WAITING);
    beside("one stands, one computes", true, true, NULL, 0, ANA_VERDICT_WAITING, "0,1");
    beside("both stand", true, false, NULL, 0, ANA_VERDICT_HUNG, "0,1");
    beside("one stands, one computes, with a limit", true, true, "futex()", 30, ANA_VERDICT_HUNG, "0");
    beside("one is asked by a socket, with a limit", true, true, "recv() on socket:[7]", 30, ANA_VERDICT_WAITING,
           "0,1");
    beside("one listens, with a limit", true, true, "epoll_wait()", 30, ANA_VERDICT_WAITING, "0,1");
    beside("one stood, one computed, until all were killed", false, true, NULL, 0, ANA_VERDICT_ABORTED, "");
    beside("both stood until all were killed", false, false, NULL, 0, ANA_VERDICT_HUNG, "0,1");
    const char *missing = "rank 2 has not come to MPI_Barrier";
    const struct trc_usage cpu = counts(TRC_USAGE_PROCESS, TRC_USAGE_CPU, 100 * MS),
                           little = counts(TRC_USAGE_PROCESS, TRC_USAGE_CPU, 5 * MS),
                           child = counts(TRC_USAGE_PROCESS, TRC_USAGE_CHILDREN, 900 * MS),
                           locked = counts(TRC_USAGE_THREAD, TRC_USAGE_QUEUED, 900 * MS),
                           queued[] = {counts(TRC_USAGE_PROCESS, TRC_USAGE_CPU, 20 * MS), locked},
                           wakes = counts(TRC_USAGE_THREAD, TRC_USAGE_VOLUNTARY, 1),
                           polls[] = {counts(TRC_USAGE_PROCESS, TRC_USAGE_CPU, 900 * MS),
                                      counts(TRC_USAGE_THREAD + 1, TRC_USAGE_CPU, 890 * MS)},
                           works[] = {counts(TRC_USAGE_PROCESS, TRC_USAGE_CPU, 1800 * MS), polls[1]};
    const enum ana_verdict_state waiting = ANA_VERDICT_WAITING, hung = ANA_VERDICT_HUNG;
    const enum ana_verdict_class id = ANA_CLASS_MISSING;
    life("nothing is counted", true, false, NULL, 0, 3 * S, 3 * S, hung, id, "2", missing);
    life("it computes", true, false, &cpu, 1, 3 * S, 99 * S, waiting, id, "2", missing);
    life("the recorder alone computes", true, false, &little, 1, 3 * S, 99 * S, hung, id, "2", missing);
    life("it computed until it stood", true, false, &cpu, 1, 3 * S, 50 * S, hung, id, "2", missing);
    life("a child computes", true, false, &child, 1, 3 * S, 99 * S, waiting, id, "2", missing);
    life("it waits for a processor", true, false, queued, 2, 3 * S, 99 * S, waiting, id, "2", missing);
    life("it waits for a lock on a busy machine", true, false, &locked, 1, 3 * S, 99 * S, hung, id, "2", missing);
    life("it wakes up", true, false, &wakes, 1, 3 * S, 99 * S, waiting, id, "2", missing);
    life("it was awake", true, false, &wakes, 1, 3 * S, 50 * S, hung, id, "2", missing);
    const struct trc_usage busy = counts(TRC_USAGE_PROCESS, TRC_USAGE_QUEUED, 100 * MS);
    struct trc_usage starved = counts(TRC_USAGE_PROCESS, TRC_USAGE_CPU, 20 * MS), child_starved = busy;
    starved.fields |= busy.fields;
    starved.value[TRC_USAGE_QUEUED] = busy.value[TRC_USAGE_QUEUED];
    child_starved.fields |= child.fields;
    child_starved.value[TRC_USAGE_CHILDREN] = 20 * MS;
    life("a thread polls inside MPI", true, true, polls, 2, 3 * S, 99 * S, hung, id, "2", missing);
    life("a thread computes on a busy machine", true, true, &starved, 1, 3 * S, 99 * S, waiting, id, "2", missing);
    life("a child computes on a busy machine", true, false, &child_starved, 1, 3 * S, 99 * S, waiting, id, "2",
         missing);
    life("a thread waits, the main thread computes", true, true, works, 2, 3 * S, 99 * S, waiting, id, "2", missing);
    counted_until = 60 * S;
    life("its counts are late", true, false, &little, 1, 3 * S, 60 * S, waiting, id, "2", missing);
    life("its counts were late when all were killed", false, false, &little, 1, 3 * S, 60 * S, hung, id, "2", missing);
    counted_until = 70 * S;
    life("one second is counted in part", true, false, &cpu, 1, 3 * S + S / 2, 70 * S, waiting, id, "2", missing);
    counted_until = 99 * S;
    life("it computed until all were killed", false, false, &cpu, 1, 3 * S, 99 * S, ANA_VERDICT_ABORTED,
         ANA_CLASS_KILLED, "", NULL);
    life("it stood until all were killed", false, false, &little, 1, 3 * S, 99 * S, hung, id, "2", missing);
    return check_result();
}
