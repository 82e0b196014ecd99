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
    cJSON *list, *object;
    tui_json_more *more;
};

static void begin_object(struct ana_sink *sink)
{
    struct json_sink *json = (struct json_sink *)sink;
    json->object = tui_json_item(json->list);
}

static void add_value(struct ana_sink *sink, const struct ana_column *column, struct ana_value value)
{
    struct json_sink *json = (struct json_sink *)sink;
    char text[ANA_EXACT];
    const char *exact = ana_exact(column->metric, value, json->whole->job, text);
    (value.type == ANA_WORDS ? tui_json_text : add_exact)(json->object, column->title, exact);
}

static void end_object(struct ana_sink *sink, const void *row)
{
    struct json_sink *json = (struct json_sink *)sink;
    const struct ana_account *account = account_of(json->whole, json->kind, row);
    if (account)
        tui_json_accounts(json->object, account);
    if (json->more)
        json->more(json->object, row, json->whole);
}

void tui_json_rows_more(cJSON *root, const char *key, enum ana_metric_kind kind, const void *rows, size_t size,
                        size_t count, const struct ana_whole *whole, tui_json_more *more)
{
    struct ana_column columns[ANA_METRICS];
    struct ana_table table = {columns, ana_table_keys(kind, columns), rows, size, count};
    cJSON *list = cJSON_AddArrayToObject(root, key);
    struct json_sink json = {{NULL, begin_object, add_value, end_object}, whole, kind, list, NULL, more};
    ana_table_walk(&table, whole, &json.sink);
}

void tui_json_rows(cJSON *root, const char *key, enum ana_metric_kind kind, const void *rows, size_t size, size_t count,
                   const struct ana_whole *whole)
{
    tui_json_rows_more(root, key, kind, rows, size, count, whole, NULL);
}

/* ---- tables as text ---------------------------------------------------------------------------------------------- */

struct text_sink {
    struct ana_sink sink;
    const struct ana_whole *whole;
    enum ana_metric_kind kind;
    char *text;
    size_t used, room;
    bool first, failed; /* the first value of a row; out of memory */
};

/* Returns room for `more` bytes behind the text; NULL: out of memory. */
static char *reach(struct text_sink *to, size_t more)
{
    to->room = ana_lengthen(&to->text, to->room, to->used + more, 1);
    to->failed |= to->used + more > to->room;
    return to->failed ? NULL : to->text + to->used;
}

static void put(struct text_sink *to, const char *bytes, size_t n)
{
    char *at = reach(to, n);
    if (!at)
        return;
    memcpy(at, bytes, n);
    to->used += n;
}

static void put_string(struct text_sink *to, const char *text)
{
    static const char plain[] = "\b\f\n\r\t\"\\", letter[] = "bfnrt\"\\";
    put(to, "\"", 1);
    for (; *text; text++) {
        char escape[8] = {*text};
        size_t n = 1;
        const char *short_one = strchr(plain, *text);
        if (short_one)
            n = (size_t)snprintf(escape, sizeof escape, "\\%c", letter[short_one - plain]);
        else if ((unsigned char)*text < ' ')
            n = (size_t)snprintf(escape, sizeof escape, "\\u%04x", (unsigned char)*text);
        put(to, escape, n);
    }
    put(to, "\"", 1);
}

static void begin_text(struct ana_sink *sink)
{
    struct text_sink *to = (struct text_sink *)sink;
    if (to->used > 1)
        put(to, ", ", 2);
    put(to, "{", 1);
    to->first = true;
}

static void add_text(struct ana_sink *sink, const struct ana_column *column, struct ana_value value)
{
    struct text_sink *to = (struct text_sink *)sink;
    char text[ANA_EXACT];
    const char *exact = ana_exact(column->metric, value, to->whole->job, text);
    put(to, &",\n\t\t\t\""[to->first], 6 - (size_t)to->first);
    put(to, column->title, strlen(column->title));
    put(to, "\":\t", 3);
    if (exact && value.type == ANA_WORDS)
        put_string(to, exact);
    else
        put(to, exact ? exact : "null", exact ? strlen(exact) : 4);
    to->first = false;
}

static void put_text(struct text_sink *to, const char *text)
{
    put(to, text, strlen(text));
}

/* Appends what tui_json_accounts adds. */
static void put_accounts(struct text_sink *to, const struct ana_account *account)
{
    char text[ANA_EXACT];
    const char *between = "";
    put_text(to, ",\n\t\t\t\"accounts\":\t[");
    for (enum ana_account_id id = 0; id < ANA_ACCOUNTS; id++) {
        if (!account->ns[id])
            continue;
        put_text(to, between);
        put_text(to, "{\"account\":\"");
        put_text(to, ana_account_key(id));
        put_text(to, "\",\"seconds\":");
        put_text(to, ana_exact_ns(account->ns[id], text));
        put_text(to, ",\"share\":");
        put_text(to, ana_exact_real(ana_account_share(account, id), text));
        put_text(to, "}");
        between = ",";
    }
    put_text(to, "]");
}

static void end_text(struct ana_sink *sink, const void *row)
{
    struct text_sink *to = (struct text_sink *)sink;
    const struct ana_account *account = account_of(to->whole, to->kind, row);
    if (account)
        put_accounts(to, account);
    put_text(to, "\n\t\t}");
}

void tui_json_text_rows(cJSON *root, const char *key, enum ana_metric_kind kind, const void *rows, size_t size,
                        size_t count, const struct ana_whole *whole)
{
    struct ana_column columns[ANA_METRICS];
    struct ana_table table = {columns, ana_table_keys(kind, columns), rows, size, count};
    struct text_sink to = {.sink = {NULL, begin_text, add_text, end_text}, .whole = whole, .kind = kind};
    put(&to, "[", 1);
    ana_table_walk(&table, whole, &to.sink);
    put(&to, "]", 2);
    cJSON *list = to.failed ? NULL : cJSON_AddNullToObject(root, key);
    if (list) { /* cJSON_CreateRaw would copy the text */
        list->type = cJSON_Raw;
        list->valuestring = to.text;
    } else {
        free(to.text);
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
