/* A command line, layer by layer; see record.h. */
#include "tui/record.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static bool refuse(struct tui_plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(struct tui_plan *plan, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(plan->refusal, sizeof plan->refusal, format, args);
    va_end(args);
    return false;
}

static bool out_of_memory(struct tui_plan *plan)
{
    return refuse(plan, "out of memory");
}

/* Whether NAME=VALUE. */
static bool assigns(const char *word)
{
    const char *equals = strchr(word, '=');
    return equals && equals > word &&
           (size_t)(equals - word) == strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                   "abcdefghijklmnopqrstuvwxyz"
                                                   "0123456789_");
}

/* The command that a layer starts, behind its options and operands. */
static size_t inner_of(const struct tui_words *words, const struct tui_layer *layer)
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
        else if (!kind->assigns || !assigns(word))
            break;
    }
    i += (size_t)kind->operands;
    /* An option that the table does not know may have a value: that is rarely something that can be run. */
    char path[4096];
    if (kind->role == TUI_LAYER_LAUNCHER)
        for (size_t k = i; k < words->count && strcmp(words->word[k], ":") != 0; k++)
            if (tui_layer_kind_of(words->word[k], false) || tui_find_program(words->word[k], path, sizeof path))
                return k;
    return i < words->count ? i : words->count;
}

