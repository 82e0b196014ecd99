#include "tui/output/json.h"
#include "trace/metric/exact.h"
#include <inttypes.h>
#include <stdio.h>

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

/* ---- tables as lists of objects ---------------------------------------------------------------------------------- */

struct json_sink {
    struct ana_sink sink;
    const struct ana_job *job;
    cJSON *list, *object;
};

static void begin_object(struct ana_sink *sink)
{
    ((struct json_sink *)sink)->object = cJSON_CreateObject();
}

static void add_value(struct ana_sink *sink, const struct ana_column *column, struct ana_value value)
{
    struct json_sink *json = (struct json_sink *)sink;
    char text[ANA_EXACT];
    const char *exact = ana_exact(column->metric, value, json->job, text);
    (value.type == ANA_WORDS ? tui_json_text : add_exact)(json->object, column->title, exact);
}

static void end_object(struct ana_sink *sink, const void *row)
{
    (void)row;
    cJSON_AddItemToArray(((struct json_sink *)sink)->list, ((struct json_sink *)sink)->object);
}

void tui_json_rows(cJSON *root, const char *key, enum ana_metric_kind kind, const void *rows, size_t size, size_t count,
                   const struct ana_whole *whole)
{
    struct ana_column columns[ANA_METRICS];
    struct ana_table table = {columns, ana_table_keys(kind, columns), rows, size, count};
    cJSON *list = cJSON_AddArrayToObject(root, key);
    struct json_sink json = {{NULL, begin_object, add_value, end_object}, whole->job, list, NULL};
    ana_table_walk(&table, whole, &json.sink);
}
