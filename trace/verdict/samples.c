/* Two samples of a running job: what moved between them. */
#include "trace/job/upper.h"
#include "trace/util/now.h"
#include "trace/verdict/verdict_impl.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_GAP_NS 500000000

/* Reads the second field of the main thread's schedstat: ns on a run queue (Linux,
 * Documentation/scheduler/sched-stats). */
static uint64_t read_queued_ns(const struct ana_process *p)
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

static bool restart_samples(struct ana_samples *samples, const struct ana_job *job)
{
    const struct ana_members *members = ana_job_members(job);
    samples->taken = 0;
    samples->generation = members->generation;
    samples->count = members->count;
    for (int i = 0; i < 2; i++) {
        free(samples->seen[i]);
        samples->seen[i] = calloc(members->count + 1, sizeof *samples->seen[i]);
    }
    return samples->seen[0] && samples->seen[1];
}

void ana_samples_add(struct ana_job *job)
{
    const struct ana_members *members = ana_job_members(job);
    struct ana_samples *samples = &ana_job_judgement(job)->samples;
    int64_t now = ana_now_ns();
    if (!samples->seen[0] || !samples->seen[1] || samples->generation != members->generation ||
        samples->count != members->count) {
        if (!restart_samples(samples, job))
            return;
    } else if (samples->taken && now - samples->at_ns[1] < SAMPLE_GAP_NS) {
        return;
    }
    struct ana_rank_sample *older = samples->seen[0];
    samples->seen[0] = samples->seen[1];
    samples->seen[1] = older;
    samples->at_ns[0] = samples->at_ns[1];
    samples->at_ns[1] = now;
    for (size_t i = 0; i < members->count; i++) {
        struct ana_process *p = &members->process[i];
        samples->seen[1][i] =
            (struct ana_rank_sample){p->rank.calls, p->progress, p->cpu_ms, ana_process_io(p), read_queued_ns(p)};
    }
    samples->taken++;
}

/* The rate of a counter of a rank between the samples, per ns; NAN unknown. */
static double rate_of(const struct ana_case *c, size_t index, size_t offset)
{
    const struct ana_samples *samples = c->samples;
    if (samples->taken < 2)
        return NAN;
    const uint64_t then = *(const uint64_t *)((const char *)&samples->seen[0][index] + offset),
                   now = *(const uint64_t *)((const char *)&samples->seen[1][index] + offset);
    const int64_t passed = samples->at_ns[1] - samples->at_ns[0];
    return then == UINT64_MAX || now == UINT64_MAX || now < then || passed <= 0 ? NAN
                                                                                : (double)(now - then) / (double)passed;
}

double ana_samples_cpu(const struct ana_case *c, size_t index)
{
    return rate_of(c, index, offsetof(struct ana_rank_sample, cpu)) * 1e6;
}

double ana_samples_queued(const struct ana_case *c, size_t index)
{
    return rate_of(c, index, offsetof(struct ana_rank_sample, queued));
}

double ana_samples_io(const struct ana_case *c, size_t index)
{
    return rate_of(c, index, offsetof(struct ana_rank_sample, io)) * 1e9;
}

unsigned ana_job_samples(const struct ana_job *job)
{
    return ana_job_judgement(job)->samples.taken;
}

bool ana_job_doubtful(const struct ana_job *job)
{
    const struct ana_members *members = ana_job_members(job);
    for (size_t i = 0; i < members->count; i++)
        if (members->process[i].by_clock)
            return true;
    return false;
}

bool ana_job_suspect(const struct ana_job *job)
{
    const struct ana_members *members = ana_job_members(job);
    for (size_t i = 0; i < members->count; i++) {
        const struct ana_process *p = &members->process[i];
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
