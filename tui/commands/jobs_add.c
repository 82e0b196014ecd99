#include "tui/commands/jobs_add.h"
#include "tui/commands/command.h"
#include "tui/commands/whole.h"
#include "tui/output/page.h"
#include "tui/sources/jobs_db.h"
#include "tui/sources/lines.h"
#include "trace/job/sum_up.h"
#include "trace/reader/reader.h"
#include "trace/session/session.h"
#include "trace/verdict/verdict.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_RUNS = 1000 }; /* of a folder that are listed: its owner may put anything there */

static void copy(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%.*s", (int)size - 1, text ? text : "");
}

/* Writes who owns the folder. */
static void name_owner(const struct stat *folder, struct tui_job_row *row)
{
    const struct passwd *user = getpwuid(folder->st_uid);
    if (user)
        copy(row->user, sizeof row->user, user->pw_name);
    else
        snprintf(row->user, sizeof row->user, "%u", (unsigned)folder->st_uid);
}

static void describe(struct ana_job *job, const struct ana_summary *s, const struct ana_verdict *v, const char *answer,
                     struct tui_job_row *row)
{
    struct ana_job_info info = ana_job_info(job);
    copy(row->run, sizeof row->run, info.id);
    copy(row->id, sizeof row->id, info.batch[0] ? info.batch : info.id);
    copy(row->name, sizeof row->name, info.command);
    copy(row->state, sizeof row->state, ana_state_name(info.state));
    copy(row->verdict, sizeof row->verdict, v ? ana_verdict_state_name(v->state) : "unknown");
    copy(row->class, sizeof row->class, v && v->id ? ana_verdict_class_name(v->id) : "");
    copy(row->answer, sizeof row->answer, answer);
    row->begin_s = info.start_realtime_ns / 1000000000;
    row->ranks = (int64_t)info.ranks;
    row->nodes = (int64_t)info.hosts;
    row->elapsed_s = (double)info.elapsed_ns / 1e9;
    row->efficiency = s->efficiency.parallel;
    row->saves_s = s->price_count ? (double)s->prices[0].saves_ns / 1e9 : NAN;
}

/* Writes the page: whole, or not at all.  False: errno says why. */
static bool write_page(struct ana_job *job, const struct ana_summary *s, const struct ana_verdict *v,
                       const char *answer, const char *said, const char *path)
{
    struct tui_whole file;
    return tui_whole_open(&file, path) && tui_whole_close(&file, tui_page_write(job, s, v, answer, said, file.out));
}

/* ---- the runs of a folder ---------------------------------------------------------------------------------------- */

/* A trace file, and the run that it is of. */
struct file {
    char path[1400], run[64];
    uint64_t began;
};

static bool has_suffix(const char *name)
{
    size_t n = strlen(name);
    return n > 7 && strcmp(name + n - 7, ".hpctop") == 0;
}

/* Lists the files of a folder that can be read; returns how many.  -1: out of memory. */
static int list_files(const char *folder, struct file **out)
{
    int n = 0, room = 0;
    struct dirent *entry;
    DIR *open = opendir(folder);
    *out = NULL;
    while (open && (entry = readdir(open))) {
        struct trc_file *file;
        char error[256];
        if (n == room) {
            struct file *grown = realloc(*out, (size_t)(room = 2 * room + 64) * sizeof **out);
            if (!grown) {
                closedir(open);
                return -1;
            }
            *out = grown;
        }
        struct file *f = &(*out)[n];
        snprintf(f->path, sizeof f->path, "%.1100s/%.255s", folder, entry->d_name);
        if (!has_suffix(entry->d_name) || trc_open(f->path, &file, error, sizeof error) != TRC_OK)
            continue;
        copy(f->run, sizeof f->run, trc_head(file)->job);
        f->began = trc_head(file)->start.realtime_ns;
        trc_close(file);
        n++;
    }
    if (open)
        closedir(open);
    return n;
}

static int by_run(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->run, ((const struct file *)b)->run);
}