/* The words behind name and subcommand; 0 if this subcommand starts nothing. */
static size_t options_of(const struct tui_words *words, size_t at, const struct tui_layer_kind *kind)
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
    if (!tui_find_program(word, path, sizeof path) || !tui_elf_read(path, &elf) || !elf.script)
        return false;
    snprintf(line, sizeof line, "%s", elf.interpreter);
    name = strtok(line, " \t");
    size_t length = name ? strlen(name) : 0;
    if (length > 4 && strcmp(name + length - 4, "/env") == 0)
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
            return out_of_memory(plan);
    size_t at = 0;
    while (at < plan->words.count && plan->layers < TUI_LAYERS) {
        bool inside = tui_plan_layer(plan, TUI_LAYER_RUNTIME);
        struct tui_layer layer = {.kind = tui_layer_kind_of(plan->words.word[at], !inside), .at = at};
        layer.options = layer.kind ? options_of(&plan->words, at, layer.kind) : 0;
        if (!layer.options)
            break;
        layer.inner = layer.kind->role == TUI_LAYER_SHELL ? plan->words.count : inner_of(&plan->words, &layer);
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

static bool set(struct tui_plan *plan, const char *prefix, size_t length, const char *name, const char *value,
                char separator, const char *also)
{
    if (plan->settings == TUI_SETTINGS)
        return refuse(plan, "too many variables");
    struct tui_setting *setting = &plan->setting[plan->settings];
    *setting = (struct tui_setting){.value = strdup(value), .separator = separator, .also = also};
    if (asprintf(&setting->name, "%.*s%s", (int)length, prefix, name) < 0)
        setting->name = NULL;
    plan->settings++;
    return (setting->name && setting->value) || out_of_memory(plan);
}

static void unset(struct tui_plan *plan, size_t i)
{
    free(plan->setting[i].name);
    free(plan->setting[i].value);
    plan->settings--;
    memmove(plan->setting + i, plan->setting + i + 1, (plan->settings - i) * sizeof *plan->setting);
}

/* Variables that a runtime turns into ones inside, and paths that it makes visible there. */
static bool set_for_runtime(struct tui_plan *plan, const struct tui_layer_kind *kind, const char *library,
                            const char *folder)
{
    size_t n = plan->settings;
    for (const char *at = kind->prefixes; at && *at;) {
        const char *end = strchrnul(at, ' ');
        for (size_t i = 0; i < n; i++) {
            const struct tui_setting *from = &plan->setting[i];
            const char *also = from->separator ? "APPTAINERENV_LD_PRELOAD SINGULARITYENV_LD_PRELOAD LD_PRELOAD" : NULL;
            if (!set(plan, at, (size_t)(end - at), from->name, from->value, from->separator, also))
                return false;
        }
        at = *end ? end + 1 : end;
    }
    for (const char *at = kind->bind_variables; at && *at;) {
        const char *end = strchrnul(at, ' ');
        char paths[9000];
        snprintf(paths, sizeof paths, "%s%s%s", library, folder ? "," : "", folder ? folder : "");
        if (!set(plan, at, (size_t)(end - at), "", paths, ',', kind->bind_variables))
            return false;
        at = *end ? end + 1 : end;
    }
    return true;
}

/* Writes a template's words at `at`; returns how many, 0 when out of memory. */
static size_t insert(struct tui_words *words, size_t at, const char *template, const char *name, const char *value)
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

/* Where the user sets this variable among the words of a layer: the word is changed to hold ours too. */
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

/* Sets all variables by options of the layer, before each of its programs. */
static bool set_by_options(struct tui_plan *plan, const struct tui_layer *layer)
{
    const struct tui_layer_kind *kind = layer->kind;
    size_t begin = layer->options, end = layer->inner;
    for (;;) {
        size_t where = kind->assigns ? end : begin, added = 0;
        for (size_t i = 0; i < plan->settings; i++) {
            int theirs = join_theirs(plan, begin + added, end + added, &plan->setting[i]);
            char *value = theirs == 0 ? tui_setting_value(&plan->setting[i], kind->isolated) : NULL;
            size_t n = value ? insert(&plan->words, where + added, kind->setting, plan->setting[i].name, value) : 0;
            free(value);
            if (theirs < 0 || (theirs == 0 && n == 0))
                return out_of_memory(plan);
            added += n;
        }
        begin = end + added;
        while (begin < plan->words.count && strcmp(plan->words.word[begin], ":") != 0)
            begin++;
        if (!kind->contexts || begin >= plan->words.count)
            break;
        struct tui_layer next = {.kind = kind, .options = ++begin};
        end = inner_of(&plan->words, &next);
    }
    while (plan->settings)
        unset(plan, 0);
    return true;
}

/* Whether a wrapper sets one of our variables itself. */
static bool names_ours(const struct tui_plan *plan, const struct tui_layer *layer)
{
    for (size_t w = layer->options; w < layer->inner; w++)
        for (size_t i = 0; i < plan->settings; i++) {
            size_t length = strlen(plan->setting[i].name);
            if (strncmp(plan->words.word[w], plan->setting[i].name, length) == 0 && plan->words.word[w][length] == '=')
                return true;
        }
    return false;
}

/* env NAME=VALUE.. right before the program. */
static bool insert_env(struct tui_plan *plan, const struct tui_layer *layer)
{
    size_t at = plan->program;
    if (at >= plan->words.count)
        return true; /* nothing seen to put it before: by the environment */
    if (!tui_words_insert(&plan->words, at, "env"))
        return out_of_memory(plan);
    struct tui_layer env = {.kind = tui_layer_kind_of("env", false), .at = at, .options = at + 1, .inner = at + 1};
    (void)layer;
    return set_by_options(plan, &env);
}

/* What a batch script says itself: #SBATCH --export=.. */
static bool directive(const struct tui_plan *plan, const struct tui_layer *layer, const char *option, char *out,
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

/* --export=ALL,NAME=VALUE,..: what is there is kept.  A value with a comma goes by name, through the environment. */
static bool set_by_list(struct tui_plan *plan, const struct tui_layer *layer)
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
        directive(plan, layer, kind->list, list, sizeof list);
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
            unset(plan, i);
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
    /* What NONE implies for sbatch, a list alone does not. */
    if (good && none && kind->role == TUI_LAYER_BATCH)
        good = tui_words_insert(words, layer->options, "--get-user-env");
    return good || out_of_memory(plan);
}

/* Open MPI takes a list in a parameter or single options, never both: where there is a list, it grows. */
static bool grow_joined(struct tui_plan *plan, const struct tui_layer *layer, bool *done)
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
        unset(plan, 0);
        free(list);
        list = longer;
    }
    bool good = list && (at ? tui_words_replace(words, at, strdup(list)) : set(plan, "", 0, variable, list, 0, NULL));
    free(list);
    return good || out_of_memory(plan);
}

static bool clears(const struct tui_words *words, const struct tui_layer *layer, size_t *at)
{
    for (size_t i = layer->options; layer->kind->clears && i < layer->inner; i++) {
        const char *name = words->word[i] + strspn(words->word[i], "-");
        if (words->word[i][0] == '-' &&
            tui_listed(layer->kind->clears, ' ', *name ? name : "-", *name ? strlen(name) : 1)) {
            *at = i;
            return true;
        }
    }
    return false;
}

