#include "tui/commands/ended.h"
#include "tui/sources/lines.h"
#include "trace/job/comms.h"
#include "trace/summary/summary.h"
#include "trace/util/text.h"
#include "trace/members/unseen.h"
#include "trace/session/session.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUDGET_NS 3000000000 /* time to read events: a longer trace is read when somebody looks */
#define DYING_NS  1000000000 /* time for a launcher's last processes to end */
#define MOST_JOBS 2u         /* two lines each, and one for all others: five at most */

static bool is_newer(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* Returns when the newest trace file of a folder was written; zeros: it has none. */
static struct timespec newest_in(const char *folder)
{
    struct timespec newest = {0};
    struct stat info;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (trc_ends_in(entry->d_name, ".hpctop") && !fstatat(dirfd(dir), entry->d_name, &info, 0) &&
            is_newer(info.st_mtim, newest))
            newest = info.st_mtim;
    if (dir)
        closedir(dir);
    return newest;
}

/* The folders called hpctop-* here whose traces are newer than `before`: their number, the first of them, and when the
 * newest was written. */
struct found {
    char folder[MOST_JOBS][NAME_MAX + 1];
    size_t count;
    struct timespec newest;
};

static void find_here(struct timespec before, struct found *found)
{
    DIR *dir = opendir(".");
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strncmp(entry->d_name, "hpctop-", 7) != 0)
            continue;
        struct timespec newest = newest_in(entry->d_name);
        if (!is_newer(newest, before))
            continue;
        found->newest = is_newer(newest, found->newest) ? newest : found->newest;
        if (found->count < MOST_JOBS)
            snprintf(found->folder[found->count], sizeof found->folder[0], "%s", entry->d_name);
        found->count++;
    }
    if (dir)
        closedir(dir);
}

struct timespec tui_newest_trace(const char *folder)
{
    struct found found = {0};
    if (folder)
        return newest_in(folder);
    find_here((struct timespec){0}, &found);
    return found.newest;
}

/* Writes the headline of a job that has ended, from its events if they are soon read. */
static void word_headline(struct ana_job *job, char *out, size_t size)
{
    const struct ana_selection all = {.begin_ns = 0, .end_ns = INT64_MAX};
    struct ana_summary summary;
    bool whole = ana_job_advance(job, BUDGET_NS) >= 1;
    if ((whole ? ana_summarize(job, all, &summary) : ana_summarize_counters(job, &summary)) != TRC_OK)
        return;
    if (whole)
        ana_headline(job, &summary, NULL, out, size);
    else
        ana_headline_finished(job, &summary, out, size);
    ana_summary_free(&summary);
}

/* Waits for a job in which some ranks have ended while others are being ended, for at most DYING_NS. */
static void wait_for_the_rest(struct ana_job *job)
{
    const struct timespec pause = {.tv_nsec = DYING_NS / 50};
    for (int i = 0; i < 50; i++) {
        size_t over = 0, ranks = ana_job_info(job).ranks;
        for (size_t k = 0; k < ranks; k++)
            over += ana_job_rank(job, k)->state == ANA_RANK_DONE || ana_job_rank(job, k)->state == ANA_RANK_DEAD;
        if (over == 0 || over == ranks)
            return;
        nanosleep(&pause, NULL);
        ana_job_refresh(job);
    }
}

/* Prints where the files of ranks may be that have none here. */
static void print_absent(const struct ana_job *job, const struct tui_plan *plan, const char *folder)
{
    char ranks[192], library[PATH_MAX];
    ana_absent_words(job, ranks, sizeof ranks);
    fprintf(stderr, "hpctop: if %s ran on another host: ", ranks);
    if (plan->script && strncmp(ana_job_info(job).mpi, "Open MPI", 8) == 0)
        fputs("Open MPI hands no variables of a script to it; put hpctop record before mpirun in the script\n", stderr);
    else if (tui_find_libtrace(library, sizeof library))
        fprintf(stderr, "get %s from there and name both folders; if there is none, libtrace.so has to be there: %s\n",
                folder, library);
}

/* Prints that a command failed whose ranks ended MPI in order, and which rank ended with an exit code behind it. */
static void print_failed(const struct ana_job *job)
{
    size_t first = SIZE_MAX, more = 0;
    for (size_t i = 0; i < ana_job_info(job).ranks; i++) {
        const bool exited = trc_head(ana_job_rank(job, i)->file)->end.code != 0;
        more += exited && first != SIZE_MAX;
        first = exited && first == SIZE_MAX ? i : first;
    }
    if (first == SIZE_MAX) {
        fputs("hpctop: the command failed, though its ranks ended MPI in order: see its output\n", stderr);
        return;
    }
    fprintf(stderr, "hpctop: rank %s ended with exit code %d after MPI_Finalize", ana_rank_label(job, first).text,
            trc_head(ana_job_rank(job, first)->file)->end.code);
    if (more)
        fprintf(stderr, ", and %zu more with one", more);
    fputs(": see its output\n", stderr);
}

