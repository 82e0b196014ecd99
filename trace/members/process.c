#include "trace/members/process.h"
#include "trace/util/times.h"
#include "trace/util/now.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEAR_GRACE_NS 3000000000     /* silence of a process of this host whose pid is not to be found */
#define FAR_GRACE_NS  10000000000    /* silence of a process elsewhere, before its state is unknown */
#define GONE_NS       60000000000    /* silence until it counts as gone */
#define WATCH_NS      2000000000     /* ... if we watched for this long: until then its wall clock may be wrong */
#define WRONG_NS      86400000000000 /* largest error of such a wall clock: a day */
#define LATE_NS       2000000000     /* a heartbeat that is found so long after the last one may be old itself */
#define SAMPLE_NS     450000000
#define RATE_NS       900000000

void ana_here_now(struct ana_here *here)
{
    memset(here, 0, sizeof *here);
    gethostname(here->host, sizeof here->host - 1);
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f) {
        if (fgets(here->boot_id, sizeof here->boot_id, f))
            here->boot_id[strcspn(here->boot_id, "\n")] = 0;
        fclose(f);
    }
    struct stat pids; /* inode number equals the one in readlink's text */
    here->pid_namespace = stat("/proc/self/ns/pid", &pids) ? 0 : pids.st_ino;
    here->realtime_ns = ana_wall_ns();
    here->monotonic_ns = here->read_ns = ana_now_ns();
}

/* Fields of /proc/PID/stat. */
struct pid_stat {
    uint64_t start; /* field 22; 0: there is none */
    uint64_t cpu_ms;
    bool stopped, traced; /* stopped by a debugger */
};

static struct pid_stat stat_of_pid(uint32_t pid)
{
    struct pid_stat stat = {0};
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return stat;
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = 0;
    char *at = strrchr(line, ')');
    if (!at || !at[1] || at[2] == 'X')
        return stat;
    bool left = at[2] == 'Z'; /* the main thread; others may go on */
    stat.traced = at[2] == 't';
    stat.stopped = at[2] == 'T' || stat.traced;
    uint64_t jiffies = 0;
    for (int field = 2; at && field < 22; field++) {
        at = strchr(at + 1, ' ');
        if (at && (field == 13 || field == 14)) /* utime, stime */
            jiffies += strtoull(at, NULL, 10);
        if (at && field == 19 && left && strtoull(at, NULL, 10) <= 1) /* num_threads */
            return stat;
    }
    stat.start = at ? strtoull(at, NULL, 10) : 0;
    long hz = sysconf(_SC_CLK_TCK);
    stat.cpu_ms = hz > 0 ? jiffies * 1000 / (uint64_t)hz : 0;
    return stat;
}

/* Whether its pid is one of this pid namespace and boot. */
static bool pids_are_ours(const struct trc_head *head, const struct ana_here *here)
{
    bool near = head->boot_id[0] && strcmp(head->boot_id, here->boot_id) == 0;
    uint64_t pids = head->namespaces[TRC_NAMESPACE_pid];
    return near && (pids && here->pid_namespace ? pids == here->pid_namespace
                                                : !head->runtime[0] && strcmp(head->host, here->host) == 0);
}

static int64_t silence_ns(const struct ana_process *p, const struct trc_head *head, const struct ana_here *here)
{
    uint64_t last = head->latest.realtime_ns ? head->latest.realtime_ns : head->start.realtime_ns;
    uint64_t now = (uint64_t)here->realtime_ns;
    int64_t silent = last < now ? (int64_t)(now - last) : 0; /* a damaged file may have any number */
    if (p->heartbeat_seen && here->monotonic_ns - p->heartbeat_seen < silent)
        silent = here->monotonic_ns - p->heartbeat_seen;
    return silent;
}

/* Whether a finalized process still exists: by its pid, or by its heartbeat where the pid tells nothing. */
static bool lives_on(struct ana_process *p, const struct trc_head *head, const struct ana_here *here)
{
    bool near = head->boot_id[0] && strcmp(head->boot_id, here->boot_id) == 0;
    struct pid_stat stat = near && head->pid_start ? stat_of_pid(head->pid) : (struct pid_stat){0};
    p->by_pid = near && head->pid_start && stat.start == head->pid_start;
    if (p->by_pid)
        p->cpu_ms = stat.cpu_ms;
    p->ended_ns = silence_ns(p, head, here);
    if (p->by_pid || p->heartbeat_seen == 0 || (head->pid_start && pids_are_ours(head, here)))
        return p->by_pid;
    return here->monotonic_ns - p->heartbeat_seen < NEAR_GRACE_NS;
}

bool ana_process_beats(const struct trc_head *head)
{
    return head->state != TRC_STATE_STARTING && !(head->flags & TRC_HEAD_NO_SESSION);
}

