/* Parses a command line; see record.h. */
#include "tui/launch/record_impl.h"
#include "trace/util/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool tui_plan_refuse(struct tui_plan *plan, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(plan->refusal, sizeof plan->refusal, format, args);
    va_end(args);
    return false;
}

bool tui_plan_no_memory(struct tui_plan *plan)
{
    return tui_plan_refuse(plan, "out of memory");
}

/* Whether a word is NAME=VALUE. */
static bool is_assignment(const char *word)
{
    const char *equals = strchr(word, '=');
    return equals && equals > word &&
           (size_t)(equals - word) == strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                   "abcdefghijklmnopqrstuvwxyz"
                                                   "0123456789_");
}

size_t tui_layer_inner(const struct tui_words *words, const struct tui_layer *layer)
{
    const struct tui_layer_kind *kind = layer->kind;
    size_t i = layer->options;
    for (; i < words->count; i++) {
        const char *word = words->word[i];
        if (strcmp(word, "--") == 0) {
            i++;
            break;
        }
        if (word[0] == '-')
            i += (size_t)(strchr(word, '=') ? 0 : tui_layer_values(kind, word));
        else if (!kind->assigns || !is_assignment(word))
            break;
    }
    i += (size_t)kind->operands;
    /* An option that the table does not know may have a value.  The first executable ends the options. */
    char path[4096];
    if (kind->role == TUI_LAYER_LAUNCHER)
        for (size_t k = i; k < words->count && strcmp(words->word[k], ":") != 0; k++)
            if (tui_layer_kind_of(words->word[k], false) || tui_find_program(words->word[k], path, sizeof path))
                return k;
    return i < words->count ? i : words->count;
}

/* The first word behind name and subcommand; 0 if this subcommand starts nothing. */
static size_t find_options(const struct tui_words *words, size_t at, const struct tui_layer_kind *kind)
{
    if (!kind->commands)
        return at + 1;
    for (size_t i = at + 1; i < words->count && i < at + 8; i++)
        if (tui_listed(kind->commands, ' ', words->word[i], strlen(words->word[i])))
            return i + 1;
    return 0;
}

static bool is_script(const char *word)
{
    char path[4096], line[256], *name;
    struct tui_elf elf;
    if (strncmp(trc_base_name(word), "python", 6) == 0) /* it may be a wrapper script of an installation */
        return false;
    if (!tui_find_program(word, path, sizeof path) || !tui_elf_read(path, &elf) || !elf.script)
        return false;
    snprintf(line, sizeof line, "%s", elf.interpreter);
    name = strtok(line, " \t");
    if (name && trc_ends_in(name, "/env"))
        name = strtok(NULL, " \t");
    const struct tui_layer_kind *kind = name ? tui_layer_kind_of(name, false) : NULL;
    return kind && kind->role == TUI_LAYER_SHELL;
}

const struct tui_layer *tui_plan_layer(const struct tui_plan *plan, enum tui_layer_role role)
{
    for (size_t i = 0; i < plan->layers; i++)
        if (plan->layer[i].kind->role == role)
            return &plan->layer[i];
    return NULL;
}

bool tui_plan_read(struct tui_plan *plan, char *const *command, size_t n)
{
    *plan = (struct tui_plan){0};
    for (size_t i = 0; i < n; i++)
        if (!tui_words_insert(&plan->words, i, command[i]))
            return tui_plan_no_memory(plan);
    size_t at = 0;
    while (at < plan->words.count && plan->layers < TUI_LAYERS) {
        bool inside = tui_plan_layer(plan, TUI_LAYER_RUNTIME);
        struct tui_layer layer = {.kind = tui_layer_kind_of(plan->words.word[at], !inside), .at = at};
        layer.options = layer.kind ? find_options(&plan->words, at, layer.kind) : 0;
        if (!layer.options)
            break;
        layer.inner = layer.kind->role == TUI_LAYER_SHELL ? plan->words.count : tui_layer_inner(&plan->words, &layer);
        plan->layer[plan->layers++] = layer;
        if (layer.kind->role == TUI_LAYER_SHELL)
            break;
        at = layer.inner;
    }
    plan->program = at;
    bool inside = tui_plan_layer(plan, TUI_LAYER_RUNTIME);
    plan->script = tui_plan_layer(plan, TUI_LAYER_BATCH) || tui_plan_layer(plan, TUI_LAYER_SHELL) ||
                   (at < plan->words.count && !inside && is_script(plan->words.word[at]));
    plan->launches = plan->script && !tui_plan_layer(plan, TUI_LAYER_LAUNCHER);
    return true;
}

void tui_plan_free(struct tui_plan *plan)
{
    for (size_t i = 0; i < plan->words.count; i++)
        free(plan->words.word[i]);
    free(plan->words.word);
    for (size_t i = 0; i < plan->settings; i++) {
        free(plan->setting[i].name);
        free(plan->setting[i].value);
    }
    *plan = (struct tui_plan){0};
}