/* Prints the first thing that is known to be bad, and how many more are. */
static void print_known(const struct ana_job *job)
{
    const char *known[8];
    const size_t n = ana_known_bad_of(job, known, sizeof known / sizeof *known);
    char more[64] = "";
    if (n > 1)
        snprintf(more, sizeof more, " (and %zu more: hpctop report)", n - 1);
    if (n)
        fprintf(stderr, "hpctop: known: %s%s\n", known[0], more);
}

/* Prints headline or verdict of a job, and its folder, in at most five lines: two, unless it is `alone`.  `failed`: the
 * command that started it did. */
static void print_job(const struct tui_plan *plan, const char *folder, bool alone, bool failed)
{
    char line[768] = "";
    struct ana_job *job;
    if (ana_job_open(&folder, 1, &job, line, sizeof line) != TRC_OK) {
        fprintf(stderr, "hpctop: %s\n", line);
        return;
    }
    tui_lines_use(job, TUI_LINES_PATIENCE);
    wait_for_the_rest(job);
    const bool runs = ana_job_info(job).state == ANA_RUNNING;
    const struct ana_verdict *verdict = runs ? NULL : ana_job_verdict(job);
    if (verdict && verdict->state == ANA_VERDICT_HEALTHY) {
        word_headline(job, line, sizeof line);
        verdict = ana_job_verdict(job); /* events may have shown that it was slow */
    }
    if (verdict && verdict->state != ANA_VERDICT_HEALTHY)
        ana_verdict_headline(verdict, line, sizeof line);
    if (failed && verdict && (verdict->state == ANA_VERDICT_HEALTHY || verdict->state == ANA_VERDICT_SLOW))
        print_failed(job);
    if (*line)
        fprintf(stderr, "hpctop: %s\n", line);
    if (alone)
        print_known(job);
    if (alone && !runs && ana_job_info(job).ranks < ana_job_info(job).world_size)
        print_absent(job, plan, folder);
    fprintf(stderr, runs ? "hpctop: the job still runs; look with: hpctop %s\n" : "hpctop: look with: hpctop %s\n",
            folder);
    ana_job_close(job);
}

/* Returns the number of processes that the launcher was told to start; 0: it was not told by -n, -np or alike. */
static unsigned long count_processes(const struct tui_plan *plan)
{
    const struct tui_layer *launcher = tui_plan_layer(plan, TUI_LAYER_LAUNCHER);
    for (size_t i = launcher ? launcher->options : SIZE_MAX; launcher && i + 1 < launcher->inner; i++)
        if (tui_listed("-n -np --np --n -c --ntasks", ' ', plan->words.word[i], strlen(plan->words.word[i])))
            return strtoul(plan->words.word[i + 1], NULL, 10);
    return 0;
}

/* Prints why there is no trace, as far as the command says. */
static void print_nothing(char *const *command, size_t n, bool failed)
{
    struct tui_plan plan;
    struct tui_elf elf = {0};
    char path[PATH_MAX];
    const bool planned = tui_plan_read(&plan, command, n);
    const char *name = planned && plan.program < plan.words.count ? plan.words.word[plan.program] : NULL;
    const bool read = name && tui_find_program(name, path, sizeof path) && tui_elf_read(path, &elf) && elf.is_elf;
    const unsigned long processes = planned && !failed ? count_processes(&plan) : 0;
    fputs("hpctop: nothing was recorded: ", stderr);
    if (failed)
        fputs("the command failed before a first call of MPI or NCCL", stderr);
    else if (read && !elf.mpi_called && !elf.nccl_called)
        fprintf(stderr, "no call of MPI or NCCL was made, and %s is not linked with them", name);
    else
        fputs("no call of MPI or NCCL was made", stderr);
    if (processes > 1)
        fprintf(stderr, ": %lu processes ran the same", processes);
    fputc('\n', stderr);
    tui_plan_free(&plan);
}

/* Returns a path without the working directory in front. */
static const char *shorten(const char *path)
{
    char here[PATH_MAX];
    const size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;
    return n > 1 && strncmp(path, here, n) == 0 && path[n] == '/' && path[n + 1] ? path + n + 1 : path;
}

void tui_print_end(const struct tui_plan *plan, const char *folder, struct timespec before, bool failed)
{
    struct found found = {0};
    char line[256];
    if (folder && is_newer(newest_in(folder), before)) {
        print_job(plan, shorten(folder), true, failed);
        return;
    }
    if (!folder)
        find_here(before, &found);
    for (size_t i = 0; i < found.count && i < MOST_JOBS; i++)
        print_job(plan, found.folder[i], found.count == 1, failed && found.count == 1);
    if (found.count > MOST_JOBS)
        fprintf(stderr, "hpctop: and %zu more jobs in hpctop-*\n", found.count - MOST_JOBS);
    if (!found.count && folder && ana_unseen(folder, line, sizeof line))
        fprintf(stderr, "hpctop: nothing was recorded: %s\n", line);
    else if (!found.count && !tui_plan_layer(plan, TUI_LAYER_BATCH))
        print_nothing(plan->words.word, plan->words.count, failed); /* words of the plan have moved */
}
