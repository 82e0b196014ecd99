/* Values of JSON as hpctop prints them: unknown is null, integers are exact. */
#ifndef TUI_JSON_H
#define TUI_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct ana_job;
struct ana_summary;

void tui_json_integer(cJSON *object, const char *key, uint64_t value);
void tui_json_known(cJSON *object, const char *key, bool known, uint64_t value); /* else null */
void tui_json_signed(cJSON *object, const char *key, int64_t value);
void tui_json_real(cJSON *object, const char *key, double value);     /* all its digits; NAN is null */
void tui_json_ns(cJSON *object, const char *key, int64_t ns);         /* in seconds, exact; negative is null */
void tui_json_text(cJSON *object, const char *key, const char *text); /* NULL is null */

/* report_json_device.c: the report's keys about GPUs, NCCL, and which library carried which bytes. */
void tui_report_json_devices(cJSON *root, const struct ana_job *job, const struct ana_summary *summary);

#endif
