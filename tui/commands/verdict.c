/* hpctop verdict [--json] DIR..: whether a job is hung or slow, who, why, and where to look next. */
#include "tui/commands/arguments.h"
#include "tui/commands/ask.h"
#include "tui/commands/command.h"
#include "tui/output/report_json.h"
#include "tui/sources/outside.h"
#include "tui/sources/running.h"
#include "trace/job/parts.h"
#include "trace/util/numfmt.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include "trace/session/session.h"

#include <stdlib.h>
#include <unistd.h>

#define SAMPLE_S    1.0            /* between two samples of a running job */
#define MOST        12             /* groups of ranks that are printed */
#define NAMED       3              /* ranks that run, whose places are looked up */
#define PATIENCE_NS TUI_ANSWERS_NS /* for a thread that stops to be seen, too */
#define SOON        1000000        /* calls */
#define NOTABLE     "no trouble, but worth a look: "

/* Place of a main thread, seen from outside. */
struct seen {
    bool asleep_too; /* wanted also where the thread waits in a system call */
    struct tui_outside_frame at;
};

static void copy_place(void *to, size_t i, const struct tui_outside_stack *stack)
{
    struct seen *seen = to;
    const struct tui_outside_frame *at = stack->runs || seen->asleep_too ? tui_outside_place(stack) : NULL;
    (void)i;
    if (at)
        seen->at = *at;
}

static struct tui_outside_frame see_place(int pid, bool asleep_too)
{
    struct seen seen = {asleep_too, {0}};
    struct tui_outside *process = tui_outside_open(pid, pid);
    tui_outside_read(&process, 1, PATIENCE_NS, copy_place, &seen);
    tui_outside_close(process);
    return seen.at;
}

static void print_place(const char *rank, const struct tui_outside_frame *at)
{
    if (*at->where)
        printf("  why: rank %s is at %s%s%s now\n", rank, at->where, *at->function ? " in " : "", at->function);
}

/* Prints the place of a rank's main thread on this host, if it runs outside MPI or in MPI_Init, where the recorder
 * reads no stack. */
static void print_running(const struct ana_job *job, size_t index)
{
    const struct ana_rank *rank = ana_job_rank(job, index);
    const bool starts = trc_head(rank->file)->init_ticks == 0;
    if (!tui_is_this_host(rank->host) ||
        !(starts ? rank->state == ANA_RANK_IN_MPI : rank->state == ANA_RANK_RUN && !rank->inside))
        return;
    const struct tui_outside_frame at = see_place((int)rank->pid, starts);
    print_place(ana_rank_label(job, index).text, &at);
}

/* Prints the processes on this host that are ranks without a file, and their places. */
static void print_absent(const struct ana_job *job, const struct ana_verdict *v)
{
    enum { MOST_RANKS = 1024 };
    static struct tui_running_rank found[MOST_RANKS];
    const struct ana_rank *any = v->absents ? ana_job_rank(job, 0) : NULL;
    char name[sizeof((struct tui_running_job *)NULL)->job];
    const bool here = any && tui_is_this_host(any->host) && tui_running_name((int)any->pid, name, sizeof name);
    const size_t n = here ? tui_running_ranks(name, found, MOST_RANKS) : 0;
    for (size_t i = 0, told = 0; i < v->absents && told < NAMED; i++)
        for (size_t k = 0; k < n; k++) {
            if (found[k].rank != v->absent[i])
                continue;
            char rank[64];
            snprintf(rank, sizeof rank, "%d, process %d on this host,", found[k].rank, found[k].pid);
            const struct tui_outside_frame at = see_place(found[k].pid, true);
            print_place(rank, &at);
            if (!*at.where)
                printf("  why: rank %s is there\n", rank);
            told++;
        }
}

