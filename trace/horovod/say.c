/* The words of a judgement: who the culprits are, and what their own files tell. */
#include "trace/horovod/judge.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define GAP_BEATS 10         /* a second */
#define ENDING_NS 5000000000 /* a launcher on a busy machine takes so long to end its processes */

__attribute__((format(printf, 2, 3))) void hvd_say(struct ana_hvd_finding *out, const char *format, ...)
{
    va_list args;
    if (out->lines == sizeof out->line / sizeof *out->line)
        return;
    va_start(args, format);
    vsnprintf(out->line[out->lines++], sizeof *out->line, format, args);
    va_end(args);
}

/* "rank 5", "ranks 0-2 and 4", "no rank": of the members that are marked with `value`. */
void hvd_names(const struct hvd_judge *j, const uint8_t *mark, uint8_t value, char *out, size_t size)
{
    struct ana_ranges ranges;
    ana_ranges_begin(&ranges, out, size, ANA_RANGES_MOST, true);
    for (size_t m = 0; m < j->set->ranks; m++)
        if (mark[m] == value)
            ana_ranges_add(&ranges, (struct ana_rank_id){.rank = (int32_t)m});
    ana_ranges_end(&ranges);
    if (!*out)
        snprintf(out, size, "no rank");
}

void hvd_finish(struct hvd_judge *j, enum ana_hvd_class id, int64_t since_ns)
{
    struct ana_hvd_finding *out = j->out;
    out->id = id;
    out->since_ns = since_ns;
    out->hung = j->set->now_ns - since_ns >= j->hang_ns;
    for (size_t m = 0; m < j->set->ranks; m++)
        if (j->culprit[m] && j->set->rank[m].index != SIZE_MAX &&
            out->culprits < sizeof out->culprit / sizeof *out->culprit)
            out->culprit[out->culprits++] = j->set->rank[m].index;
    for (size_t i = 1; i < out->culprits; i++) /* members may be in another order than ranks */
        for (size_t k = i; k > 0 && out->culprit[k - 1] > out->culprit[k]; k--) {
            size_t moved = out->culprit[k];
            out->culprit[k] = out->culprit[k - 1];
            out->culprit[k - 1] = moved;
        }
}

/* How many heartbeats a process missed; the process with the most a second tells how many there should be. */
static double missed_beats(const struct hvd_judge *j, size_t m)
{
    double best = 0, own = 0, beats = 0;
    for (size_t i = 0; i < j->set->ranks; i++) {
        if (!j->work->member[i].file)
            continue;
        const struct ana_process *p = &j->job->process[j->set->rank[i].index];
        double life = (double)(j->set->now_ns - p->rank.begin_ns) / 1e9, n = (double)trc_head(p->rank.file)->heartbeats;
        if (life > 0 && n / life > best)
            best = n / life;
        if (i == m) {
            own = life;
            beats = n;
        }
    }
    return best * own - beats;
}

/* Its heartbeat has ended while those of others went on: it is stopped, or was, wherever its loop was then.  A launcher
 * that ends a job wakes it once more: then there is a gap. */
bool hvd_is_silent(const struct hvd_judge *j, size_t m)
{
    const struct ana_process *p = &j->job->process[j->set->rank[m].index];
    if (j->set->now_ns - p->heartbeat_ns >= (j->over ? ENDING_NS : HVD_NOTABLE_NS) &&
        trc_head(p->rank.file)->heartbeats > 0)
        return true;
    double others = 0, missed = j->over ? missed_beats(j, m) : 0;
    if (missed < GAP_BEATS)
        return false;
    for (size_t i = 0; i < j->set->ranks; i++)
        if (i != m && j->work->member[i].file && missed_beats(j, i) > others)
            others = missed_beats(j, i);
    return missed > 3 * others;
}

void hvd_say_where(struct hvd_judge *j, size_t m)
{
    const struct ana_hvd_rank *r = &j->set->rank[m];
    if (r->index == SIZE_MAX) {
        hvd_say(j->out, "rank %zu: has no trace file here", m);
        return;
    }
    const struct ana_rank *rank = &j->job->process[r->index].rank;
    if (!r->alive && rank->state == ANA_RANK_DEAD && !j->over)
        hvd_say(j->out, "rank %zu: its process (pid %u) is gone", m, rank->pid);
    else if (hvd_is_silent(j, m) && j->over)
        hvd_say(j->out,
                "rank %zu: its process (pid %u) missed %.0f heartbeats before the end: it was stopped, or its host", m,
                rank->pid, missed_beats(j, m));
    else if (hvd_is_silent(j, m))
        hvd_say(j->out, "rank %zu: its process (pid %u) has given no sign of life for %.1f s: stopped, or its host is",
                m, rank->pid, (double)(j->set->now_ns - j->job->process[r->index].heartbeat_ns) / 1e9);
    else if (r->main_inside)
        hvd_say(j->out, "rank %zu: its main thread has been in %s for %.1f s", m, r->main_inside,
                (double)(j->set->now_ns - r->main_since_ns) / 1e9);
    else if (r->phase == ANA_HVD_OUTSIDE && j->set->now_ns - r->cycle_ns >= HVD_NOTABLE_NS)
        hvd_say(j->out, "rank %zu: its loop is outside MPI, last seen at cycle %llu, %.1f s ago", m,
                (unsigned long long)r->cycles, (double)(j->set->now_ns - r->cycle_ns) / 1e9);
    else
        hvd_say(j->out, "rank %zu: its loop turns (cycle %llu, in %s)", m, (unsigned long long)r->cycles,
                ana_hvd_phase_name(r->phase));
}

void hvd_say_tensors(struct hvd_judge *j)
{
    for (size_t i = 0; i < j->set->tensors && j->out->lines < 4; i++) {
        const struct ana_hvd_tensor *t = &j->set->tensor[i];
        char yes[100], no[100];
        if (!t->pending)
            continue;
        hvd_names(j, t->submitted, ANA_HVD_YES, yes, sizeof yes);
        hvd_names(j, t->submitted, ANA_HVD_NO, no, sizeof no);
        if (memchr(t->submitted, ANA_HVD_NO, j->set->ranks))
            hvd_say(j->out, "%s: submitted by %s, not by %s", t->name, yes, no);
        else
            hvd_say(j->out, "%s: submitted by %s", t->name, yes);
    }
}
