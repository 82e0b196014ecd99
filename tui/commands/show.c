/* hpctop show [--json] DIR [ID]: the answer with ids of its evidence, the evidence of an id, a rank at a time. */
#include "tui/commands/arguments.h"
#include "tui/commands/command.h"
#include "tui/commands/part.h"
#include "tui/output/inspect.h"
#include "tui/output/json.h"
#include "tui/output/report_json.h"
#include "trace/job/parts.h"
#include "trace/job/window.h"
#include "trace/metric/metric.h"
#include "trace/summary/summary.h"
#include "trace/report/report.h"
#include "trace/session/session.h"
#include "trace/util/numfmt.h"
#include "trace/util/sort.h"
#include "trace/verdict/verdict.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 5 }; /* ranks and places that are printed */

/* Prints the evidence of a price: work or calls, saving, ranks and reason. */
static void show_price(const struct ana_job *job, const struct ana_summary *s, const struct ana_price *price)
{
    const struct ana_whole whole = ana_whole_of(job, s, NULL);
    char words[400], saves[160], why[200];
    ana_price_words(job, price, words, sizeof words);
    ana_price_saving(s, price, saves, sizeof saves);
    ana_reason_words(&price->reason, why, sizeof why);
    printf("%s\n  %s\n", words, saves);
    if (price->path_ns >= 0)
        printf("  on the critical path: %s\n",
               ANA_METRIC_TEXT(&ana_metrics[ANA_METRIC_PRICE_PATH], price, &whole, false));
    if (*why)
        printf("  why: %s\n", why);
    for (size_t i = 0; i < price->ranks && i < MOST; i++)
        printf("  rank %s\n", ana_rank_label(job, price->rank[i]).text);
    if (price->ranks > MOST)
        printf("  and %zu more ranks\n", price->ranks - MOST);
}

/* A row of an account: time of a rank or a place. */
struct part {
    int64_t ns;
    size_t index;
};
ANA_COMPARE(by_time, struct part, ANA_ORDER(y->ns, x->ns), ANA_ORDER(x->index, y->index))

/* Prints the evidence of an account: the ranks and places with most of it. */
static void show_account(const struct ana_job *job, const struct ana_summary *s, enum ana_account_id id)
{
    const size_t most = s->rank_count > s->site_count ? s->rank_count : s->site_count;
    struct part *part = calloc(most + 1, sizeof *part);
    printf("%s: %s, %s of all time: %s\n", ana_account_key(id), ANA_SPOKEN((double)s->account.ns[id]),
           ANA_NUMBER(ANA_SHARE, ana_account_share(&s->account, id), false), ana_account_help(id));
    for (size_t i = 0; part && i < s->rank_count; i++)
        part[i] = (struct part){s->ranks[i].account.ns[id], i};
    if (part)
        ana_sort(part, s->rank_count, sizeof *part, by_time);
    for (size_t i = 0; part && i < s->rank_count && i < MOST && part[i].ns; i++)
        printf("  rank %s: %s\n", ana_rank_label(job, s->ranks[part[i].index].index).text,
               ANA_SPOKEN((double)part[i].ns));
    for (size_t i = 0; part && i < s->site_count; i++)
        part[i] = (struct part){s->sites[i].account.ns[id], i};
    if (part)
        ana_sort(part, s->site_count, sizeof *part, by_time);
    for (size_t i = 0; part && i < s->site_count && i < MOST && part[i].ns; i++) {
        const struct ana_site *site = &s->sites[part[i].index];
        printf("  %s at %s: %s\n", site->call,
               site->line       ? site->line
               : site->function ? site->function
                                : "?",
               ANA_SPOKEN((double)part[i].ns));
    }
    free(part);
}

/* Prints the evidence of an id.  False: there is no such id. */
static bool show_evidence(const struct ana_job *job, const struct ana_summary *s, const char *id)
{
    const char *number = strncmp(id, "price-", 6) == 0 ? id + 6 : "",
               *key = strncmp(id, "account-", 8) == 0 ? id + 8 : "";
    const size_t price = strtoul(number, NULL, 10);
    if (price && price <= s->price_count) {
        show_price(job, s, &s->prices[price - 1]);
        return true;
    }
    for (enum ana_account_id account = 0; s->has_accounts && account < ANA_ACCOUNTS; account++)
        if (strcmp(ana_account_key(account), key) == 0) {
            show_account(job, s, account);
            return true;
        }
    return false;
}

static void print_row(void *user, const char *label, const char *text)
{
    (void)user;
    printf("  %-10s  %s\n", label, text);
}

