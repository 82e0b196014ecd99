/* hpctop jobs [--db FILE] [--trouble] [--user NAME] [--since DAYS] [--all] [--json]: what a site has recorded.
 * hpctop jobs --add [--db FILE] DIR..: adds the job in each folder, and leaves a page in it.  Root reads the traces of
 * others with their rights alone. */
#include "tui/commands/command.h"
#include "tui/commands/nearest.h"
#include "tui/commands/whole.h"
#include "tui/output/json.h"
#include "tui/output/page.h"
#include "tui/sources/jobs_db.h"
#include "tui/sources/lines.h"
#include "trace/job/sum_up.h"
#include "trace/session/session.h"
#include "trace/util/numfmt.h"
#include "trace/verdict/verdict.h"

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <langinfo.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FIRST 50 /* rows that are listed */

/* ---- adding ------------------------------------------------------------------------------------------------------- */

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
                       const char *answer, const char *path)
{
    struct tui_whole file;
    return tui_whole_open(&file, path) && tui_whole_close(&file, tui_page_write(job, s, v, answer, file.out));
}

/* Reads a job, fills its row and leaves the page.  Returns the exit status. */
static int read_job(const char *folder, struct tui_job_row *row)
{
    char error[512], answer[512];
    struct ana_job *job;
    struct ana_summary s;
    if (ana_job_open(&folder, 1, &job, error, sizeof error) != TRC_OK)
        return tui_input_error("%s", error);
    tui_lines_use(job, TUI_LINES_PATIENCE);
    tui_sample_twice(job, 1);
    if (ana_summarize_all(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &s) != TRC_OK) {
        ana_job_close(job);
        return tui_input_error("out of memory");
    }
    const struct ana_verdict *v = ana_job_verdict(job);
    ana_headline(job, &s, NULL, answer, sizeof answer);
    describe(job, &s, v, answer, row);
    snprintf(row->page, sizeof row->page, "%.1000s/report.html", folder);
    int status = TUI_EXIT_OK;
    if (!write_page(job, &s, v, answer, row->page)) {
        status = tui_input_error("cannot write %s: %s", row->page, strerror(errno));
        row->page[0] = 0;
    }
    ana_summary_free(&s);
    ana_job_close(job);
    return status;
}

/* Becomes the owner of a folder: what lies in it is his, and may lead anywhere. */
static bool become(const struct stat *owner)
{
    return setgroups(0, NULL) == 0 && setgid(owner->st_gid) == 0 && setuid(owner->st_uid) == 0;
}

/* The same in a process of its own that has the rights of the folder's owner, and no others. */
static int read_as_owner(const char *folder, const struct stat *owner, struct tui_job_row *row)
{
    int ends[2], status = 0;
    fflush(NULL);
    if (pipe(ends) != 0)
        return tui_input_error("%s: %s", folder, strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        umask(077);
        int code = become(owner) ? read_job(folder, row) : tui_input_error("%s: cannot become its owner", folder);
        bool sent = write(ends[1], row, sizeof *row) == (ssize_t)sizeof *row;
        fflush(NULL);
        _exit(sent ? code : TUI_EXIT_INPUT);
    }
    close(ends[1]);
    size_t got = 0;
    for (ssize_t n = 1; child > 0 && n > 0 && got<sizeof *row; got += n> 0 ? (size_t)n : 0)
        n = read(ends[0], (char *)row + got, sizeof *row - got);
    close(ends[0]);
    bool ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
    if (got < sizeof *row || !ended)
        return tui_input_error("%s could not be read by its owner", folder);
    return WEXITSTATUS(status);
}

/* Reads the job in a folder and fills its row.  Returns the exit status; row->ranks is 0 where there is no job. */
static int look_at(const char *folder, struct tui_job_row *row)
{
    char real[4096];
    struct stat found;
    *row = (struct tui_job_row){.elapsed_s = NAN, .efficiency = NAN, .saves_s = NAN};
    if (!realpath(folder, real) || lstat(real, &found) != 0)
        return tui_input_error("%s: %s", folder, strerror(errno));
    if (strlen(real) >= sizeof row->folder - sizeof "/report.html")
        return tui_input_error("%s: the path is too long", folder);
    bool other = geteuid() == 0 && found.st_uid != 0;
    int status = other ? read_as_owner(real, &found, row) : read_job(real, row);
    copy(row->folder, sizeof row->folder, real); /* these two are not for the owner to say */
    name_owner(&found, row);
    return status;
}

static int add_jobs(const char *path, char **folder, int n)
{
    char error[512];
    struct tui_jobs_db *db = tui_jobs_open(path, true, error, sizeof error);
    if (!db)
        return tui_input_error("%s", error);
    int status = TUI_EXIT_OK;
    for (int i = 0; i < n; i++) { /* one that cannot be read does not keep the others out */
        struct tui_job_row row;
        int one = look_at(folder[i], &row);
        if (row.ranks && !tui_jobs_put(db, &row, error, sizeof error))
            one = tui_input_error("%s: %s", path, error);
        status = one ? one : status;
    }
    tui_jobs_close(db);
    return status;
}

/* ---- listing ------------------------------------------------------------------------------------------------------ */

struct listing {
    cJSON *list; /* NULL: as text */
    bool utf8;
    int64_t rows;
};

