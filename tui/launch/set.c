/* Gets variables through a layer: by its options, by a list, by env, by a runtime's own variables. */
#include "tui/launch/record_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool tui_set(struct tui_plan *plan, const char *prefix, size_t length, const char *name, const char *value,
             char separator, const char *also)
{
    if (plan->settings == TUI_SETTINGS)
        return tui_plan_refuse(plan, "too many variables");
    struct tui_setting *setting = &plan->setting[plan->settings];
    *setting = (struct tui_setting){.value = strdup(value), .separator = separator, .also = also};
    if (asprintf(&setting->name, "%.*s%s", (int)length, prefix, name) < 0)
        setting->name = NULL;
    plan->settings++;
    return (setting->name && setting->value) || tui_plan_no_memory(plan);
}

void tui_unset(struct tui_plan *plan, size_t i)
{
    free(plan->setting[i].name);
    free(plan->setting[i].value);
    plan->settings--;
    memmove(plan->setting + i, plan->setting + i + 1, (plan->settings - i) * sizeof *plan->setting);
}

bool tui_set_for_runtime(struct tui_plan *plan, const struct tui_layer_kind *kind, const char *library,
                         const char *folder)
{
    size_t n = plan->settings;
    for (const char *at = kind->prefixes; at && *at;) {
        const char *end = strchrnul(at, ' ');
        for (size_t i = 0; i < n; i++) {
            const struct tui_setting *from = &plan->setting[i];
            const char *also = NULL;
            if (strcmp(from->name, "LD_PRELOAD") == 0)
                also = "APPTAINERENV_LD_PRELOAD SINGULARITYENV_LD_PRELOAD LD_PRELOAD";
            else if (strcmp(from->name, "ASAN_OPTIONS") == 0)
                also = "APPTAINERENV_ASAN_OPTIONS SINGULARITYENV_ASAN_OPTIONS ASAN_OPTIONS";
            if (!tui_set(plan, at, (size_t)(end - at), from->name, from->value, from->separator, also))
                return false;
        }
        at = *end ? end + 1 : end;
    }
    for (const char *at = kind->bind_variables; at && *at;) {
        const char *end = strchrnul(at, ' ');
        char paths[9000];
        snprintf(paths, sizeof paths, "%s%s%s", library, folder ? "," : "", folder ? folder : "");
        if (!tui_set(plan, at, (size_t)(end - at), "", paths, ',', kind->bind_variables))
            return false;
        at = *end ? end + 1 : end;
    }
    return true;
}

size_t tui_insert(struct tui_words *words, size_t at, const char *template, const char *name, const char *value)
{
    size_t n = 0;
    for (const char *from = template; *from; n++) {
        char *word = NULL;
        size_t size;
        FILE *out = open_memstream(&word, &size);
        for (; out && *from && *from != '|'; from++) {
            if (*from == '%' && (from[1] == 'n' || from[1] == 'v'))
                fputs(*++from == 'n' ? name : value, out);
            else
                fputc(*from, out);
        }
        bool good = out && fclose(out) == 0 && tui_words_insert(words, at + n, word);
        free(word);
        if (!good)
            return 0;
        from += *from == '|';
    }
    return n;
}

/* Joins a setting to the value that the user gives it among a layer's words.  Returns 1 if there is one, 0 if not, -1
 * when out of memory. */
static int join_theirs(struct tui_plan *plan, size_t begin, size_t end, const struct tui_setting *setting)
{
    struct tui_words *words = &plan->words;
    size_t length = strlen(setting->name);
    for (size_t i = begin; i < end; i++) {
        char *at = strstr(words->word[i], setting->name);
        if (!at || (at > words->word[i] && at[-1] != '=')) /* --env=NAME=.. */
            continue;
        char *joined = NULL, *value;
        if (at[length] == '=') {
            value = tui_joined(at + length + 1, setting->separator, setting->value);
            if (value &&
                asprintf(&joined, "%.*s%s", (int)(at + length + 1 - words->word[i]), words->word[i], value) < 0)
                joined = NULL;
        } else if (at[length] == 0 && i + 1 < end && strstr(words->word[i - 1], "env")) { /* -genv NAME VALUE */
            i++;
            value = NULL;
            joined = tui_joined(words->word[i], setting->separator, setting->value);
        } else if (at[length] == 0) { /* -x NAME */
            value = tui_setting_value(setting, false);
            if (value && asprintf(&joined, "%s=%s", words->word[i], value) < 0)
                joined = NULL;
        } else {
            continue;
        }
        free(value);
        return tui_words_replace(words, i, joined) ? 1 : -1;
    }
    return 0;
}

bool tui_set_by_options(struct tui_plan *plan, const struct tui_layer *layer)
{
    const struct tui_layer_kind *kind = layer->kind;
    size_t begin = layer->options, end = layer->inner;
    for (;;) {
        size_t where = kind->assigns ? end : begin, added = 0;
        for (size_t i = 0; i < plan->settings; i++) {
            int theirs = join_theirs(plan, begin + added, end + added, &plan->setting[i]);
            char *value = theirs == 0 ? tui_setting_value(&plan->setting[i], kind->isolated) : NULL;
            size_t n = value ? tui_insert(&plan->words, where + added, kind->setting, plan->setting[i].name, value) : 0;
            free(value);
            if (theirs < 0 || (theirs == 0 && n == 0))
                return tui_plan_no_memory(plan);
            added += n;
        }
        begin = end + added;
        while (begin < plan->words.count && strcmp(plan->words.word[begin], ":") != 0)
            begin++;
        if (!kind->contexts || begin >= plan->words.count)
            break;
        struct tui_layer next = {.kind = kind, .options = ++begin};
        end = tui_layer_inner(&plan->words, &next);
    }
    while (plan->settings)
        tui_unset(plan, 0);
    return true;
}

