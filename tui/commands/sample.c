#include "tui/commands/sample.h"
#include "tui/commands/command.h"
#include "tui/output/sampled.h"
#include "tui/sources/outside.h"
#include "trace/job/window.h"
#include "trace/verdict/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WAIT_NS 20000000

/* Sets the late ranks, if none was asked for: the culprits of the verdict, else the rank with most waiting charged to
 * it. */
static void choose_late(struct ana_job *job, const struct ana_summary *summary, uint8_t *late)
{
    const struct ana_verdict *v = ana_job_verdict(job);
    size_t most = SIZE_MAX;
    for (size_t i = 0; i < v->culprits; i++)
        late[v->culprit[i]] = 1;
    for (size_t i = 0; i < summary->rank_count; i++)
        if (tui_is_here(ana_job_rank(job, i)) &&
            (most == SIZE_MAX || summary->ranks[i].charged_ns > summary->ranks[most].charged_ns))
            most = i;
    if (!v->culprits && most != SIZE_MAX)
        late[most] = 1;
}

static bool runs_here(const struct ana_job *job)
{
    for (size_t i = 0; i < ana_job_info(job).ranks; i++)
        if (tui_is_here(ana_job_rank(job, i)))
            return true;
    return false;
}

static void print_line(void *unused, enum tui_style style, const char *text)
{
    (void)unused;
    (void)style;
    puts(text);
}

/* Samples and prints; `late` has an element a rank.  Returns the exit status. */
static int sample_ranks(struct tui_samples *s, struct ana_job *job, double seconds, const char *ranks, uint8_t *late)
{
    char error[200];
    struct ana_summary summary;
    struct tui_sides sides;
    if (ranks && !ana_ranks_of_text(job, ranks, late, error, sizeof error))
        return tui_input_error("%s", error);
    ana_job_advance(job, 0);
    if (!runs_here(job))
        return tui_input_error("no rank of this job runs on this host: sample where it runs, for example by ssh");
    if (ana_summarize(job, (struct ana_selection){.end_ns = INT64_MAX}, &summary) != TRC_OK)
        return tui_input_error("out of memory");
    if (!ranks)
        choose_late(job, &summary, late);
    const bool chosen = tui_choose_sides(job, &summary, late, &sides);
    ana_summary_free(&summary);
    if (!chosen)
        return tui_input_error("the ranks to sample do not run on this host");
    if (!tui_samples_start(sides.process, sides.count, seconds))
        return tui_input_error("out of memory");
    do {
        nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
        tui_samples_copy(s);
    } while (s->runs);
    if (!s->count[TUI_SAMPLES_LATE]) {
        tui_outside_why_not(error, sizeof error);
        return tui_input_error("%s", error);
    }
    tui_sampled_lines(s, &sides, print_line, NULL);
    return tui_finish(TUI_EXIT_OK);
}

int tui_sample(struct ana_job *job, double seconds, const char *ranks)
{
    struct tui_samples *s = calloc(1, sizeof *s);
    uint8_t *late = calloc(ana_job_info(job).ranks + 1, 1);
    const int status = s && late ? sample_ranks(s, job, seconds, ranks, late) : tui_input_error("out of memory");
    free(late);
    free(s);
    return status;
}
