/* hpctop record [-o DIR] [-n] [-q] [--kill-hung SECONDS] -- CMD..: runs a command so that its ranks are recorded. */
#include "tui/commands/alarm.h"
#include "tui/commands/command.h"
#include "tui/commands/ended.h"
#include "tui/commands/nearest.h"
#include "tui/launch/record.h"
#include "tui/launch/run.h"

#include "trace/util/text.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit statuses of a shell for a command that it cannot start. */
enum { EXIT_NOT_RUN = 126, EXIT_NOT_FOUND = 127 };

/* Makes a folder, which is the user's alone, and those above it; returns 0 or an errno. */
static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int failed = mkdir(path, 0755) && errno != EEXIST;
        *slash = '/';
        if (failed)
            return errno;
    }
    return mkdir(path, 0700) && errno != EEXIST ? errno : 0;
}

/* Length of the existing part of a path: the folder, or the nearest above it. */
static size_t length_there(const char *path)
{
    char above[4096];
    struct stat info;
    snprintf(above, sizeof above, "%s", path);
    for (char *slash; stat(above, &info) && (slash = strrchr(above, '/')) && slash != above;)
        *slash = 0;
    return strlen(above);
}

/* Removes empty folders again, down to the part that was there before. */
static void remove_folders(const char *path, size_t there)
{
    char above[4096];
    snprintf(above, sizeof above, "%s", path);
    for (char *slash; strlen(above) > there && rmdir(above) == 0 && (slash = strrchr(above, '/')) && slash != above;)
        *slash = 0;
}

static const char *find_batch_job(void)
{
    static const char *const names[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "COBALT_JOBID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value && !strchr(value, '/'))
            return value;
    }
    return NULL;
}

/* Names the trace folder by an absolute path, which is right for all ranks wherever they start. */
static bool name_folder(const char *wanted, char *out, size_t size)
{
    char here[4096];
    if (wanted && wanted[0] == '/')
        return (size_t)snprintf(out, size, "%s", wanted) < size;
    if (!getcwd(here, sizeof here))
        return false;
    if (wanted)
        return (size_t)snprintf(out, size, "%s/%s", here, wanted) < size;
    const char *job = find_batch_job();
    struct stat info;
    for (int try = 1; try < 1000; try++) { /* a pid may be used again */
        size_t n = (size_t)snprintf(out, size, "%s/hpctop-%s%s%d", here, job ? job : "", job ? "." : "", (int)getpid());
        if (n < size && try > 1)
            n += (size_t)snprintf(out + n, size - n, "-%d", try);
        if (n >= size)
            return false;
        if (stat(out, &info))
            return true;
    }
    return false;
}

static void print_quoted(const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=,./:@%^";
    if (*word && word[strspn(word, plain)] == 0) {
        fputs(word, stdout);
        return;
    }
    bool hidden = false;
    for (const char *at = word; *at && !hidden; at += trc_text_char(at, strlen(at)))
        hidden = trc_text_char(at, strlen(at)) == 0;
    fputs(hidden ? "$'" : "'", stdout);
    for (size_t n; *word; word += n ? n : 1) {
        n = trc_text_char(word, strlen(word));
        if (n == 0) /* not a shown character: as bash, ksh and zsh write it */
            printf("\\x%02x", (unsigned char)*word);
        else if (*word == '\'')
            fputs(hidden ? "\\'" : "'\\''", stdout);
        else if (*word == '\\' && hidden)
            fputs("\\\\", stdout);
        else
            printf("%.*s", (int)n, word);
    }
    putchar('\'');
}

/* Prints the command as a shell reads it. */
static int print_plan(const struct tui_plan *plan)
{
    for (size_t i = 0; i < plan->settings; i++) {
        char *value = tui_setting_value(&plan->setting[i], false);
        printf("%s=", plan->setting[i].name);
        print_quoted(value ? value : "");
        printf(" \\\n");
        free(value);
    }
    for (size_t i = 0; i < plan->words.count; i++) {
        fputs(i ? " " : "", stdout);
        print_quoted(plan->words.word[i]);
    }
    putchar('\n');
    return tui_finish(TUI_EXIT_OK);
}