static enum ana_rank_state runs(struct ana_process *p, bool beats)
{
    p->silent_ns = beats ? p->silent_ns : 0;
    return ANA_RANK_RUN;
}

/* The state of a process that did not tell how it ended. */
static enum ana_rank_state state_of(struct ana_process *p, const struct trc_head *head, const struct ana_here *here)
{
    bool near = head->boot_id[0] && strcmp(head->boot_id, here->boot_id) == 0;
    bool same_pids = pids_are_ours(head, here);
    p->alive = true;
    bool beats = ana_process_beats(head);
    p->silent_ns = silence_ns(p, head, here);
    struct pid_stat stat = near && head->pid_start ? stat_of_pid(head->pid) : (struct pid_stat){0};
    if (near && head->pid_start && stat.start == head->pid_start) {
        p->stopped = stat.stopped;
        p->traced = stat.traced;
        p->cpu_ms = stat.cpu_ms;
        p->by_pid = true;
        return runs(p, beats);
    }
    if (same_pids && head->pid_start) {
        p->alive = false;
        p->by_pid = true;
        return ANA_RANK_DEAD;
    }
    /* It may live in another pid namespace, or on another host: then its heartbeat tells. */
    if (p->silent_ns < (!beats ? GONE_NS : near ? NEAR_GRACE_NS : FAR_GRACE_NS))
        return runs(p, beats);
    p->alive = false;
    if (!beats)
        return ANA_RANK_UNKNOWN;
    p->by_clock = !near && p->silent_ns < WRONG_NS && here->monotonic_ns - p->first_look < WATCH_NS;
    return near || (p->silent_ns >= GONE_NS && !p->by_clock) ? ANA_RANK_DEAD : ANA_RANK_UNKNOWN;
}

uint64_t ana_process_end_ticks(const struct ana_process *p, const struct ana_here *here)
{
    const struct trc_head *head = trc_head(p->rank.file);
    bool ended = head->state == TRC_STATE_FINALIZED || head->state == TRC_STATE_ABORTED;
    uint64_t end = ended && head->end_ticks ? head->end_ticks : head->latest.ticks;
    if (head->end.by && head->end.ticks > end)
        end = head->end.ticks;
    if (end < head->start.ticks)
        end = head->start.ticks;
    for (size_t i = 0; i < trc_threads(p->rank.file); i++) {
        const struct trc_thread *t = trc_thread(p->rank.file, i);
        if (t->last_end > end)
            end = t->last_end;
        if (t->inside && t->inside_since > end)
            end = t->inside_since;
    }
    int64_t passed = silence_ns(p, head, here); /* time by our own clock if we saw a heartbeat: theirs may be wrong */
    /* A silent heartbeat proves nothing if the pid exists, unless recording has ended. */
    bool here_now = p->by_pid && !p->stopped && head->state != TRC_STATE_STOPPED;
    if (p->alive && head->latest.ticks && passed > 0 && (here_now || passed < FAR_GRACE_NS)) {
        uint64_t now = head->latest.ticks + (uint64_t)ana_rounded((double)passed / trc_ns_per_tick(p->rank.file));
        end = now > end ? now : end;
    }
    return end;
}

static int64_t time_of(const struct ana_clock *clock, size_t index, uint64_t ticks)
{
    return ana_time_within(ana_clock_job_time(clock, index, ticks));
}

static bool is_nccl(const struct trc_file *file, uint32_t call)
{
    return trc_opclass_category(trc_call(file, call)->opclass) == TRC_CAT_NCCL;
}

/* A thread's time in calls, without NCCL's, in ticks. */
static double mpi_ticks(const struct trc_file *file, size_t thread)
{
    size_t n;
    const struct trc_counter *row = trc_rows(file, thread, &n);
    double ticks = (double)trc_thread(file, thread)->mpi_ticks;
    for (size_t k = 0; k < n; k++)
        if (row[k].call_plus_1 && is_nccl(file, row[k].call_plus_1 - 1u))
            ticks -= (double)row[k].ticks;
    return ticks > 0 ? ticks : 0;
}