/* Prints a rank at a time, RANK@TIME; returns the exit status. */
static int show_moment(struct ana_job *job, const struct ana_summary *s, const char *id, bool json)
{
    char rank[64], error[160];
    const size_t count = ana_job_info(job).ranks;
    uint8_t *ranks = calloc(count + 1, 1);
    const struct tui_part part = {.from = strchr(id, '@') + 1, .ranks = rank};
    struct ana_selection at = {0};
    snprintf(rank, sizeof rank, "%.*s", (int)(part.from - id - 1), id);
    int status = TUI_EXIT_OK;
    if (!ranks)
        return tui_input_error("out of memory");
    if (rank[strcspn(rank, ",-")] || tui_part_wrong(&part))
        status = tui_input_error("RANK@TIME is one rank and seconds since the job began, such as 3@12.5");
    else if (!tui_part_select(job, &part, &at, ranks, error, sizeof error))
        status = tui_input_error("%s", error);
    const uint8_t *chosen = status == TUI_EXIT_OK ? memchr(ranks, 1, count) : NULL;
    if (chosen) {
        struct tui_moment what;
        tui_inspect(job, s, (size_t)(chosen - ranks), at.begin_ns, &what);
        if (json && !tui_json_print(tui_inspect_json(job, &what)))
            status = tui_input_error("out of memory");
        if (!json)
            printf("rank %s at %.9f s\n", ana_rank_label(job, what.index).text, (double)at.begin_ns / 1e9);
        if (!json)
            tui_inspect_rows(job, &what, print_row, NULL);
    }
    free(ranks);
    return status;
}

#define ITERATION "iteration-"

/* Reads the span of an iteration as a window, and replaces *s, a summary of the whole run.  `id`: ITERATION and a
 * number.  Returns the exit status; unless it is TUI_EXIT_OK, *s is unchanged. */
static int read_iteration(struct ana_job *job, const char *id, struct ana_summary *s)
{
    struct ana_selection part = {0};
    const uint64_t number = strtoull(id + strlen(ITERATION), NULL, 10);
    if (!s->iterations.levels ||
        !ana_iteration_span(job, &s->iterations, s->iterations.level, number, number, &part.begin_ns, &part.end_ns))
        return tui_input_error("there is no %s here", id);
    struct ana_summary whole = *s;
    bool ok = ana_job_set_window(job, part.begin_ns, part.end_ns) && ana_summarize_all(job, part, s) == TRC_OK;
    if (ok)
        ana_summary_free(&whole);
    else
        *s = whole;
    return ok ? TUI_EXIT_OK : tui_input_error("out of memory");
}

/* Prints the answer, or the evidence of an id; returns the exit status. */
static int show(struct ana_job *job, const char *folder, const char *id, bool json)
{
    struct ana_summary s;
    if (!ana_job_read_by_threads(job) ||
        ana_summarize_all(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &s) != TRC_OK)
        return tui_input_error("out of memory");
    const bool moment = id && strchr(id, '@'), iteration = id && strncmp(id, ITERATION, strlen(ITERATION)) == 0;
    int status = iteration ? read_iteration(job, id, &s) : TUI_EXIT_OK;
    char *text = json && !moment && status == TUI_EXIT_OK ? tui_brief_json(job, &s, folder) : NULL;
    if (status != TUI_EXIT_OK)
        ;
    else if (moment)
        status = show_moment(job, &s, id, json);
    else if (text)
        puts(text);
    else if (json)
        status = tui_input_error("out of memory");
    else if (!id || iteration)
        ana_report_brief(job, &s, true, stdout);
    else if (!show_evidence(job, &s, id))
        status = tui_input_error("there is no %s here; hpctop show --json %s names what there is", id, folder);
    free(text);
    ana_summary_free(&s);
    return status == TUI_EXIT_OK ? tui_finish(status) : status;
}

int tui_command_show(int argc, char **argv)
{
    bool json = false;
    struct ana_job *job;
    const struct tui_argument known[] = {{"json", 0, TUI_FLAG, &json}, {0}};
    int status = tui_arguments(argc, argv, known, "a trace folder");
    if (status != TUI_EXIT_OK)
        return status;
    const char *folder = argv[optind], *id = optind + 1 < argc ? argv[optind + 1] : NULL;
    if (argc - optind > 2 || (json && id && !strchr(id, '@') && strncmp(id, ITERATION, strlen(ITERATION)) != 0))
        return tui_usage_error(
            "show", "show needs a trace folder and at most one id; --json shows RANK@TIME and iteration-N alone");
    if (id && strcmp(id, "verdict") == 0) {
        char *verdict[] = {"verdict", argv[optind], NULL};
        return tui_command_verdict(2, verdict);
    }
    status = tui_open_job(&folder, 1, &job);
    if (status != TUI_EXIT_OK)
        return status;
    tui_sample_twice(job, 1);
    status = show(job, folder, id, json);
    ana_job_close(job);
    return status;
}
