#include "tui/commands/jobs.h"
#include "tui/commands/command.h"
#include "tui/commands/whole.h"
#include "tui/output/page.h"
#include "tui/sources/lines.h"
#include "trace/summary/summary.h"
#include "trace/session/session.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include "trace/util/grow.h"
#include "trace/util/sort.h"
#include "trace/util/text.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <string.h>

static const char here[] = "."; /* the working folder */

struct reading {
    const char *shown, *said;
    tui_jobs_row_do *take;
    void *user;
};

static void copy(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%.*s", (int)size - 1, text ? text : "");
}

/* Reports an error whose text begins with a path, which here begins with a dot. */
static int report_error(const struct reading *r, const char *error)
{
    return error[0] == here[0] ? tui_input_error("%s%s", r->shown, error + 1)
                               : tui_input_error("%s: %s", r->shown, error);
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
                       const char *answer, const struct tui_job_row *row)
{
    struct tui_whole file;
    return tui_whole_open(&file, row->page) &&
           tui_whole_close(&file, tui_page_write(job, s, v, answer, row->said, file.out));
}

/* ---- the files --------------------------------------------------------------------------------------------------- */

/* A trace file and its run. */
struct file {
    char path[260], run[64];
};

/* Lists the readable trace files.  Returns their number; -1: out of memory. */
static int list_files(struct file **out)
{
    int n = 0;
    size_t room = 0;
    struct dirent *entry;
    DIR *open = opendir(here);
    *out = NULL;
    while (open && (entry = readdir(open))) {
        struct trc_file *file;
        char error[256];
        if (!ana_grow(out, (size_t)n, &room, sizeof **out)) {
            closedir(open);
            return -1;
        }
        struct file *f = &(*out)[n];
        snprintf(f->path, sizeof f->path, "./%.255s", entry->d_name);
        if (!trc_ends_in(entry->d_name, ".hpctop") || trc_open(f->path, &file, error, sizeof error) != TRC_OK)
            continue;
        copy(f->run, sizeof f->run, trc_head(file)->job);
        trc_close(file);
        n++;
    }
    if (open)
        closedir(open);
    return n;
}

ANA_COMPARE(by_run, struct file, strcmp(x->run, y->run))

/* ---- the runs ---------------------------------------------------------------------------------------------------- */

/* Reads a run, and writes its page.  `number`: among several runs, else 0.  Returns the exit status. */
static int read_run(const struct reading *r, const char *const *paths, size_t n, size_t number)
{
    char error[512], answer[512];
    struct ana_job *job;
    struct ana_summary s;
    struct tui_job_row row = {.elapsed_s = NAN, .efficiency = NAN, .saves_s = NAN};
    if (ana_job_open(paths, n, &job, error, sizeof error) != TRC_OK)
        return report_error(r, error);
    tui_lines_use(job, TUI_LINES_PATIENCE);
    tui_sample_twice(job, 1);
    if (ana_summarize_all(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &s) != TRC_OK) {
        ana_job_close(job);
        return report_error(r, "out of memory");
    }
    const struct ana_verdict *v = ana_job_verdict(job);
    ana_headline(job, &s, NULL, answer, sizeof answer);
    describe(job, &s, v, answer, &row);
    copy(row.said, sizeof row.said, r->said);
    copy(row.page, sizeof row.page, "report.html");
    if (number) { /* one of several: a step of the batch job says so in its name */
        bool step = row.id[0] && strncmp(row.run, row.id, strlen(row.id)) == 0;
        copy(row.id, sizeof row.id, step ? row.run : row.id);
        snprintf(row.page, sizeof row.page, "report-%zu.html", number);
    }
    int status = TUI_EXIT_OK;
    if (!write_page(job, &s, v, answer, &row)) {
        status = tui_input_error("cannot write %s/%s: %s", r->shown, row.page, strerror(errno));
        row.page[0] = 0;
    }
    ana_summary_free(&s);
    ana_job_close(job);
    return r->take(r->user, &row) ? status : TUI_EXIT_INPUT;
}

/* Returns whether all readable files belong to one run, as one job sees them. */
static bool is_one_run(int files)
{
    char error[512];
    const char *folder = here;
    struct ana_job *job;
    if (ana_job_open(&folder, 1, &job, error, sizeof error) != TRC_OK)
        return true; /* read_run reports it */
    size_t ranks = ana_job_info(job).ranks;
    ana_job_close(job);
    return files < 0 || ranks >= (size_t)files;
}

int tui_jobs_read(const char *shown, const char *said, tui_jobs_row_do *take, void *user)
{
    const struct reading r = {shown, said, take, user};
    const char *folder = here;
    struct file *file;
    int n = list_files(&file), status = TUI_EXIT_OK;
    if (n <= 0 || is_one_run(n)) {
        free(file);
        return n < 0 ? report_error(&r, "out of memory") : read_run(&r, &folder, 1, 0);
    }
    const char **paths = calloc((size_t)n, sizeof *paths);
    ana_sort(file, (size_t)n, sizeof *file, by_run);
    size_t number = 0;
    for (int first = 0, last; paths && first < n && number < TUI_JOBS_RUNS; first = last) {
        for (last = first; last < n && strcmp(file[last].run, file[first].run) == 0; last++)
            paths[last - first] = file[last].path;
        int one = read_run(&r, paths, (size_t)(last - first), ++number);
        status = one ? one : status;
    }
    if (!paths)
        status = report_error(&r, "out of memory");
    free(paths);
    free(file);
    return status;
}
