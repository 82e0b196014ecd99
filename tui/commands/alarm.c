#include "tui/commands/alarm.h"
#include "tui/commands/command.h"
#include "trace/session/session.h"
#include "trace/verdict/verdict.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_FOLDERS = 60 };

/* Runs hpctop with the arguments, ended by NULL, and its output in the file `name` of a folder. */
static void write_output(const char *folder, const char *name, const char *const *arguments)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const pid_t child = fork();
    if (child == 0) {
        const int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
        if (out >= 0 && dup2(out, STDOUT_FILENO) >= 0)
            execv("/proc/self/exe", (char *const *)(uintptr_t)arguments);
        perror(path);
        _exit(TUI_EXIT_INPUT);
    }
    while (child > 0 && waitpid(child, NULL, 0) != child)
        ;
}

void tui_alarm_evidence(const char *const *folders, int n, double hang_s)
{
    static const struct evidence {
        const char *name, *command, *option;
    } all[] = {
        {"stacks.txt", "stacks", NULL}, {"verdict.txt", "verdict", "--hang"}, {"report.html", "report", "--html"}};
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%.3f", hang_s);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *arguments[MOST_FOLDERS + 8] = {"hpctop", all[i].command};
        int used = 2;
        const bool hang = all[i].option && !strcmp(all[i].option, "--hang");
        if (all[i].option && (!hang || hang_s > 0))
            arguments[used++] = all[i].option;
        if (hang && hang_s > 0)
            arguments[used++] = seconds;
        for (int f = 0; f < n && f < MOST_FOLDERS; f++)
            arguments[used++] = folders[f];
        write_output(folders[0], all[i].name, arguments);
    }
}

/* Returns the seconds that the job of a folder has hung for; 0: it does not, or is not known to. */
static double hung_for(const char *folder, double hang_s)
{
    char error[512];
    struct ana_job *job;
    if (ana_job_open(&folder, 1, &job, error, sizeof error) != TRC_OK)
        return 0;
    ana_job_set_hang(job, hang_s);
    tui_sample_twice(job, 1);
    const struct ana_verdict *v = ana_job_verdict(job);
    const bool hangs = v && v->state == ANA_VERDICT_HUNG && v->confidence >= ANA_LIKELY;
    const double seconds = hangs ? (double)v->since_ns / 1e9 : 0;
    ana_job_close(job);
    return seconds;
}

static void watch(const char *folder, double seconds, pid_t parent)
{
    const double pause = seconds < 4 ? 1 : seconds < 40 ? seconds / 4 : 10;
    double hung;
    do
        nanosleep(&(struct timespec){(time_t)pause, (long)((pause - (double)(time_t)pause) * 1e9)}, NULL);
    while ((hung = hung_for(folder, seconds)) < seconds);
    tui_alarm_evidence(&folder, 1, seconds);
    fprintf(stderr, "hpctop: hung for %.0f s, and ended; %s has stacks.txt, verdict.txt and report.html\n", hung,
            folder);
    kill(parent, SIGTERM);
}

pid_t tui_alarm_start(const char *folder, double seconds)
{
    const pid_t parent = getpid(), child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        watch(folder, seconds, parent);
    _exit(0);
}