bool tui_set_by_env(struct tui_plan *plan)
{
    const struct tui_layer *runtime = tui_plan_layer(plan, TUI_LAYER_RUNTIME);
    size_t at = runtime ? runtime->at : plan->program; /* a runtime turns them into variables inside */
    if (at >= plan->words.count)
        return true; /* no program: the environment has to do */
    if (!tui_words_insert(&plan->words, at, "env"))
        return tui_plan_no_memory(plan);
    struct tui_layer env = {.kind = tui_layer_kind_of("env", false), .at = at, .options = at + 1, .inner = at + 1};
    return tui_set_by_options(plan, &env);
}

/* The value of an option in the script itself: #SBATCH --export=.. */
static bool read_directive(const struct tui_plan *plan, const struct tui_layer *layer, const char *option, char *out,
                           size_t size)
{
    char line[4096];
    bool found = false;
    FILE *script = layer->inner < plan->words.count ? fopen(plan->words.word[layer->inner], "r") : NULL;
    while (script && fgets(line, sizeof line, script)) {
        char *at = strncmp(line, "#SBATCH", 7) == 0 ? strstr(line, option) : NULL;
        if (at && at[strlen(option)] == '=') {
            snprintf(out, size, "%.*s", (int)strcspn(at + strlen(option) + 1, " \t\n"), at + strlen(option) + 1);
            found = true;
        }
    }
    if (script)
        fclose(script);
    return found;
}

bool tui_set_by_list(struct tui_plan *plan, const struct tui_layer *layer)
{
    const struct tui_layer_kind *kind = layer->kind;
    struct tui_words *words = &plan->words;
    size_t length = strlen(kind->list), at = layer->options;
    char list[4096] = "ALL";
    bool whole_word = true;
    const char *inherited = getenv(kind->list_variables);
    if (inherited && *inherited)
        snprintf(list, sizeof list, "%s", inherited);
    if (kind->role == TUI_LAYER_BATCH)
        read_directive(plan, layer, kind->list, list, sizeof list);
    for (; at < layer->inner; at++) {
        bool equals = strncmp(words->word[at], kind->list, length) == 0 && words->word[at][length] == '=';
        if (equals || (strcmp(words->word[at], kind->list) == 0 && at + 1 < layer->inner)) {
            at += !equals;
            snprintf(list, sizeof list, "%s", equals ? words->word[at] + length + 1 : words->word[at]);
            whole_word = equals;
            break;
        }
    }
    bool none = strcasecmp(list, "NONE") == 0 || strcasecmp(list, "NIL") == 0;
    char *whole = strdup(none ? "" : list);
    for (size_t i = 0; whole && i < plan->settings;) {
        char *longer = NULL;
        if (strchr(plan->setting[i].value, ',')) {
            if (asprintf(&longer, "%s%s%s", whole, *whole ? "," : "", plan->setting[i].name) < 0)
                longer = NULL;
            i++;
        } else {
            longer = tui_list_with(whole, ',', &plan->setting[i]);
            tui_unset(plan, i);
        }
        free(whole);
        whole = longer;
    }
    char *word = NULL;
    if (whole && asprintf(&word, "%s%s%s", whole_word ? kind->list : "", whole_word ? "=" : "", whole) < 0)
        word = NULL;
    free(whole);
    bool good = word && (at < layer->inner ? tui_words_replace(words, at, strdup(word))
                                           : tui_words_insert(words, layer->options, word));
    free(word);
    /* For sbatch NONE implies this option, a list does not. */
    if (good && none && kind->role == TUI_LAYER_BATCH)
        good = tui_words_insert(words, layer->options, "--get-user-env");
    return good || tui_plan_no_memory(plan);
}

/* Open MPI takes a list in a parameter or single options, never both: a list that is there has to grow. */
bool tui_set_by_joined(struct tui_plan *plan, const struct tui_layer *layer, bool *done)
{
    char variable[128];
    snprintf(variable, sizeof variable, "OMPI_MCA_%s", layer->kind->joined);
    const char *theirs = getenv(variable);
    struct tui_words *words = &plan->words;
    size_t at = 0;
    for (size_t i = layer->options; i + 1 < layer->inner && !at; i++)
        at = strcmp(words->word[i], layer->kind->joined) == 0 ? i + 1 : 0;
    *done = at || (theirs && *theirs);
    if (!*done)
        return true;
    char *list = strdup(at ? words->word[at] : theirs);
    while (list && plan->settings) {
        char *longer = tui_list_with(list, ';', &plan->setting[0]);
        tui_unset(plan, 0);
        free(list);
        list = longer;
    }
    bool good =
        list && (at ? tui_words_replace(words, at, strdup(list)) : tui_set(plan, "", 0, variable, list, 0, NULL));
    free(list);
    return good || tui_plan_no_memory(plan);
}