/* Hands on what was found of one run; false: nobody takes it. */
typedef bool take_row(void *user, const struct tui_job_row *row);

/* What the batch system says of the jobs that are added. */
static const char *batch_said = "";

/* Reads a run, and leaves its page.  Returns the exit status; the row goes to `take` if there is a job. */
static int read_run(const char *const *paths, size_t n, const char *folder, size_t number, take_row *take, void *user)
{
    char error[512], answer[512];
    struct ana_job *job;
    struct ana_summary s;
    struct tui_job_row row = {.elapsed_s = NAN, .efficiency = NAN, .saves_s = NAN};
    if (ana_job_open(paths, n, &job, error, sizeof error) != TRC_OK)
        return tui_input_error("%s", error);
    tui_lines_use(job, TUI_LINES_PATIENCE);
    tui_sample_twice(job, 1);
    if (ana_summarize_all(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &s) != TRC_OK) {
        ana_job_close(job);
        return tui_input_error("%s: out of memory", folder);
    }
    const struct ana_verdict *v = ana_job_verdict(job);
    ana_headline(job, &s, NULL, answer, sizeof answer);
    describe(job, &s, v, answer, &row);
    copy(row.said, sizeof row.said, batch_said);
    if (number) { /* one of several: a step of the batch job says so in its name */
        bool step = row.id[0] && strncmp(row.run, row.id, strlen(row.id)) == 0;
        copy(row.id, sizeof row.id, step ? row.run : row.id);
        snprintf(row.page, sizeof row.page, "%.990s/report-%zu.html", folder, number);
    } else {
        snprintf(row.page, sizeof row.page, "%.1000s/report.html", folder);
    }
    int status = TUI_EXIT_OK;
    if (!write_page(job, &s, v, answer, row.said, row.page)) {
        status = tui_input_error("cannot write %s: %s", row.page, strerror(errno));
        row.page[0] = 0;
    }
    ana_summary_free(&s);
    ana_job_close(job);
    return take(user, &row) ? status : TUI_EXIT_INPUT;
}

/* Whether a job has files of one run alone: all that can be read, as one job sees them. */
static bool is_one_run(const char *folder, int files)
{
    char error[512];
    struct ana_job *job;
    if (ana_job_open(&folder, 1, &job, error, sizeof error) != TRC_OK)
        return true; /* it will be told */
    size_t ranks = ana_job_info(job).ranks;
    ana_job_close(job);
    return files < 0 || ranks >= (size_t)files;
}

/* Reads all runs of a folder, the steps of a batch job: each has a row and a page.  Returns the exit status. */
static int read_folder(const char *folder, take_row *take, void *user)
{
    struct file *file;
    int n = list_files(folder, &file), status = TUI_EXIT_OK;
    if (n <= 0 || is_one_run(folder, n)) {
        free(file);
        return n < 0 ? tui_input_error("%s: out of memory", folder) : read_run(&folder, 1, folder, 0, take, user);
    }
    const char **paths = calloc((size_t)n, sizeof *paths);
    qsort(file, (size_t)n, sizeof *file, by_run);
    size_t number = 0;
    for (int first = 0, last; paths && first < n && number < MOST_RUNS; first = last) {
        for (last = first; last < n && strcmp(file[last].run, file[first].run) == 0; last++)
            paths[last - first] = file[last].path;
        int one = read_run(paths, (size_t)(last - first), folder, ++number, take, user);
        status = one ? one : status;
    }
    if (!paths)
        status = tui_input_error("%s: out of memory", folder);
    free(paths);
    free(file);
    return status;
}

/* ---- with the rights of their owner ------------------------------------------------------------------------------ */

/* Limits the address space of this process to half of the machine's memory, or less if it is limited already.  False:
 * errno says why it is not limited. */
static bool limit_memory(void)
{
    const rlim_t most = (rlim_t)sysconf(_SC_PHYS_PAGES) / 2 * (rlim_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0)
        return false;
    limit.rlim_cur = limit.rlim_cur < most ? limit.rlim_cur : most;
    limit.rlim_max = limit.rlim_max < most ? limit.rlim_max : most;
    return setrlimit(RLIMIT_AS, &limit) == 0;
}