/* Singularity and Apptainer with a setuid starter: where it would be, beside the command. */
static bool has_setuid_starter(const char *command)
{
    static const char *const places[] = {"libexec/apptainer/bin", "libexec/singularity/bin",
                                         "lib/x86_64-linux-gnu/apptainer/bin", "lib/x86_64-linux-gnu/singularity/bin"};
    char path[4096], starter[8192];
    char *real = tui_find_program(command, path, sizeof path) ? realpath(path, NULL) : NULL;
    char *slash = real ? strrchr(real, '/') : NULL;
    bool found = false;
    if (slash)
        *slash = 0;
    for (size_t i = 0; slash && i < sizeof places / sizeof *places && !found; i++) {
        struct stat info;
        snprintf(starter, sizeof starter, "%s/../%s/starter-suid", real, places[i]);
        found = stat(starter, &info) == 0 && (info.st_mode & S_ISUID);
    }
    free(real);
    return found;
}

/* What is known not to work, before anything is started. */
static bool can_work(struct tui_plan *plan)
{
    struct tui_words *words = &plan->words;
    for (size_t i = 0; i < plan->layers; i++) {
        const struct tui_layer *layer = &plan->layer[i];
        size_t at, ignored;
        struct tui_layer userns = *layer;
        struct tui_layer_kind options = {.clears = "userns u fakeroot f"};
        userns.kind = &options;
        if (layer->kind->prefixes && clears(words, layer, &at) && has_setuid_starter(words->word[layer->at]) &&
            !clears(words, &userns, &ignored))
            return refuse(plan, "%s %s with a setuid starter lets no LD_PRELOAD through: leave %s out, or add --userns",
                          words->word[layer->at], words->word[at], words->word[at]);
    }
    char path[4096];
    struct tui_elf elf;
    if (plan->program >= words->count || tui_plan_layer(plan, TUI_LAYER_RUNTIME) ||
        !tui_find_program(words->word[plan->program], path, sizeof path) || !tui_elf_read(path, &elf) || !elf.is_elf)
        return true;
    if (!elf.dynamic)
        return refuse(plan, "%s is linked statically as a whole: nothing can be preloaded into it; link it dynamically",
                      path);
    if (elf.mpi_inside)
        return refuse(plan,
                      "%s has MPI linked in statically: its calls cannot be seen; link it with the shared MPI library",
                      path);
    return true;
}

bool tui_plan_apply(struct tui_plan *plan, const char *library, const char *folder)
{
    static const char *const options[] = {
#define OPTION(field, variable, type, value, help) variable,
#include "trace/options.def"
#undef OPTION
    };
    if (!can_work(plan))
        return false;
    if (!set(plan, "", 0, "LD_PRELOAD", library, ':', NULL) ||
        (folder && !set(plan, "", 0, "HPCTOP_DIR", folder, 0, NULL)))
        return false;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *value = strcmp(options[i], "HPCTOP_DIR") != 0 || !folder ? getenv(options[i]) : NULL;
        if (value && *value && !set(plan, "", 0, options[i], value, 0, NULL))
            return false;
    }
    if (plan->script) /* what is in it is not known: whatever runtime it starts finds what it needs */
        for (int k = 0; tui_layer_kind(k); k++)
            if (tui_layer_kind(k)->prefixes && !set_for_runtime(plan, tui_layer_kind(k), library, folder))
                return false;
    const struct tui_layer *runtime = tui_plan_layer(plan, TUI_LAYER_RUNTIME);
    for (size_t i = plan->layers; i-- > 0;) {
        const struct tui_layer *layer = &plan->layer[i];
        const struct tui_layer_kind *kind = layer->kind;
        size_t ignored;
        bool joined = false, good = true;
        if (plan->settings == 0 || (runtime && layer > runtime && kind->role != TUI_LAYER_WRAPPER))
            continue; /* inside a container everything has the environment that the runtime gives */
        if (kind->prefixes) {
            size_t n = plan->settings;
            good = set_for_runtime(plan, kind, library, folder);
            while (good && n--)
                unset(plan, 0);
        } else if (kind->joined && (good = grow_joined(plan, layer, &joined)) && joined) {
            continue;
        } else if (kind->role == TUI_LAYER_WRAPPER) {
            if (kind->setting && (clears(&plan->words, layer, &ignored) || names_ours(plan, layer)))
                good = set_by_options(plan, layer);
        } else if (kind->inner) {
            good = insert_env(plan, layer);
        } else if (kind->list) {
            good = set_by_list(plan, layer);
        } else if (kind->setting) {
            const char *paths[] = {library, folder};
            good = set_by_options(plan, layer);
            for (int p = 0; kind->bind && good && p < 2; p++)
                good = !paths[p] || insert(&plan->words, layer->options, kind->bind, "", paths[p]) > 0;
            good = good || out_of_memory(plan);
        }
        if (!good)
            return false;
    }
    return true;
}