static uint64_t positive(int64_t value)
{
    return value > 0 ? (uint64_t)value : 0;
}

static void list_json(cJSON *list, const struct tui_job_row *row)
{
    cJSON *o = cJSON_CreateObject();
    tui_json_text(o, "id", row->id[0] ? row->id : NULL);
    tui_json_text(o, "folder", row->folder);
    tui_json_text(o, "page", row->page[0] ? row->page : NULL);
    tui_json_text(o, "command", row->name);
    tui_json_text(o, "user", row->user[0] ? row->user : NULL);
    tui_json_text(o, "state", row->state);
    tui_json_text(o, "verdict", row->verdict);
    tui_json_text(o, "class", row->class[0] ? row->class : NULL);
    tui_json_text(o, "answer", row->answer);
    tui_json_integer(o, "begin_s", positive(row->begin_s));
    tui_json_integer(o, "ranks", positive(row->ranks));
    tui_json_integer(o, "nodes", positive(row->nodes));
    tui_json_real(o, "elapsed_s", row->elapsed_s);
    tui_json_real(o, "efficiency", row->efficiency);
    tui_json_real(o, "saves_s", row->saves_s);
    cJSON_AddItemToArray(list, o);
}

static void list_row(void *context, const struct tui_job_row *row)
{
    struct listing *to = context;
    char begin[32], took[ANA_TEXT], share[ANA_TEXT], saves[ANA_TEXT];
    time_t at = (time_t)row->begin_s;
    struct tm local = {0};
    to->rows++;
    if (to->list) {
        list_json(to->list, row);
        return;
    }
    if (to->rows == 1)
        printf("%-16s %-10s %-8s %6s %5s %8s %6s %8s  %s\n", "BEGAN", "JOB", "USER", "RANKS", "NODES", "TOOK", "EFF.",
               "SAVES", "WHAT");
    if (!localtime_r(&at, &local) || !strftime(begin, sizeof begin, "%Y-%m-%d %H:%M", &local))
        copy(begin, sizeof begin, "?");
    printf("%-16s %-10.10s %-8.8s %6lld %5lld %8s %6s %8s  %s: %s\n", begin, row->id, row->user, (long long)row->ranks,
           (long long)row->nodes, ana_number(took, sizeof took, ANA_NS, row->elapsed_s * 1e9, to->utf8),
           ana_number(share, sizeof share, ANA_SHARE, row->efficiency, to->utf8),
           ana_number(saves, sizeof saves, ANA_NS, row->saves_s * 1e9, to->utf8), row->verdict, row->answer);
}

static int list_jobs(const char *path, const struct tui_jobs_wanted *wanted, bool json)
{
    char error[512];
    struct tui_jobs_db *db = tui_jobs_open(path, false, error, sizeof error);
    if (!db)
        return tui_input_error("%s; hpctop jobs --add DIR makes it", error);
    cJSON *root = json ? tui_json_document() : NULL;
    struct listing to = {.list = json ? cJSON_AddArrayToObject(root, "jobs") : NULL,
                         .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0};
    bool done = (!json || to.list) && tui_jobs_each(db, wanted, list_row, &to, error, sizeof error);
    tui_jobs_close(db);
    char *text = json && done ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    if (!done || (json && !text))
        return tui_input_error("%s: %s", path, done ? "out of memory" : error);
    if (json)
        puts(text);
    else if (to.rows == 0)
        puts("no such job was recorded");
    else if (to.rows == wanted->most)
        printf("the latest %lld; --all lists all\n", (long long)to.rows);
    free(text);
    return tui_finish(TUI_EXIT_OK);
}

static bool parse_days(const char *text, int64_t *since_s)
{
    char *end;
    double days = strtod(text, &end);
    *since_s = (int64_t)time(NULL) - (int64_t)(days * 86400);
    return *text && !*end && days >= 0 && days < 1e5;
}

int tui_command_jobs(int argc, char **argv)
{
    static const struct option names[] = {
        {"db", required_argument, NULL, 'd'},   {"add", no_argument, NULL, 'a'},
        {"trouble", no_argument, NULL, 't'},    {"all", no_argument, NULL, 'A'},
        {"user", required_argument, NULL, 'u'}, {"since", required_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},       {0}};
    const char *path = "hpctop-jobs.db";
    struct tui_jobs_wanted wanted = {.most = FIRST};
    bool add = false, json = false;
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (option == 'd')
            path = optarg;
        else if (option == 'a')
            add = true;
        else if (option == 't')
            wanted.trouble = true;
        else if (option == 'A')
            wanted.most = -1;
        else if (option == 'u')
            wanted.user = optarg;
        else if (option == 'j')
            json = true;
        else if (option == 's' && !parse_days(optarg, &wanted.since_s))
            return tui_usage_error("jobs", "%s is not a number of days", optarg);
        else if (option != 's')
            return tui_unknown_option("jobs", argv[optind - 1]);
    }
    if (add && optind == argc)
        return tui_usage_error("jobs", "jobs --add needs a trace folder");
    if (!add && optind < argc)
        return tui_usage_error("jobs", "jobs lists what was added; to add %s: hpctop jobs --add", argv[optind]);
    return add ? add_jobs(path, argv + optind, argc - optind) : list_jobs(path, &wanted, json);
}
