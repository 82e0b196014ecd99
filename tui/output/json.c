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

void tui_json_known(cJSON *object, const char *key, bool known, uint64_t value)
{
    if (known)
        tui_json_integer(object, key, value);
    else
        cJSON_AddNullToObject(object, key);
}

void tui_json_signed(cJSON *object, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    cJSON_AddRawToObject(object, key, text);
}

/* A real number with all its digits; NAN is null. */
void tui_json_real(cJSON *object, const char *key, double value)
{
    char text[40];
    if (isfinite(value))
        snprintf(text, sizeof text, "%.17g", value);
    else
        snprintf(text, sizeof text, "null");
    /* The shortest text that means the same number. */
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

/* Exact to the ns; negative is unknown. */
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
