/* Values of JSON as hpctop prints them: unknown is null, integers are exact.  Out of memory: the value is left out. */
#pragma once

#include "trace/metric/table.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* Version of the JSON that hpctop prints: rises when a key goes or changes its meaning. */
#define TUI_JSON_VERSION 1u

/* An object whose first key is the version; NULL: out of memory. */
cJSON *tui_json_document(void);

/* Returns an object as text, in one line or in many, for the caller to free, and deletes it.  NULL: out of memory. */
char *tui_json_close(cJSON *object, bool lines);
/* Prints an object as a line or more, and deletes it.  False: out of memory, nothing is printed. */
bool tui_json_print(cJSON *object);

/* Appends an empty object to a list, and returns it. */
cJSON *tui_json_item(cJSON *list);
/* Appends a copy of a text to a list. */
void tui_json_word(cJSON *list, const char *text);
/* Adds a list of the ranks with these indexes. */
void tui_json_ranks(cJSON *object, const char *key, const struct ana_job *job, const size_t *index, size_t count);

/* Adds an integer with all its digits. */
void tui_json_integer(cJSON *object, const char *key, uint64_t value);

/* Adds a number by the shortest text that gives it again; null for NAN and infinity. */
void tui_json_real(cJSON *object, const char *key, double value);

/* Adds a time of `ns` nanoseconds in seconds, exactly; null if it is negative. */
void tui_json_ns(cJSON *object, const char *key, int64_t ns);

/* Adds a copy of a text; null for NULL. */
void tui_json_text(cJSON *object, const char *key, const char *text);

/* Adds a list of `count` objects, one a row of `size` bytes, with the keys of all metrics of that kind. */
void tui_json_rows(cJSON *root, const char *key, enum ana_metric_kind kind, const void *rows, size_t size, size_t count,
                   const struct ana_whole *whole);

/* Adds members that are no metric to the object of a row. */
typedef void tui_json_more(cJSON *object, const void *row, const struct ana_whole *whole);
/* Adds a list as tui_json_rows, and passes each object to `more` (NULL: none). */
void tui_json_rows_more(cJSON *root, const char *key, enum ana_metric_kind kind, const void *rows, size_t size,
                        size_t count, const struct ana_whole *whole, tui_json_more *more);

/* Adds such a list of many rows as text, which takes a fraction of the time: for a key of a document that cJSON_Print
 * prints, and that nobody looks into before. */
void tui_json_text_rows(cJSON *root, const char *key, enum ana_metric_kind kind, const void *rows, size_t size,
                        size_t count, const struct ana_whole *whole);

/* Adds the list "accounts" with the accounts that have time: {"account": "wait", "seconds": 1.5, "share": 0.2}. */
void tui_json_accounts(cJSON *object, const struct ana_account *account);
