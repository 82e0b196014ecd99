/* What the files behind tui_plan_apply share. */
#ifndef TUI_RECORD_IMPL_H
#define TUI_RECORD_IMPL_H

#include "tui/launch/record.h"

/* Both return false. */
bool tui_plan_refuse(struct tui_plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool tui_plan_no_memory(struct tui_plan *plan);

/* The command that a layer starts, behind its options and operands. */
size_t tui_layer_inner(const struct tui_words *words, const struct tui_layer *layer);

/* Another variable to be set: `length` characters of prefix, then name. */
bool tui_set(struct tui_plan *plan, const char *prefix, size_t length, const char *name, const char *value,
             char separator, const char *also);
void tui_unset(struct tui_plan *plan, size_t i);

/* Writes a template's words at `at`; returns how many, 0 when out of memory. */
size_t tui_insert(struct tui_words *words, size_t at, const char *template, const char *name, const char *value);

/* Each takes all variables of the plan, through this layer; false: see plan->refusal. */
bool tui_set_by_options(struct tui_plan *plan, const struct tui_layer *layer); /* before each of its programs */
bool tui_set_by_list(struct tui_plan *plan, const struct tui_layer *layer);    /* --export=ALL,NAME=VALUE,.. */
bool tui_set_by_env(struct tui_plan *plan);                                    /* env NAME=VALUE.. at the program */
/* If there is a list that excludes options, the list grows; else nothing is done. */
bool tui_set_by_joined(struct tui_plan *plan, const struct tui_layer *layer, bool *done);
/* Adds what a runtime turns into variables inside, and the paths that it makes visible there. */
bool tui_set_for_runtime(struct tui_plan *plan, const struct tui_layer_kind *kind, const char *library,
                         const char *folder);

#endif
