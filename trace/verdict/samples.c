/* Two looks at a running job: what moved between them. */
#include "trace/verdict/verdict_impl.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_GAP_NS 500000000

/* The second field of its main thread's schedstat: nanoseconds on a run queue (Linux, Documentation/scheduler/
 * sched-stats). */
static uint64_t queued_ns(const struct ana_process *p)
{
    char path[64];
    uint64_t ran, queued = UINT64_MAX;
    snprintf(path, sizeof path, "/proc/%u/schedstat", p->rank.pid);
    FILE *f = p->alive && p->by_pid ? fopen(path, "r") : NULL;
    if (f && fscanf(f, "%" SCNu64 " %" SCNu64, &ran, &queued) != 2)
        queued = UINT64_MAX;
    if (f)
        fclose(f);
    return queued;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void ana_looks_free(struct ana_looks *looks)
{
    if (!looks)
        return;
    free(looks->seen[0]);
    free(looks->seen[1]);
    free(looks);
}

static struct ana_looks *looks_of(struct ana_job *job)
{
    if (!job->looks) {
        job->looks = calloc(1, sizeof *job->looks);
        if (job->looks)
            job->looks->rules = (struct ana_verdict_rules){1000000000, ANA_HUNG_NS};
    }
    return job->looks;
}

static bool begin_anew(struct ana_looks *looks, const struct ana_job *job)
{
    looks->taken = 0;
    looks->generation = job->generation;
    looks->count = job->count;
    for (int i = 0; i < 2; i++) {
        free(looks->seen[i]);
        looks->seen[i] = calloc(job->count + 1, sizeof *looks->seen[i]);
    }
    return looks->seen[0] && looks->seen[1];
}

void ana_looks_take(struct ana_job *job)
{
    struct ana_looks *looks = looks_of(job);
    int64_t now = now_ns();
    if (!looks)
        return;
    if (!looks->seen[0] || !looks->seen[1] || looks->generation != job->generation || looks->count != job->count) {
        if (!begin_anew(looks, job))
            return;
    } else if (looks->taken && now - looks->at_ns[1] < LOOK_GAP_NS) {
        return;
    }
    struct ana_seen *older = looks->seen[0];
    looks->seen[0] = looks->seen[1];
    looks->seen[1] = older;
    looks->at_ns[0] = looks->at_ns[1];
    looks->at_ns[1] = now;
    for (size_t i = 0; i < job->count; i++) {
        struct ana_process *p = &job->process[i];
        looks->seen[1][i] = (struct ana_seen){p->rank.calls, p->progress, p->cpu_ms, ana_process_io(p), queued_ns(p)};
    }
    looks->taken++;
}

/* Of a counter, each nanosecond between the looks. */
static double rate(const struct ana_looks *looks, uint64_t then, uint64_t now)
{
    int64_t passed = looks->at_ns[1] - looks->at_ns[0];
    return then == UINT64_MAX || now == UINT64_MAX || now < then || passed <= 0 ? NAN
                                                                                : (double)(now - then) / (double)passed;
}

double ana_looks_cpu(const struct ana_case *c, size_t index)
{
    const struct ana_looks *looks = c->looks;
    return looks && looks->taken >= 2 ? rate(looks, looks->seen[0][index].cpu, looks->seen[1][index].cpu) * 1e6 : NAN;
}

double ana_looks_queued(const struct ana_case *c, size_t index)
{
    const struct ana_looks *looks = c->looks;
    return looks && looks->taken >= 2 ? rate(looks, looks->seen[0][index].queued, looks->seen[1][index].queued) : NAN;
}

double ana_looks_io(const struct ana_case *c, size_t index)
{
    const struct ana_looks *looks = c->looks;
    return looks && looks->taken >= 2 ? rate(looks, looks->seen[0][index].io, looks->seen[1][index].io) * 1e9 : NAN;
}

void ana_job_set_rules(struct ana_job *job, struct ana_verdict_rules rules)
{
    struct ana_looks *looks = looks_of(job);
    if (looks)
        looks->rules = rules;
}

unsigned ana_job_looks(const struct ana_job *job)
{
    return job->looks ? job->looks->taken : 0;
}

bool ana_job_doubtful(const struct ana_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->process[i].by_clock)
            return true;
    return false;
}

bool ana_job_suspect(const struct ana_job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        const struct ana_process *p = &job->process[i];
        if (p->rank.lives_on)
            return true;
        if (!p->alive)
            continue;
        bool waits = p->rank.inside && p->rank.inside_ns >= 200000000;
        bool polls = false;
        for (size_t t = 0; t < trc_threads(p->rank.file) && !polls; t++) {
            const struct trc_sig *last = trc_live_sig(p->rank.file, t, trc_thread(p->rank.file, t)->last);
            polls = last && last->flags & (TRC_SIG_POLL | TRC_SIG_CONTROL);
        }
        bool device = p->rank.gpu_op && p->rank.gpu_ns >= 200000000;
        if (waits || polls || device || p->stopped)
            return true;
    }
    return false;
}
