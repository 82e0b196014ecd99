/* hpctop check [--json] DIR..: errors of the program that did not bite in this run. */
#include "tui/commands/arguments.h"
#include "tui/commands/command.h"
#include "tui/output/json.h"
#include "trace/check/check.h"
#include "trace/session/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_finding(const struct ana_job *job, const struct ana_finding *f)
{
    char who[160];
    ana_rank_list(job, f->rank, f->ranks, who, sizeof who);
    bool note = ana_check_rows[f->id].weight == ANA_CHECK_WEIGHT_NOTE;
    printf("%s%s: %s\n", note ? "note: " : "", ana_check_rows[f->id].name, ana_check_rows[f->id].text);
    for (size_t i = 0; i < f->places; i++)
        printf("  %s%s%s\n", f->place[i].call, f->place[i].site[0] ? " at " : "", f->place[i].site);
    printf("  %s, %" PRIu64 " time%s%s%s\n", who, f->times, f->times == 1 ? "" : "s", f->detail[0] ? "; first: " : "",
           f->detail);
}

/* Whether a finding is one more object that a call made and the process kept: big libraries have hundreds. */
static bool is_more_of(const struct ana_finding *f, const struct ana_finding *first)
{
    return f->id == ANA_CHECK_KEPT && first->id == f->id && strcmp(f->place[0].call, first->place[0].call) == 0;
}

static void print_text(const struct ana_job *job, const struct ana_findings *found)
{
    for (size_t i = 0, next; i < found->count; i = next) {
        const struct ana_finding *first = &found->finding[i];
        uint64_t times = 0;
        print_finding(job, first);
        for (next = i + 1; next < found->count && is_more_of(&found->finding[next], first); next++)
            times += found->finding[next].times;
        if (next > i + 1)
            printf("  and at %zu more place%s, %" PRIu64 " time%s: --json lists them\n", next - i - 1,
                   next == i + 2 ? "" : "s", times, times == 1 ? "" : "s");
    }
    if (found->errors == 0)
        printf("no errors found in %" PRIu64 " calls of %zu rank%s\n", found->calls, ana_job_info(job).ranks,
               ana_job_info(job).ranks == 1 ? "" : "s");
    for (size_t i = 0; i < found->limits; i++)
        printf("not checked: %s\n", found->limit[i]);
}

static void add_finding(cJSON *object, const struct ana_job *job, const struct ana_finding *f)
{
    tui_json_text(object, "class", ana_check_rows[f->id].name);
    tui_json_text(object, "weight", ana_check_rows[f->id].weight == ANA_CHECK_WEIGHT_NOTE ? "note" : "error");
    tui_json_ranks(object, "ranks", job, f->rank, f->ranks);
    cJSON *calls = cJSON_AddArrayToObject(object, "calls"), *sites = cJSON_AddArrayToObject(object, "sites");
    for (size_t i = 0; i < f->places; i++) {
        tui_json_word(calls, f->place[i].call);
        tui_json_word(sites, f->place[i].site);
    }
    tui_json_integer(object, "times", f->times);
    tui_json_text(object, "detail", f->detail);
}

static void print_json(const struct ana_job *job, const struct ana_findings *found)
{
    cJSON *root = tui_json_document();
    cJSON *list = cJSON_AddArrayToObject(root, "findings");
    for (size_t i = 0; i < found->count; i++)
        add_finding(tui_json_item(list), job, &found->finding[i]);
    tui_json_integer(root, "calls", found->calls);
    cJSON *limits = cJSON_AddArrayToObject(root, "not_checked");
    for (size_t i = 0; i < found->limits; i++)
        tui_json_word(limits, found->limit[i]);
    tui_json_print(root);
}

int tui_command_check(int argc, char **argv)
{
    bool json = false;
    struct ana_job *job;
    const struct tui_argument known[] = {{"json", 0, TUI_FLAG, &json}, {0}};
    int status = tui_arguments_job(argc, argv, known, &job);
    if (status != TUI_EXIT_OK)
        return status;
    const struct ana_findings *found = ana_check(job);
    if (found)
        (json ? print_json : print_text)(job, found);
    bool trouble = found && found->errors > 0, done = found;
    ana_findings_free(found);
    ana_job_close(job);
    return done ? tui_finish(trouble ? TUI_EXIT_TROUBLE : TUI_EXIT_OK) : tui_input_error("out of memory");
}
