/* Values of JSON as hpctop prints them: unknown is null, integers are exact. */
#ifndef TUI_JSON_H
#define TUI_JSON_H

#include "trace/metric/metric.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

void tui_json_integer(cJSON *object, const char *key, uint64_t value);
void tui_json_signed(cJSON *object, const char *key, int64_t value);
void tui_json_real(cJSON *object, const char *key, double value);     /* all its digits; NAN is null */
void tui_json_ns(cJSON *object, const char *key, int64_t ns);         /* in seconds, exact; negative is null */
void tui_json_text(cJSON *object, const char *key, const char *text); /* NULL is null */
/* A list of objects with the keys of all metrics of a kind; `count` rows of `size` bytes. */
void tui_json_rows(cJSON *root, const char *key, enum ana_metric_kind kind, const void *rows, size_t size, size_t count,
                   const struct ana_whole *whole);

#endif
