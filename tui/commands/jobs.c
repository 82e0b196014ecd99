/* hpctop jobs [--db FILE] [--trouble] [--user NAME] [--since DAYS] [--all] [--json]: what a site has recorded.
 * hpctop jobs --add [--db FILE] [--said TEXT] [--owner UID] DIR..: adds the job in each folder, and writes a page into
 * it.  Root reads each folder with its owner's rights alone. */
#include "tui/commands/arguments.h"
#include "tui/commands/command.h"
#include "tui/commands/jobs.h"
#include "tui/output/json.h"
#include "tui/sources/jobs_db.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST 50 /* rows that are listed */

/* ---- listing ----------------------------------------------------------------------------------------------------- */

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
    cJSON *o = tui_json_item(list);
    tui_json_text(o, "id", row->id[0] ? row->id : NULL);
    tui_json_text(o, "run", row->run[0] ? row->run : NULL);
    tui_json_text(o, "folder", row->folder);
    tui_json_text(o, "page", row->page[0] ? row->page : NULL);
    tui_json_text(o, "command", row->name);
    tui_json_text(o, "user", row->user[0] ? row->user : NULL);
    tui_json_text(o, "state", row->state);
    tui_json_text(o, "verdict", row->verdict);
    tui_json_text(o, "class", row->class[0] ? row->class : NULL);
    tui_json_text(o, "answer", row->answer);
    tui_json_text(o, "said", row->said[0] ? row->said : NULL);
    tui_json_integer(o, "begin_s", positive(row->begin_s));
    tui_json_integer(o, "ranks", positive(row->ranks));
    tui_json_integer(o, "nodes", positive(row->nodes));
    tui_json_real(o, "elapsed_s", row->elapsed_s);
    tui_json_real(o, "efficiency", row->efficiency);
    tui_json_real(o, "saves_s", row->saves_s);
}

static void list_row(void *context, const struct tui_job_row *row)
{
    struct listing *to = context;
    char begin[32];
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
        snprintf(begin, sizeof begin, "?");
    printf("%-16s %-10.10s %-8.8s %6lld %5lld %8s %6s %8s  %s: %s%s%s%s\n", begin, row->id, row->user,
           (long long)row->ranks, (long long)row->nodes, ANA_NUMBER(ANA_NS, row->elapsed_s * 1e9, to->utf8),
           ANA_NUMBER(ANA_SHARE, row->efficiency, to->utf8), ANA_NUMBER(ANA_NS, row->saves_s * 1e9, to->utf8),
           row->verdict, row->answer, row->said[0] ? " [" : "", row->said, row->said[0] ? "]" : "");
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
    const bool printed = done && (!json || tui_json_print(root));
    if (!done)
        cJSON_Delete(root);
    if (!printed)
        return tui_input_error("%s: %s", path, done ? "out of memory" : error);
    if (!json && to.rows == 0)
        puts("no such job was recorded");
    else if (!json && to.rows == wanted->most)
        printf("the latest %lld; --all lists all\n", (long long)to.rows);
    return tui_finish(TUI_EXIT_OK);
}

static bool parse_days(const char *text, int64_t *since_s)
{
    char *end;
    double days = strtod(text, &end);
    *since_s = (int64_t)time(NULL) - (int64_t)(days * 86400);
    return *text && !*end && days >= 0 && days < 1e5;
}

static bool is_user_id(const char *text)
{
    size_t n = strspn(text, "0123456789");
    return n > 0 && n <= 10 && !text[n] && strtoull(text, NULL, 10) < UINT32_MAX;
}

int tui_command_jobs(int argc, char **argv)
{
    struct tui_jobs_adding adding = {.list = "hpctop-jobs.db", .said = ""};
    struct tui_jobs_wanted wanted = {.most = FIRST};
    bool add = false, json = false, all = false;
    const char *days = NULL;
    const struct tui_argument known[] = {{"db", 0, TUI_TEXT, &adding.list},
                                         {"add", 0, TUI_FLAG, &add},
                                         {"trouble", 0, TUI_FLAG, &wanted.trouble},
                                         {"all", 0, TUI_FLAG, &all},
                                         {"user", 0, TUI_TEXT, &wanted.user},
                                         {"since", 0, TUI_TEXT, &days},
                                         {"json", 0, TUI_FLAG, &json},
                                         {"said", 0, TUI_TEXT, &adding.said},
                                         {"owner", 0, TUI_TEXT, &adding.owner},
                                         {0}};
    int status = tui_arguments(argc, argv, known, NULL);
    if (status != TUI_EXIT_OK)
        return status;
    if (days && !parse_days(days, &wanted.since_s))
        return tui_usage_error("jobs", "%s is not a number of days", days);
    wanted.most = all ? -1 : FIRST;
    if (add && optind == argc)
        return tui_usage_error("jobs", "jobs --add needs a trace folder");
    if (!add && optind < argc)
        return tui_usage_error("jobs", "jobs lists what was added; to add %s: hpctop jobs --add", argv[optind]);
    if (!add && (adding.said[0] || adding.owner))
        return tui_usage_error("jobs", "--said and --owner need --add");
    if (adding.owner && !is_user_id(adding.owner))
        return tui_usage_error("jobs", "%s is not a number of a user", adding.owner);
    return add ? tui_jobs_add(&adding, argv + optind, argc - optind) : list_jobs(adding.list, &wanted, json);
}
