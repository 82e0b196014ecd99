/* A rank whose service thread waits for a message from any source: its line tells of the thread that the verdict is
 * about, with the stack of the same thread. */
#include "tests/support/verdict_ranks.h"

static const char *const stacks[2] = {"name\tmain\non\trunning\nnative\texchange_edges+0x10\tapp+0x1010\n",
                                      "name\tlistener\non\trunning\nnative\tlisten_for_orders+0x10\tapp+0x2010\n"};

/* A thread of rank 1 waits in MPI_Comm_dup for rank 0, with Python's lock: its main thread, which has called MPI
 * before, cannot send the message that rank 0 waits for. */
static void keeps_lock(bool lock)
{
    static const struct rank rank[] = {RECV(1, 5), OUTSIDE};
    folder_make("lock");
    for (int r = 0; r < 2; r++) {
        struct tb *tb = make(&rank[r], r, 2);
        struct trc_sig dup = tb_sig(TB_COMM_DUP);
        dup.comm = TB_WORLD;
        dup.flags = TRC_SIG_COLL;
        if (r == 1)
            tb_inside(tb, 1, &dup, 10 * S, 1);
        for (uint32_t t = 0; t < 2 && r == 1; t++)
            tb_stack(tb, 1, 1001u + t,
                     (struct trc_def_stack){.reason = TRC_STACK_HANG,
                                            .flags = !t     ? TRC_STACK_MAIN
                                                     : lock ? TRC_STACK_GIL
                                                            : 0},
                     t ? "name\tpython3\npython\tcollect\t/home/me/train.py\t18\n"
                       : "name\tpython3\non\tfutex\npython\tfeed\t/home/me/train.py\t25\n");
        tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING}, "");
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    if (lock)
        judge("a thread keeps Python's lock", job, ANA_VERDICT_HUNG, ANA_CLASS_CYCLE, "1", "keeps Python's lock");
    else
        judge("no thread does", job, ANA_VERDICT_HUNG, ANA_CLASS_UNMATCHED, "0,1", "never sent");
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(!lock || (v->groups == 2 && strstr(v->group[0].where, "collect")), "the stack of its thread");
    ana_job_close(job);
    folder_remove();
}

/* Two ranks wait for each other, and a thread of rank 0 that has called no MPI yet may send what rank 1 waits for; it
 * may not where MPI has no MPI_THREAD_MULTIPLE, nor where a library made it. */
static void has_silent_thread(int level, const char *native, bool proven)
{
    static const struct rank rank[] = {RECV(1, 5), RECV(0, 6)};
    folder_make("silent");
    for (int r = 0; r < 2; r++) {
        struct tb *tb = make(&rank[r], r, 2);
        tb_head(tb)->thread_level = level;
        for (uint32_t t = 0; t < 2 && r == 0; t++)
            tb_stack(tb, 1, t ? 5555 : 1000,
                     (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = t ? 0 : TRC_STACK_MAIN},
                     t ? native : stacks[0]);
        tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING}, "");
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    judge("a thread has not called MPI yet", job, ANA_VERDICT_HUNG, ANA_CLASS_CYCLE, "0,1", "in a circle");
    const struct ana_verdict *v = ana_job_verdict(job);
    bool said = false;
    for (size_t i = 0; v && i < v->facts; i++)
        said |= strstr(v->fact[i].text, "rank 0 that has called no MPI yet is at feed_results") != NULL;
    CHECK(v && said == !proven && (v->confidence == ANA_PROVEN) == proven, "level %d, %s", level, native);
    ana_job_close(job);
    folder_remove();
}

/* Rank 0 waits for rank 1 with a mutex that another thread of its waits for; rank 1 waits for rank 0.  Where only one
 * thread may call MPI, the mutex explains nothing. */
static void holds_mutex(int level, bool explains)
{
    static const struct rank rank[] = {RECV(1, 5), RECV(0, 6)};
    folder_make("mutex");
    for (int r = 0; r < 2; r++) {
        struct tb *tb = make(&rank[r], r, 2);
        tb_head(tb)->thread_level = level;
        for (uint32_t t = 0; t < 2 && r == 0; t++)
            tb_stack(
                tb, 1, t ? 5555 : 1000,
                (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = t ? 0 : TRC_STACK_MAIN},
                t ? "name\tfeeder\non\tfutex(), a lock held by thread 1000\nnative\tfeed_results+0x10\tapp+0x3010\n"
                  : stacks[0]);
        tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING}, "");
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    judge("a mutex is held inside a call", job, ANA_VERDICT_HUNG, ANA_CLASS_CYCLE, explains ? "0" : "0,1",
          explains ? "holds a lock that another thread there waits for at feed_results" : "in a circle");
    ana_job_close(job);
    folder_remove();
}

/* A thread of rank 1 is in MPI_Abort for a shorter time than its main thread is in a receive; `call` was its call
 * before, which is worth a word unless it is a query. */
