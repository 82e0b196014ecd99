/* Code shared by all commands: how they end, and the second sample of a running job. */
#include "tui/commands/command.h"
#include "trace/job/job.h"
#include "trace/util/text.h"
#include "trace/verdict/verdict.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int tui_usage_error(const char *command, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    trc_clean_text(text);
    fprintf(stderr, "hpctop: %s (see: hpctop help%s%s)\n", text, command ? " " : "", command ? command : "");
    return TUI_EXIT_USAGE;
}

int tui_input_error(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    trc_clean_text(text);
    fprintf(stderr, "hpctop: %s\n", text);
    return TUI_EXIT_INPUT;
}

int tui_finish(int status)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return tui_input_error("cannot write the output: %s", strerror(errno));
    return status;
}

void tui_sample_twice(struct ana_job *job, double seconds)
{
    if (ana_job_doubtful(job)) {
        nanosleep(&(struct timespec){.tv_sec = 2, .tv_nsec = 100000000}, NULL);
        ana_job_refresh(job);
    }
    double least = seconds < 0.6 ? 0.6 : seconds;
    while (ana_job_samples(job) < 2 && ana_job_suspect(job)) {
        struct timespec pause = {(time_t)least, (long)((least - (double)(time_t)least) * 1e9)};
        nanosleep(&pause, NULL);
        ana_job_refresh(job);
    }
}
