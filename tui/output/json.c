#include "tui/output/json.h"
#include <inttypes.h>
#include <math.h>
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

void tui_json_signed(cJSON *object, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    cJSON_AddRawToObject(object, key, text);
}

void tui_json_real(cJSON *object, const char *key, double value)
{
    char text[40];
    if (isfinite(value))
        snprintf(text, sizeof text, "%.17g", value);
    else
        snprintf(text, sizeof text, "null");
    /* Take the shortest text that gives the number again. */
    for (int digits = 6; isfinite(value) && digits < 17; digits++) {
        char shorter[40];
        snprintf(shorter, sizeof shorter, "%.*g", digits, value);
        if (strtod(shorter, NULL) == value) {
            memcpy(text, shorter, sizeof text);
            break;
        }
    }
    cJSON_AddRawToObject(object, key, text);
}

void tui_json_ns(cJSON *object, const char *key, int64_t ns)
{
    char text[40];
    if (ns < 0)
        snprintf(text, sizeof text, "null");
    else
        snprintf(text, sizeof text, "%" PRId64 ".%09" PRId64, ns / 1000000000, ns % 1000000000);
    cJSON_AddRawToObject(object, key, text);
}

void tui_json_text(cJSON *object, const char *key, const char *text)
{
    if (text)
        cJSON_AddStringToObject(object, key, text);
    else
        cJSON_AddNullToObject(object, key);
}

/* Adds a metric by its key: times in seconds, ranks by their number. */
static void add_metric(cJSON *object, const struct ana_metric *metric, const void *row, const struct ana_whole *whole)
{
    struct ana_value v = metric->value(row, whole);
    const struct ana_rank *rank = v.type == ANA_RANK_INDEX ? ana_job_rank(whole->job, v.integer) : NULL;
    bool is_time = metric->unit == ANA_NS;
    if (v.type == ANA_UNSIGNED)
        tui_json_integer(object, metric->key, v.integer);
    else if (v.type == ANA_SIGNED)
        (is_time ? tui_json_ns : tui_json_signed)(object, metric->key, v.number);
    else if (v.type == ANA_REAL)
        tui_json_real(object, metric->key, is_time ? v.real / 1e9 : v.real);
    else if (v.type == ANA_BOOL)
        cJSON_AddBoolToObject(object, metric->key, v.integer != 0);
    else if (v.type == ANA_WORDS)
        tui_json_text(object, metric->key, v.text);
    else if (rank && rank->rank >= 0)
        tui_json_signed(object, metric->key, rank->rank);
    else
        cJSON_AddNullToObject(object, metric->key);
}

void tui_json_rows(cJSON *root, const char *key, enum ana_metric_kind kind, const void *rows, size_t size, size_t count,
                   const struct ana_whole *whole)
{
    cJSON *list = cJSON_AddArrayToObject(root, key);
    for (size_t i = 0; i < count; i++) {
        cJSON *o = cJSON_CreateObject();
        for (int m = 0; m < ANA_METRICS; m++)
            if (ana_metrics[m].kind == kind && ana_metrics[m].key)
                add_metric(o, &ana_metrics[m], (const char *)rows + i * size, whole);
        cJSON_AddItemToArray(list, o);
    }
}
