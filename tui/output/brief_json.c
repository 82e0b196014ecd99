/* The answer in at most 4 kB of JSON, with ids of its evidence (hpctop show). */
#include "tui/output/report_json.h"
#include "tui/output/json.h"
#include "trace/headline/headline.h"
#include "trace/job/window.h"
#include "trace/verdict/verdict.h"

#include <stdlib.h>

enum { PRICES = 3 };

static void add_command(cJSON *next, const char *command, const char *folder, const char *rest)
{
    char text[700];
    snprintf(text, sizeof text, "hpctop %s %.500s %s", command, folder, rest);
    tui_json_word(next, text);
}

/* Adds the commands that show the evidence of a whole run, or the report of a part. */
static void add_next(cJSON *root, const struct ana_summary *s, const char *folder)
{
    char id[80];
    cJSON *next = cJSON_AddArrayToObject(root, "next");
    if (!ana_of_all_time(&s->selection)) {
        snprintf(id, sizeof id, "--from %.9f --to %.9f", (double)s->selection.begin_ns / 1e9,
                 (double)s->selection.end_ns / 1e9);
        add_command(next, "report", folder, id);
        return;
    }
    add_command(next, "show", folder, "verdict");
    for (size_t i = 0; i < s->price_count && i < PRICES; i++) {
        snprintf(id, sizeof id, "price-%zu", i + 1);
        add_command(next, "show", folder, id);
    }
    enum ana_account_id most = 0;
    for (enum ana_account_id i = 1; i < ANA_ACCOUNTS; i++)
        most = s->account.ns[i] > s->account.ns[most] ? i : most;
    snprintf(id, sizeof id, "account-%s", ana_account_key(most));
    if (s->has_accounts)
        add_command(next, "show", folder, id);
}

static void add_prices(cJSON *root, const struct ana_job *job, const struct ana_summary *s)
{
    char id[32], words[240], why[160];
    cJSON *list = cJSON_AddArrayToObject(root, "prices");
    for (size_t i = 0; i < s->price_count && i < PRICES; i++) {
        cJSON *row = tui_json_item(list);
        snprintf(id, sizeof id, "price-%zu", i + 1);
        ana_price_words(job, &s->prices[i], words, sizeof words);
        ana_reason_words(&s->prices[i].reason, why, sizeof why);
        tui_json_text(row, "id", id);
        tui_json_text(row, "what", words);
        tui_json_text(row, "why", why);
        tui_json_ns(row, "saves_s", s->prices[i].saves_ns);
    }
}

char *tui_brief_json(const struct ana_job *job, const struct ana_summary *s, const char *folder)
{
    char headline[400];
    const struct ana_job_info info = ana_job_info(job);
    const struct ana_verdict *v = ana_job_verdict(job);
    cJSON *root = tui_json_document();
    ana_headline(job, s, NULL, headline, sizeof headline);
    tui_json_text(root, "state", ana_state_name(info.state));
    tui_json_integer(root, "ranks", info.ranks);
    tui_json_ns(root, "elapsed_s", info.elapsed_ns);
    tui_json_text(root, "answer", headline);
    tui_json_text(root, "verdict", v ? ana_verdict_state_name(v->state) : NULL);
    tui_json_text(root, "class", v ? ana_verdict_class_name(v->id) : NULL);
    tui_json_text(root, "certainty", v && v->id ? ana_confidence_name(v->confidence) : NULL);
    tui_json_accounts(root, &s->account);
    add_prices(root, job, s);
    add_next(root, s, folder);
    return tui_json_close(root, false);
}
