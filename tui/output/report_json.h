/* The report and the verdict as JSON, for scripts. */
#pragma once

#include "trace/summary/summary.h"
#include <cjson/cJSON.h>
#include <stdio.h>

/* Returns the report as one JSON object, for the caller to free; NULL when out of memory.
 * Strings are UTF-8; control characters, and bytes that are no UTF-8, are '?' (trace/util/text.h).
 * Units are seconds and bytes.  Unknown values are null.  Integers are exact, whatever their size.  json_keys.def
 * lists the keys. */
char *tui_report_json(const struct ana_job *job, const struct ana_summary *summary);
/* Returns the same before it is printed, for the caller to delete; NULL when out of memory. */
cJSON *tui_report_tree(const struct ana_job *job, const struct ana_summary *summary);

struct ana_verdict;

/* Returns a verdict as one JSON object, for the caller to free; NULL when out of memory.  Keys:
 * json_keys.def. */
char *tui_verdict_json(const struct ana_job *job, const struct ana_verdict *verdict, const char *summary);
/* Returns the same before it is printed, for the caller to delete; NULL when out of memory. */
cJSON *tui_verdict_tree(const struct ana_job *job, const struct ana_verdict *verdict, const char *summary);

/* Adds whom a verdict (NULL: there is none) blames as the key "culprits": ranks, those without a file last. */
void tui_culprits_json(cJSON *root, const struct ana_job *job, const struct ana_verdict *verdict);

/* Prints what this machine says of its GPUs as lines of the report; waits for that about a second. */
void tui_node_report(const struct ana_job *job, bool utf8, FILE *out);

struct ana_hvd;
/* Adds Horovod's gradients, by library, as the key "gradients". */
void tui_gradients_json(cJSON *root, const struct ana_hvd *hvd);
/* Adds Horovod's gradients and steps as the keys "gradients" and "steps". */
void tui_steps_json(cJSON *root, const struct ana_job *job);

/* Adds what this machine says of its GPUs as the keys node_gpus and nccl_ras; waits for that about a second. */
void tui_node_json(cJSON *root, const struct ana_job *job);

/* Returns the answer as one JSON object of at most 4 kB, for the caller to free; NULL when out of memory.  `folder`: as
 * typed, for commands in it. */
char *tui_brief_json(const struct ana_job *job, const struct ana_summary *summary, const char *folder);
