/* Functions that the files of this folder share to make a plan. */
#pragma once

#include "tui/launch/record.h"

/* Writes why the command cannot be recorded into plan->refusal.  Returns false. */
bool tui_plan_refuse(struct tui_plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets plan->refusal: out of memory.  Returns false. */
bool tui_plan_no_memory(struct tui_plan *plan);

/* The word of the command that a layer starts, behind its options and operands; words->count if there is none. */
size_t tui_layer_inner(const struct tui_words *words, const struct tui_layer *layer);

/* Adds a variable to the plan: its name is `length` bytes of prefix and then name.  Name and value are copied; `also`
 * has to outlive the plan.  False when there are too many or out of memory: see plan->refusal. */
bool tui_set(struct tui_plan *plan, const char *prefix, size_t length, const char *name, const char *value,
             char separator, const char *also);

/* Removes variable i from the plan. */
void tui_unset(struct tui_plan *plan, size_t i);

/* Inserts the words of a template before word `at`, with name and value filled in.  Returns how many; 0 when out of
 * memory. */
size_t tui_insert(struct tui_words *words, size_t at, const char *template, const char *name, const char *value);

/* Sets all variables by options of the layer, before each of its programs, and removes them from the plan.  False when
 * out of memory: see plan->refusal. */
bool tui_set_by_options(struct tui_plan *plan, const struct tui_layer *layer);

/* Sets all variables by the layer's list (--export=ALL,NAME=VALUE,..), after its other entries, and removes them from
 * the plan.  A value with a comma stays in the plan and is listed by name.  False when out of memory: see
 * plan->refusal. */
bool tui_set_by_list(struct tui_plan *plan, const struct tui_layer *layer);

/* Sets all variables by env NAME=VALUE.. before the program or its runtime, and removes them from the plan; without a
 * program they stay.  False when out of memory: see plan->refusal. */
bool tui_set_by_env(struct tui_plan *plan);

/* Adds all variables to the layer's parameter with a list, if the user has set that, and removes them from the plan;
 * *done says whether.  False when out of memory: see plan->refusal. */
bool tui_set_by_joined(struct tui_plan *plan, const struct tui_layer *layer, bool *done);

/* Adds the variables that a runtime turns into variables inside, and the ones that show `library` and `folder` (may be
 * NULL) there.  False when there are too many or out of memory: see plan->refusal. */
bool tui_set_for_runtime(struct tui_plan *plan, const struct tui_layer_kind *kind, const char *library,
                         const char *folder);