/* Sums over the threads. */
static void sum_threads(struct ana_process *p, const struct ana_clock *clock, size_t index)
{
    struct ana_rank *r = &p->rank;
    double ns_per_tick = trc_ns_per_tick(r->file);
    r->calls = r->sent = r->received = r->sent_messages = r->received_messages = 0;
    r->mpi_ns = 0;
    r->inside = NULL;
    r->inside_sig = NULL;
    r->inside_ns = 0;
    bool aborts = false;
    p->progress = 0;
    p->last_end_ns = INT64_MIN;
    p->open_category = -1;
    for (size_t i = 0; i < trc_threads(r->file); i++) {
        const struct trc_thread *t = trc_thread(r->file, i);
        if (trc_is_stream(r->file, i)) {
            p->progress += t->calls; /* progress of its GPU */
            continue;
        }
        r->calls += t->calls;
        r->sent += t->sent;
        r->received += t->received;
        r->sent_messages += t->sent_messages;
        r->received_messages += t->received_messages;
        int64_t mpi = ana_rounded(mpi_ticks(r->file, i) * ns_per_tick);
        const struct trc_sig *sig = trc_live_sig(r->file, i, t->inside);
        if (sig) {
            int64_t since = time_of(clock, index, t->inside_since);
            int64_t open = r->end_ns > since ? r->end_ns - since : 0;
            mpi = ana_plus(mpi, is_nccl(r->file, sig->call) ? 0 : open);
            const struct trc_call *call = trc_call(r->file, sig->call);
            bool ends = call->opclass == TRC_OP_ABORT;
            if (ends || (!aborts && (!r->inside || open > r->inside_ns))) {
                aborts = ends; /* MPI_Abort decides, not the waits of other threads */
                r->inside = call->name;
                r->inside_sig = sig;
                r->inside_ns = open;
                p->open_begin_ns = since;
                p->open_category = (int)trc_opclass_category(call->opclass);
                if (r->state == ANA_RANK_RUN && trc_opclass_is(call->opclass, TRC_FACT_WAITS))
                    r->state = ANA_RANK_IN_MPI;
            }
        }
        if (mpi > r->mpi_ns)
            r->mpi_ns = mpi;
        if (t->last_end) {
            int64_t end = time_of(clock, index, t->last_end);
            p->last_end_ns = end > p->last_end_ns ? end : p->last_end_ns;
        }
        size_t n;
        const struct trc_counter *row = trc_rows(r->file, i, &n);
        for (size_t k = 0; k < n; k++)
            if (row[k].call_plus_1 &&
                trc_opclass_is_progress(trc_call(r->file, (uint32_t)row[k].call_plus_1 - 1)->opclass))
                p->progress += row[k].calls;
        p->progress += t->completes;
    }
    p->behind = trc_behind(r->file) || trc_progress(r->file) > p->progress;
    if (trc_progress(r->file) > p->progress) /* rows are from the last reading */
        p->progress = trc_progress(r->file);
}

/* The device operation that is under way the longest; NULL: there is none. */
static const struct trc_gpu_op *oldest_op(const struct trc_file *file)
{
    for (size_t i = 0; i < trc_gpu_ops(file); i++)
        if (!trc_gpu_over(trc_gpu_op(file, i)))
            return trc_gpu_op(file, i);
    return NULL;
}

static void set_gpu_op(struct ana_process *p, const struct ana_clock *clock, size_t index)
{
    struct ana_rank *r = &p->rank;
    r->gpu_op = r->state == ANA_RANK_DONE ? NULL : oldest_op(r->file);
    r->gpu_ns = 0;
    if (!r->gpu_op)
        return;
    const struct trc_gpu_op *op = r->gpu_op;
    uint64_t ticks = op->state == TRC_GPU_STARTED ? op->started : op->state == TRC_GPU_ENQUEUED ? op->enqueued : 0;
    int64_t since = time_of(clock, index, ticks ? ticks : op->called);
    r->gpu_ns = r->end_ns > since ? r->end_ns - since : 0;
}

static void set_rates(struct ana_process *p, const struct ana_here *here)
{
    struct ana_rank *r = &p->rank;
    struct ana_rate_sample now = {here->monotonic_ns, r->calls, r->sent, r->received, r->mpi_ns};
    struct ana_rate_sample then = {0};
    double s = 0;
    for (size_t i = 0; p->alive && i < sizeof p->sample / sizeof *p->sample; i++)
        if (p->sample[i].at_ns && now.at_ns - p->sample[i].at_ns >= RATE_NS) {
            then = p->sample[i];
            s = (double)(now.at_ns - then.at_ns) / 1e9;
            break;
        }
    r->sent_per_s = s > 0 ? (double)(now.sent - then.sent) / s : NAN;
    r->received_per_s = s > 0 ? (double)(now.received - then.received) / s : NAN;
    r->calls_per_s = s > 0 ? (double)(now.calls - then.calls) / s : NAN;
    r->mpi_share = s > 0 ? fmin(fmax((double)(now.mpi_ns - then.mpi_ns) / 1e9 / s, 0), 1) : NAN;
    if (now.at_ns - p->sample[0].at_ns >= SAMPLE_NS) {
        memmove(p->sample + 1, p->sample, sizeof p->sample - sizeof *p->sample);
        p->sample[0] = now;
    }
}