/* Becomes the owner of a folder: what lies in it is his, and may lead anywhere. */
static bool become(const struct stat *owner)
{
    return setgroups(0, NULL) == 0 && setgid(owner->st_gid) == 0 && setuid(owner->st_uid) == 0;
}

static bool send_row(void *user, const struct tui_job_row *row)
{
    const char *at = (const char *)row;
    for (size_t left = sizeof *row; left;) {
        ssize_t n = write(*(const int *)user, at, left);
        if (n <= 0)
            return false;
        at += n;
        left -= (size_t)n;
    }
    return true;
}

/* Takes whole rows until there is none. */
static void receive_rows(int in, take_row *take, void *user)
{
    struct tui_job_row row;
    bool taken = true;
    for (int rows = 0; taken && rows < MOST_RUNS; rows++) {
        size_t got = 0;
        for (ssize_t n = 1; n > 0 && got<sizeof row; got += n> 0 ? (size_t)n : 0)
            n = read(in, (char *)&row + got, sizeof row - got);
        taken = got == sizeof row && take(user, &row);
    }
}

/* The same in a process of its own that has the rights of the folder's owner, and no others. */
static int read_as_owner(const char *folder, const struct stat *owner, take_row *take, void *user)
{
    int ends[2], status = 0;
    fflush(NULL);
    if (pipe(ends) != 0)
        return tui_input_error("%s: %s", folder, strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        umask(077);
        int code = limit_memory() && become(owner) ? read_folder(folder, send_row, &ends[1])
                                                   : tui_input_error("%s: cannot become its owner", folder);
        fflush(NULL);
        _exit(code);
    }
    close(ends[1]);
    if (child > 0)
        receive_rows(ends[0], take, user);
    close(ends[0]);
    bool ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
    return ended ? WEXITSTATUS(status) : tui_input_error("%s could not be read by its owner", folder);
}

/* ---- into the list ----------------------------------------------------------------------------------------------- */

struct adding {
    struct tui_jobs_db *db;
    const char *path;
    const char *folder; /* its real path */
    const struct stat *found;
    bool failed;
};

static bool put_row(void *user, const struct tui_job_row *from)
{
    struct adding *to = user;
    struct tui_job_row row = *from;
    char error[512];
    copy(row.folder, sizeof row.folder, to->folder); /* these are not for the owner to say */
    copy(row.said, sizeof row.said, batch_said);
    name_owner(to->found, &row);
    if (!row.ranks || tui_jobs_put(to->db, &row, error, sizeof error))
        return true;
    tui_input_error("%s: %s", to->path, error);
    to->failed = true;
    return false;
}

/* Reads the runs in a folder, and adds them.  Returns the exit status. */
static int add_folder(struct tui_jobs_db *db, const char *path, const char *folder)
{
    char real[4096];
    struct stat found;
    struct adding to = {.db = db, .path = path, .folder = real, .found = &found};
    if (!realpath(folder, real) || lstat(real, &found) != 0)
        return tui_input_error("%s: %s", folder, strerror(errno));
    if (strlen(real) >= 1024 - sizeof "/report-1000.html")
        return tui_input_error("%s: the path is too long", folder);
    bool other = geteuid() == 0 && found.st_uid != 0;
    int status = other ? read_as_owner(real, &found, put_row, &to) : read_folder(real, put_row, &to);
    return to.failed ? TUI_EXIT_INPUT : status;
}

int tui_jobs_add(const char *path, const char *said, char **folder, int n)
{
    char error[512];
    struct tui_jobs_db *db = tui_jobs_open(path, true, error, sizeof error);
    if (!db)
        return tui_input_error("%s", error);
    int status = TUI_EXIT_OK;
    batch_said = said;
    for (int i = 0; i < n; i++) { /* one that cannot be read does not keep the others out */
        int one = add_folder(db, path, folder[i]);
        status = one ? one : status;
    }
    tui_jobs_close(db);
    return status;
}