/* Prints that the command could not be started; returns the exit status of a shell for that. */
static int report_not_started(const char *command, int error)
{
    tui_input_error("cannot start %s: %s", command, strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

/* Options, as typed. */
struct wanted {
    const char *folder; /* NULL: none was named */
    bool dry, quiet;
    double kill_hung_s; /* 0: never */
};

/* Runs the command, and ends it when it hangs; returns 0 or an errno. */
static int run_watched(const struct tui_plan *plan, const char *folder, double kill_hung_s, int *status)
{
    const pid_t watcher = kill_hung_s > 0 ? tui_alarm_start(folder, kill_hung_s) : 0;
    if (watcher < 0)
        return errno;
    const int failed = tui_run(plan, folder, status);
    if (watcher > 0) {
        kill(watcher, SIGKILL);
        waitpid(watcher, NULL, 0);
    }
    return failed;
}

static int run_plan(const struct tui_plan *plan, char *folder, const struct wanted *wanted)
{
    const bool quiet = wanted->quiet;
    char path[4096];
    bool found = tui_find_program(plan->words.word[0], path, sizeof path); /* no folder is made without a program */
    size_t there = folder ? length_there(folder) : 0;
    int error = found && folder ? make_folders(folder) : 0;
    if (found && folder && !error && access(folder, W_OK | X_OK))
        error = errno;
    /* libtrace.so makes the folder when a rank starts, so that a launch that fails leaves none; but what a container is
     * to see of it has to be there before. */
    if (folder && (error || !tui_plan_layer(plan, TUI_LAYER_RUNTIME)))
        remove_folders(folder, there);
    if (error)
        return tui_input_error("cannot write the trace to %s: %s; choose another folder with -o", folder,
                               strerror(error));
    if (found && folder && !quiet)
        fprintf(stderr, "hpctop: the trace goes to %s%s\n", folder,
                tui_newest_trace(folder).tv_sec ? ", beside those of an earlier job: only the newest job there is shown"
                                                : "");
    else if (found && !quiet)
        fprintf(stderr, "hpctop: the trace of each job goes to hpctop-<job id> in the folder where the job runs\n");
    const struct timespec before = tui_newest_trace(folder);
    int status = 0, failed = run_watched(plan, folder, wanted->kill_hung_s, &status);
    if (!failed && !quiet)
        tui_print_end(plan, folder, before, status != 0);
    if (folder)
        remove_folders(folder, there);
    return failed ? report_not_started(plan->words.word[0], failed) : tui_run_exit(status);
}

static int record_command(const struct wanted *wanted, char *const *command, size_t n)
{
    char library[4096], folder[4096];
    struct tui_plan plan;
    if (!tui_find_libtrace(library, sizeof library))
        return tui_input_error("libtrace.so was not found %s; set HPCTOP_LIBTRACE to its path", library);
    if (strpbrk(library, ": "))
        return tui_input_error(
            "%s cannot be preloaded, since its path has a blank or a colon; make a link to it in another folder",
            library);
    if (!tui_plan_read(&plan, command, n))
        return tui_input_error("%s", plan.refusal);
    /* A script may start several jobs: libtrace.so gives each a folder of its own. */
    const char *from_user = wanted->folder ? wanted->folder : getenv("HPCTOP_DIR");
    bool named = (from_user && *from_user) || !plan.launches || wanted->kill_hung_s > 0;
    if (named && !name_folder(from_user && *from_user ? from_user : NULL, folder, sizeof folder))
        return tui_input_error("the path of the trace folder is too long");
    if (!tui_plan_apply(&plan, library, named ? folder : NULL)) {
        int status = tui_input_error("%s", plan.refusal);
        tui_plan_free(&plan);
        return status;
    }
    int status = wanted->dry ? print_plan(&plan) : run_plan(&plan, named ? folder : NULL, wanted);
    tui_plan_free(&plan);
    return status;
}

int tui_command_record(int argc, char **argv)
{
    static const struct option names[] = {{"output", required_argument, NULL, 'o'},
                                          {"dry-run", no_argument, NULL, 'n'},
                                          {"quiet", no_argument, NULL, 'q'},
                                          {"kill-hung", required_argument, NULL, 'k'},
                                          {0}};
    struct wanted wanted = {0};
    int option;
    char *end;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "+:o:nq", names, NULL)) != -1) {
        if (option == ':')
            return tui_usage_error("record", "%s needs a %s", argv[optind - 1],
                                   optopt == 'k' ? "number of seconds" : "folder");
        if (option == '?')
            return tui_unknown_option("record", argv[optind - 1]);
        if (option == 'o')
            wanted.folder = optarg;
        else if (option == 'q')
            wanted.quiet = true;
        else if (option == 'n')
            wanted.dry = true;
        else if (!((wanted.kill_hung_s = strtod(optarg, &end)) >= 1 && wanted.kill_hung_s < 1e6 && !*end))
            return tui_usage_error("record", "%s is not a number of seconds, 1 or more", optarg);
    }
    if (wanted.folder && !*wanted.folder)
        return tui_usage_error("record", "-o needs a folder");
    if (optind == argc)
        return tui_usage_error("record", "record needs a command: hpctop record -- mpirun -n 4 ./app");
    return record_command(&wanted, argv + optind, (size_t)(argc - optind));
}