/* Prints the verdict; `words` replaces its headline unless NULL. */
static void print_text(const struct ana_job *job, const struct ana_verdict *v, const char *words)
{
    char line[768];
    ana_verdict_headline(v, line, sizeof line);
    bool named = v->state == ANA_VERDICT_HUNG || v->state == ANA_VERDICT_WAITING;
    printf("%s%s%s.\n", named ? "" : ana_verdict_state_name(v->state), named ? "" : ": ", words ? words : line);
    if (v->state == ANA_VERDICT_HEALTHY)
        return;
    for (size_t i = 0; i < ana_shown(v->groups, MOST); i++) {
        const struct ana_verdict_group *g = &v->group[i];
        printf("  %-9s  %s%s%s\n", g->who, g->doing, g->where[0] ? "   <- " : "", g->where);
    }
    if (v->groups > ana_shown(v->groups, MOST))
        printf("  and %zu more places\n", v->groups - MOST);
    for (size_t i = 0; i < v->facts; i++)
        printf("  why: %s\n", v->fact[i].text);
    for (size_t i = 0; i < v->culprits && i < NAMED && named; i++)
        print_running(job, v->culprit[i]);
    print_absent(job, v);
    for (size_t i = 0; i < v->divergences; i++)
        printf("%s    %s\n", i ? "" : "  where they part:\n", v->divergence[i]);
    if (v->next[0])
        printf("  next: look at %s\n", v->next);
    printf("  certainty: %s%s%s\n", ana_confidence_name(v->confidence), v->id ? "; class " : "",
           v->id ? ana_verdict_class_name(v->id) : "");
}

/* Reads all events: they decide whether the job is slow.  Words the headline. */
static void read_events(struct ana_job *job, char *healthy, size_t size)
{
    char headline[400];
    struct ana_summary summary;
    if (ana_job_read_by_threads(job))
        ana_job_advance(job, 0);
    if (ana_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &summary) != TRC_OK)
        return;
    bool notable = ana_headline(job, &summary, NULL, headline, sizeof headline) != ANA_FINE;
    snprintf(healthy, size, "%s%s", notable ? NOTABLE : "", headline);
    ana_summary_free(&summary);
}

/* Whether the events of a job are read in a fraction of a second. */
static bool is_small(const struct ana_job *job)
{
    uint64_t calls = 0;
    for (size_t i = 0; i < ana_job_info(job).ranks; i++)
        calls += ana_job_rank(job, i)->calls;
    return calls < SOON;
}

/* Words a healthy verdict: the headline; of a long job that has finished without its events, where heads and live pages
 * prove that no rank was late. */
static void explain(struct ana_job *job, char *healthy, size_t size)
{
    char headline[400];
    struct ana_summary counters;
    bool well = false;
    if (ana_job_info(job).state == ANA_FINISHED && !is_small(job) && ana_summarize_counters(job, &counters) == TRC_OK) {
        bool notable = ana_headline_finished(job, &counters, headline, sizeof headline) != ANA_FINE;
        well = ana_finished_well(job, &counters);
        if (well)
            snprintf(healthy, size, "%s%s", notable ? NOTABLE : "", headline);
        ana_summary_free(&counters);
    }
    if (!well)
        read_events(job, healthy, size);
}

int tui_command_verdict(int argc, char **argv)
{
    bool json = false;
    double hang_s = TUI_HANG_S, sample_s = SAMPLE_S;
    char healthy[512] = "";
    struct ana_job *job;
    const struct tui_argument known[] = {
        {"json", 0, TUI_FLAG, &json}, {"hang", 0, TUI_SECONDS, &hang_s}, {"look", 0, TUI_SECONDS, &sample_s}, {0}};
    int status = tui_arguments_job(argc, argv, known, &job);
    if (status != TUI_EXIT_OK)
        return status;
    ana_job_set_hang(job, hang_s);
    tui_sample_twice(job, sample_s);
    const struct ana_verdict *v = tui_sure_verdict(job, (const char *const *)argv + optind, argc - optind, PATIENCE_NS);
    if (v && v->state == ANA_VERDICT_HEALTHY) {
        explain(job, healthy, sizeof healthy);
        v = ana_job_verdict(job);
    }
    const char *words = v && v->state == ANA_VERDICT_HEALTHY && *healthy ? healthy : NULL;
    char *text = v && json ? tui_verdict_json(job, v, words ? words : v->summary.text) : NULL;
    if (text)
        puts(text);
    else if (v && !json)
        print_text(job, v, words);
    bool done = v && (text || !json),
         waits = v && v->state == ANA_VERDICT_WAITING && hang_s > 0 && (double)v->since_ns >= hang_s * 1e9;
    status = v && ana_verdict_state_alarms(v->state) ? TUI_EXIT_TROUBLE : waits ? TUI_EXIT_WAITING : TUI_EXIT_OK;
    free(text);
    ana_job_close(job);
    return done ? tui_finish(status) : tui_input_error("out of memory");
}
