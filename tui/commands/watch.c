/* hpctop watch [--json] [--every SECONDS] [--on hung|slow|ended CMD] DIR..: one line at a time while a job runs. */
#include "tui/commands/again.h"
#include "tui/commands/alarm.h"
#include "tui/commands/arguments.h"
#include "tui/commands/ask.h"
#include "tui/commands/command.h"
#include "tui/output/watch_line.h"
#include "trace/session/session.h"
#include "trace/util/now.h"
#include "trace/verdict/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define BUDGET_NS 200000000 /* time for new events, each round: the rest is read later */

/* Prints a line and flushes, since who reads it waits for it.  False: nobody reads any more, or out of memory, which is
 * told. */
static bool print_line(struct ana_job *job, bool json)
{
    struct ana_summary summary;
    bool done = ana_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &summary) == TRC_OK;
    char *line = done ? (json ? tui_watch_json : tui_watch_text)(job, &summary) : NULL;
    if (!line)
        tui_input_error("out of memory");
    bool printed = line && puts(line) >= 0 && fflush(stdout) == 0;
    free(line);
    if (done)
        ana_summary_free(&summary);
    return printed;
}

/* Waits until a due time, and returns the next one: missed ones are left out. */
static int64_t wait_until(int64_t due_ns, int64_t every_ns)
{
    int64_t left_ns = due_ns - ana_now_ns();
    struct timespec pause = {left_ns / 1000000000, left_ns % 1000000000};
    if (left_ns > 0)
        nanosleep(&pause, NULL);
    return (left_ns > 0 ? due_ns : ana_now_ns()) + every_ns;
}

/* Whether no process of it is there any more. */
static bool is_over(const struct ana_job *job)
{
    return ana_job_info(job).quiet_ns < 0;
}

/* A command that is to run once, when the job is in a state. */
struct alarm {
    const char *on, *command; /* NULL: none; no longer */
};

/* Runs the command if the job is as it waits for, after the evidence is written: $1 is the folder, $2 the headline. */
static void check_alarm(struct alarm *alarm, const struct ana_job *job, const char *const *folders, int n)
{
    char line[768];
    const struct ana_verdict *v = alarm->on ? ana_job_verdict(job) : NULL;
    const char *state = is_over(job) && alarm->on && strcmp(alarm->on, "ended") == 0 ? "ended"
                        : v                                                          ? ana_verdict_state_name(v->state)
                                                                                     : "";
    if (!alarm->on || strcmp(alarm->on, state) != 0)
        return;
    alarm->on = NULL;
    ana_verdict_headline(v, line, sizeof line);
    tui_alarm_evidence(folders, n, TUI_HANG_S);
    const pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", alarm->command, "hpctop", folders[0], line, NULL);
        _exit(127);
    }
    while (child > 0 && waitpid(child, NULL, 0) != child)
        ;
}

static int watch(const char *const *folders, int n, bool json, double every_s, struct alarm alarm)
{
    struct ana_job *job;
    int opened = tui_open_job(folders, n, &job);
    if (opened != TUI_EXIT_OK)
        return opened;
    ana_job_watch(job, true);
    int64_t every_ns = (int64_t)(every_s * 1e9), due_ns = ana_now_ns() + every_ns;
    bool printed = true;
    ana_job_advance(job, BUDGET_NS);
    while (printed && !is_over(job)) {
        tui_sure_verdict(job, folders, n, TUI_ANSWERS_NS);
        printed = print_line(job, json); /* current calls of ranks are news; their events are read while nobody waits */
        int64_t soon_ns = ana_job_due(job), left_ns = soon_ns - ana_now_ns();
        if (left_ns > 0)
            ana_job_advance(job, left_ns < BUDGET_NS ? left_ns : BUDGET_NS);
        check_alarm(&alarm, job, folders, n);
        due_ns = wait_until(soon_ns < due_ns ? soon_ns : due_ns, every_ns);
        ana_job_refresh(job);
    }
    ana_job_advance(job, 0);
    printed = printed && print_line(job, json);
    check_alarm(&alarm, job, folders, n);
    const struct ana_verdict *verdict = ana_job_verdict(job);
    bool trouble = !verdict || ana_verdict_state_alarms(verdict->state);
    struct tui_again again = {folders, (size_t)n, NULL};
    bool wanted = printed && tui_again_wanted(job);
    ana_job_close(job);
    while (wanted && tui_again_step(&again, 0))
        ;
    return printed ? tui_finish(trouble ? TUI_EXIT_TROUBLE : TUI_EXIT_OK) : tui_finish(TUI_EXIT_INPUT);
}

int tui_command_watch(int argc, char **argv)
{
    bool json = false;
    double every_s = 1;
    struct alarm alarm = {0};
    const struct tui_argument known[] = {
        {"json", 0, TUI_FLAG, &json}, {"every", 0, TUI_SECONDS, &every_s}, {"on", 0, TUI_TEXT, &alarm.on}, {0}};
    int status = tui_arguments(argc, argv, known, "a trace folder");
    if (status == TUI_EXIT_OK && alarm.on) {
        alarm.command = argv[optind++];
        if (strcmp(alarm.on, "hung") != 0 && strcmp(alarm.on, "slow") != 0 && strcmp(alarm.on, "ended") != 0)
            return tui_usage_error("watch", "--on needs hung, slow or ended, not %s", alarm.on);
        if (optind == argc)
            return tui_usage_error("watch", "watch --on %s needs a command and a trace folder", alarm.on);
    }
    return status ? status : watch((const char *const *)argv + optind, argc - optind, json, every_s, alarm);
}