static void aborts(enum tb_call call, const char *says)
{
    static const struct rank rank[] = {BARRIER(20 * S), RECV(0, 5)};
    folder_make("aborts");
    for (int r = 0; r < 2; r++) {
        struct tb *tb = make(&rank[r], r, 2);
        struct trc_sig sig = tb_sig(TB_ABORT), before = tb_sig(call);
        if (r == 1) {
            before.site = 0x10;
            tb_site(tb, before.site, "save+0x4", "/home/me/app+0x44");
            tb_event(tb, 1, &before, END - 3000, END - 2000, (struct tb_more){0});
            tb_inside(tb, 1, &sig, END - 1000, 0);
            tb_head(tb)->state = TRC_STATE_ABORTED;
        }
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    judge("a thread calls MPI_Abort", job, ANA_VERDICT_ABORTED, ANA_CLASS_EARLY_EXIT, "1", "rank 1 called MPI_Abort");
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v && v->groups && strstr(v->group[0].doing, "in MPI_Abort"), "%s", v ? v->group[0].doing : "");
    const char *fact = v && v->facts ? v->fact[0].text : "";
    CHECK(says ? strstr(fact, says) != NULL : !strstr(fact, "call before"), "%s", fact);
    ana_job_close(job);
    folder_remove();
}

/* Rank 1 is outside MPI, and a thread of it waits for orders that nobody gives. */
static void listens(void)
{
    static const struct rank rank[] = {BARRIER(20 * S), OUTSIDE, BARRIER(20 * S)};
    folder_make("listens");
    for (int r = 0; r < 3; r++) {
        struct tb *tb = make(&rank[r], r, 3);
        if (r == 1)
            tb_listens(tb, 1, 10 * S);
        for (uint32_t t = 0; t < 2 && r == 1; t++)
            tb_stack(tb, 1, 1001u + t,
                     (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = t ? 0 : TRC_STACK_MAIN}, stacks[t]);
        tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING}, "");
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    judge("a thread only listens", job, ANA_VERDICT_HUNG, ANA_CLASS_MISSING, "1", "rank 1 has not come to MPI_Barrier");
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v && v->groups && strstr(v->group[0].doing, "outside MPI") && strstr(v->group[0].where, "exchange_edges"),
          "%s <- %s", v ? v->group[0].doing : "", v ? v->group[0].where : "");
    ana_job_close(job);
    folder_remove();
}

/* Rank 1 waits for a file's lock, which a process holds that has the number of rank 0, in this namespace or another. */
static void waits_for_file(bool same)
{
    static const struct rank rank[] = {BARRIER(20 * S), OUTSIDE};
    folder_make("file");
    for (int r = 0; r < 2; r++) {
        struct tb *tb = make(&rank[r], r, 2);
        tb_head(tb)->namespaces[TRC_NAMESPACE_pid] = r || same ? 7 : 8;
        if (r == 1) {
            tb_stack(tb, 0, 1001, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_MAIN},
                     "name\tmain\non\tflock() on /data/log, held by process 1000\nnative\tput+0x10\tapp+0x1010\n");
            tb_stack(tb, 0, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING}, "");
        }
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    if (same)
        judge("a rank holds the lock", job, ANA_VERDICT_HUNG, ANA_CLASS_CYCLE, "0", "lock of a file that rank 0 holds");
    else
        judge("another namespace", job, ANA_VERDICT_HUNG, ANA_CLASS_MISSING, "1", "rank 1 has not come to MPI_Barrier");
    ana_job_close(job);
    folder_remove();
}

/* Rank 1 waits for a message that rank 0 has sent with another tag; each has a service thread since 10 s. */
int main(void)
{
    static const struct rank rank[] = {BARRIER(21 * S), RECV(0, 14)};
    folder_make("threads");
    for (int r = 0; r < 2; r++) {
        struct tb *tb = make(&rank[r], r, 2);
        tb_listens(tb, 1, 10 * S);
        for (uint32_t t = 0; t < 2; t++)
            tb_stack(tb, 1, 1000u + (uint32_t)r + t,
                     (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = t ? TRC_STACK_MAIN : 0}, stacks[t]);
        tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING}, "");
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    judge("a service thread in each rank", job, ANA_VERDICT_HUNG, ANA_CLASS_UNMATCHED, "0,1", "tag 14");
    const struct ana_verdict *v = ana_job_verdict(job);
    for (size_t i = 0; v && i < v->groups; i++)
        CHECK(!strstr(v->group[i].doing, "tag 9") && !strstr(v->group[i].where, "listen_for_orders"), "%s: %s <- %s",
              v->group[i].who, v->group[i].doing, v->group[i].where);
    ana_job_close(job);
    folder_remove();
    keeps_lock(true);
    keeps_lock(false);
    aborts(TB_FILE_WRITE, "its call before that was MPI_File_write at save");
    aborts(TB_COMM_RANK, NULL);
    listens();
    waits_for_file(true);
    waits_for_file(false);
    has_silent_thread(3, "name\tfeeder\non\tsleep()\nnative\tfeed_results+0x10\tapp+0x3010\n", false);
    has_silent_thread(2, "name\tfeeder\non\tsleep()\nnative\tfeed_results+0x10\tapp+0x3010\n", true);
    has_silent_thread(3, "name\tpool\non\tfutex()\nnative\twork+0x10\tlibgomp.so.1+0x3010\n", true);
    holds_mutex(3, true);
    holds_mutex(2, true);
    holds_mutex(1, false);
    return check_result();
}