/* For how long recording was switched off. */
static int64_t off_ns(const struct ana_process *p, const struct ana_clock *clock, size_t index)
{
    const struct trc_head *head = trc_head(p->rank.file);
    int64_t over = ana_rounded((double)head->off_ticks * trc_ns_per_tick(p->rank.file));
    int64_t since = head->off_since ? time_of(clock, index, head->off_since) : INT64_MAX;
    return ana_plus(over, p->run_end_ns > since ? p->run_end_ns - since : 0);
}

/* Notes the time of the last heartbeat, as far as we have seen it ourselves.  The wall clocks have no say in it. */
static void follow_heartbeat(struct ana_process *p, const struct trc_head *head, const struct ana_here *here)
{
    if (p->heartbeats && head->heartbeats != p->heartbeats) {
        int64_t seen = here->monotonic_ns, passed = (int64_t)(head->latest.monotonic_ns - p->beat_ns);
        /* A heartbeat missing in a digest without a writer is found in the file, and may be old: it came as long after
         * the last one as the process's own clock says. */
        if (p->still_ns && passed >= 0 && here->read_ns - p->heartbeat_seen > LATE_NS &&
            passed < seen - p->heartbeat_seen)
            seen = p->heartbeat_seen + passed;
        int64_t ended = p->still_ns < passed ? p->still_ns : passed;
        p->longest_still_ns = ended > p->longest_still_ns ? ended : p->longest_still_ns;
        p->heartbeat_seen = seen;
    }
    p->heartbeats = head->heartbeats;
    p->beat_ns = head->latest.monotonic_ns;
    p->still_ns = p->heartbeat_seen && here->read_ns > p->heartbeat_seen ? here->read_ns - p->heartbeat_seen : 0;
}

void ana_process_refresh(struct ana_process *p, const struct ana_clock *clock, size_t index,
                         const struct ana_here *here)
{
    struct ana_rank *r = &p->rank;
    const struct trc_head *head = trc_head(r->file);
    follow_heartbeat(p, head, here);
    if (!p->first_look)
        p->first_look = here->monotonic_ns;
    r->pid = head->pid;
    p->cpu_ms = UINT64_MAX;
    p->stopped = p->traced = p->by_pid = p->by_clock = false;
    p->silent_ns = 0;
    r->lives_on = false;
    switch (head->state) {
    case TRC_STATE_FINALIZED:
        r->state = ANA_RANK_DONE;
        p->alive = false;
        r->lives_on = lives_on(p, head, here);
        break;
    case TRC_STATE_ABORTED:
        r->state = ANA_RANK_ABORTED;
        p->alive = false;
        break;
    case TRC_STATE_STOPPED:
        state_of(p, head, here);
        r->state = ANA_RANK_UNKNOWN;
        break;
    default:
        r->state = state_of(p, head, here);
    }
    r->off = head->off_since && r->state != ANA_RANK_DONE && r->state != ANA_RANK_ABORTED;
    if (r->off && r->state == ANA_RANK_RUN)
        r->state = ANA_RANK_OFF;
    /* A process that ended after its file was read: read it once more, for its end and its last activity. */
    bool once_more = r->state == ANA_RANK_DEAD && !p->read_to_end;
    p->read_to_end = r->state == ANA_RANK_DEAD;
    if (once_more && trc_refresh(r->file)) {
        ana_process_refresh(p, clock, index, here);
        return;
    }
    r->counted = trc_counters_known(r->file);
    r->unknown_requests = trc_head(r->file)->unknown_requests;
    if (!r->counted && (r->state == ANA_RANK_DONE || r->state == ANA_RANK_RUN))
        r->state = ANA_RANK_UNKNOWN;
    r->begin_ns = time_of(clock, index, head->start.ticks);
    r->end_ns = time_of(clock, index, ana_process_end_ticks(p, here));
    uint64_t heartbeat = head->latest.ticks > head->start.ticks ? head->latest.ticks : head->start.ticks;
    p->heartbeat_ns = time_of(clock, index, heartbeat);
    const struct trc_anchor *complete = trc_complete(r->file);
    p->complete_ns = time_of(clock, index, complete->ticks > head->start.ticks ? complete->ticks : head->start.ticks);
    p->run_begin_ns = head->init_ticks ? time_of(clock, index, head->init_ticks) : r->begin_ns;
    p->run_end_ns = head->end_ticks ? time_of(clock, index, head->end_ticks) : r->end_ns;
    r->off_ns = off_ns(p, clock, index);
    sum_threads(p, clock, index);
    set_gpu_op(p, clock, index);
    set_rates(p, here);
    if (!r->counted)
        r->sent_per_s = r->received_per_s = r->calls_per_s = r->mpi_share = NAN;
}
