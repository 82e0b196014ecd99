#include "tui/output/json.h"
#include "trace/metric/exact.h"
#include "trace/util/grow.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cJSON keeps numbers as doubles, which hold integers only to 2^53. */
void tui_json_integer(cJSON *object, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    cJSON_AddRawToObject(object, key, text);
}

cJSON *tui_json_document(void)
{
    cJSON *root = cJSON_CreateObject();
    if (root)
        tui_json_integer(root, "version", TUI_JSON_VERSION);
    return root;
}

static void add_exact(cJSON *object, const char *key, const char *exact)
{
    cJSON_AddRawToObject(object, key, exact ? exact : "null");
}

void tui_json_real(cJSON *object, const char *key, double value)
{
    char text[ANA_EXACT];
    add_exact(object, key, ana_exact_real(value, text));
}

void tui_json_ns(cJSON *object, const char *key, int64_t ns)
{
    char text[ANA_EXACT];
    add_exact(object, key, ana_exact_ns(ns, text));
}

void tui_json_text(cJSON *object, const char *key, const char *text)
{
    if (text)
        cJSON_AddStringToObject(object, key, text);
    else
        cJSON_AddNullToObject(object, key);
}

cJSON *tui_json_item(cJSON *list)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddItemToArray(list, item);
    return item;
}

void tui_json_word(cJSON *list, const char *text)
{
    cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

void tui_json_ranks(cJSON *object, const char *key, const struct ana_job *job, const size_t *index, size_t count)
{
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber(ana_job_rank(job, index[i])->rank));
}

/* ---- accounts of time -------------------------------------------------------------------------------------------- */

void tui_json_accounts(cJSON *object, const struct ana_account *account)
{
    cJSON *list = cJSON_AddArrayToObject(object, "accounts");
    for (enum ana_account_id id = 0; id < ANA_ACCOUNTS; id++) {
        if (!account->ns[id])
            continue;
        cJSON *one = tui_json_item(list);
        tui_json_text(one, "account", ana_account_key(id));
        tui_json_ns(one, "seconds", account->ns[id]);
        tui_json_real(one, "share", ana_account_share(account, id));
    }
}

/* The account of a row; NULL: rows of this kind have none, or it is not known. */
static const struct ana_account *account_of(const struct ana_whole *whole, enum ana_metric_kind kind, const void *row)
{
    if (!whole->summary || !whole->summary->has_accounts)
        return NULL;
    if (kind == ANA_KIND_SITE)
        return &((const struct ana_site *)row)->account;
    if (kind == ANA_KIND_REGION)
        return &((const struct ana_region_stat *)row)->account;
    const struct ana_rank_row *rank = kind == ANA_KIND_RANK ? row : NULL;
    return rank && rank->stat ? &rank->stat->account : NULL;
}

/* ---- tables as lists of objects ---------------------------------------------------------------------------------- */

struct json_sink {
    struct ana_sink sink;
    const struct ana_whole *whole;
    enum ana_metric_kind kind;
    cJSON *list, *object; /* list NULL: rows become text */
    tui_json_more *more;
    char *text;
    size_t used, room;
    bool failed; /* out of memory for the text */
};

static void begin_object(struct ana_sink *sink)
{
    struct json_sink *json = (struct json_sink *)sink;
    json->object = json->list ? tui_json_item(json->list) : cJSON_CreateObject();
}

static void add_value(struct ana_sink *sink, const struct ana_column *column, struct ana_value value)
{
    struct json_sink *json = (struct json_sink *)sink;
    char text[ANA_EXACT];
    const char *exact = ana_exact(column->metric, value, json->whole->job, text);
    (value.type == ANA_WORDS ? tui_json_text : add_exact)(json->object, column->title, exact);
}

/* Appends to the text of the rows. */
static void put(struct json_sink *json, const char *text)
{
    const size_t n = text ? strlen(text) + 1 : 0;
    json->room = ana_lengthen(&json->text, json->room, json->used + n, 1);
    json->failed |= !n || json->used + n > json->room;
    if (json->failed)
        return;
    memcpy(json->text + json->used, text, n);
    json->used += n - 1;
}

static void end_object(struct ana_sink *sink, const void *row)
{
    struct json_sink *json = (struct json_sink *)sink;
    const struct ana_account *account = account_of(json->whole, json->kind, row);
    if (account)
        tui_json_accounts(json->object, account);
    if (json->more)
        json->more(json->object, row, json->whole);
    if (json->list)
        return;
    char *text = tui_json_close(json->object, false);
    put(json, json->used ? ",\n\t\t" : "[\n\t\t");
    put(json, text);
    free(text);
}

/* Adds rows to the list of `json`, or to its text. */
static void walk_rows(struct json_sink *json, const void *rows, size_t size, size_t count)
{
    struct ana_column columns[ANA_METRICS];
    struct ana_table table = {columns, ana_table_keys(json->kind, columns), rows, size, count};
    json->sink = (struct ana_sink){NULL, begin_object, add_value, end_object};
    ana_table_walk(&table, json->whole, &json->sink);
}

void tui_json_rows_more(cJSON *root, const char *key, enum ana_metric_kind kind, const void *rows, size_t size,
                        size_t count, const struct ana_whole *whole, tui_json_more *more)
{
    struct json_sink json = {.whole = whole, .kind = kind, .list = cJSON_AddArrayToObject(root, key), .more = more};
    walk_rows(&json, rows, size, count);
}

void tui_json_rows(cJSON *root, const char *key, enum ana_metric_kind kind, const void *rows, size_t size, size_t count,
                   const struct ana_whole *whole)
{
    tui_json_rows_more(root, key, kind, rows, size, count, whole, NULL);
}

void tui_json_text_rows(cJSON *root, const char *key, enum ana_metric_kind kind, const void *rows, size_t size,
                        size_t count, const struct ana_whole *whole)
{
    struct json_sink json = {.whole = whole, .kind = kind};
    walk_rows(&json, rows, size, count);
    put(&json, json.used ? "]" : "[]");
    cJSON *list = json.failed ? NULL : cJSON_AddNullToObject(root, key);
    if (list) { /* cJSON_CreateRaw would copy the text */
        list->type = cJSON_Raw;
        list->valuestring = json.text;
    } else {
        free(json.text);
    }
}

char *tui_json_close(cJSON *object, bool lines)
{
    char *text = lines ? cJSON_Print(object) : cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    return text;
}

bool tui_json_print(cJSON *object)
{
    char *text = tui_json_close(object, true);
    const bool printed = text && puts(text) >= 0;
    free(text);
    return printed;
}
