/* Changes a command line so that it records, from its innermost layer outwards; see record.h. */
#include "tui/launch/record_impl.h"
#include "trace/util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Whether the user sets one of our variables in a wrapper. */
static bool sets_ours(const struct tui_plan *plan, const struct tui_layer *layer)
{
    for (size_t w = layer->options; w < layer->inner; w++)
        for (size_t i = 0; i < plan->settings; i++) {
            size_t length = strlen(plan->setting[i].name);
            if (strncmp(plan->words.word[w], plan->setting[i].name, length) == 0 && plan->words.word[w][length] == '=')
                return true;
        }
    return false;
}

/* Whether an option of the layer empties the environment; *at gets its word. */
static bool clears_environment(const struct tui_words *words, const struct tui_layer *layer, size_t *at)
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

bool tui_has_setuid_starter(const char *command)
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

/* Reads the program's executable; false for one in a container, which is not seen from here. */
static bool read_program(const struct tui_plan *plan, char *path, size_t size, struct tui_elf *elf)
{
    return plan->program < plan->words.count && !tui_plan_layer(plan, TUI_LAYER_RUNTIME) &&
           tui_find_program(plan->words.word[plan->program], path, size) && tui_elf_read(path, elf);
}

/* Refuses commands that are known not to work, before anything is started. */
static bool can_work(struct tui_plan *plan)
{
    struct tui_words *words = &plan->words;
    for (size_t i = 0; i < plan->layers; i++) {
        const struct tui_layer *layer = &plan->layer[i];
        size_t at, ignored;
        struct tui_layer userns = *layer;
        struct tui_layer_kind options = {.clears = "userns u fakeroot f"};
        userns.kind = &options;
        if (layer->kind->prefixes && clears_environment(words, layer, &at) &&
            tui_has_setuid_starter(words->word[layer->at]) && !clears_environment(words, &userns, &ignored))
            return tui_plan_refuse(plan,
                                   "%s %s drops LD_PRELOAD, since its starter is setuid; leave %s out, or add --userns",
                                   words->word[layer->at], words->word[at], words->word[at]);
    }
    const char *program = plan->program < words->count ? trc_base_name(words->word[plan->program]) : "";
    if (tui_listed("ssh rsh pdsh clush", ' ', program, strlen(program)))
        return tui_plan_refuse(plan,
                               "%s hands no variables to the other host; put hpctop record behind it: %s HOST .. "
                               "hpctop record -- COMMAND",
                               program, program);
    char path[4096];
    struct tui_elf elf;
    if (!read_program(plan, path, sizeof path, &elf) || !elf.is_elf)
        return true;
    if (!elf.dynamic)
        return tui_plan_refuse(plan, "%s is linked statically, so that nothing can be preloaded; link it dynamically",
                               path);
    if (elf.mpi_inside)
        return tui_plan_refuse(
            plan, "%s has MPI linked in statically, so that its calls cannot be recorded; link the shared MPI library",
            path);
    return true;
}

/* Makes a program with AddressSanitizer's shared runtime start although libtrace.so is preloaded.  A script may start
 * one, too. */
static bool set_for_sanitizer(struct tui_plan *plan)
{
    char path[4096];
    struct tui_elf elf = {0};
    bool script = plan->script || (read_program(plan, path, sizeof path, &elf) && elf.script);
    if (!script && !elf.asan_runtime[0])
        return true;
    struct tui_setting *preload = &plan->setting[0];
    char *both = NULL;
    if (tui_asan_must_be_first(elf.asan_runtime)) {
        if (asprintf(&both, "%s:%s", elf.asan_runtime, preload->value) < 0)
            return tui_plan_no_memory(plan);
        free(preload->value);
        preload->value = both;
    }
    return tui_set(plan, "", 0, "ASAN_OPTIONS", TUI_ASAN_OPTION, ':', NULL);
}

/* Makes the folder on each host that a launcher reaches: a runtime refuses to bind a folder that is not there. */
static bool make_folder(struct tui_plan *plan, const struct tui_layer *runtime, const char *folder)
{
    const char *const words[] = {"sh", "-c", "mkdir -p \"$0\"; exec \"$@\"", folder};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!tui_words_insert(&plan->words, runtime->at + i, words[i]))
            return tui_plan_no_memory(plan);
    return true;
}

bool tui_plan_apply(struct tui_plan *plan, const char *library, const char *folder)
{
    static const char *const options[] = {
#define OPTION(field, variable, type, value, help) variable,
#include "trace/format/options.def"
#undef OPTION
    };
    if (!can_work(plan) || !tui_set(plan, "", 0, "LD_PRELOAD", library, ':', NULL) ||
        (folder && !tui_set(plan, "", 0, "HPCTOP_DIR", folder, 0, NULL)))
        return false;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *value = strcmp(options[i], "HPCTOP_DIR") != 0 || !folder ? getenv(options[i]) : NULL;
        if (value && *value && !tui_set(plan, "", 0, options[i], value, 0, NULL))
            return false;
    }
    if (!set_for_sanitizer(plan))
        return false;
    if (plan->script) /* it may start any runtime: set the variables of all */
        for (const struct tui_layer_kind *k = tui_layer_kinds; k->title; k++)
            if (k->prefixes && !tui_set_for_runtime(plan, k, library, folder))
                return false;
    const struct tui_layer *runtime = tui_plan_layer(plan, TUI_LAYER_RUNTIME);
    /* Inside such a container nothing names its image; this command line does. */
    if (runtime && runtime->kind->isolated && runtime->inner > runtime->options && !getenv("HPCTOP_IMAGE") &&
        !tui_set(plan, "", 0, "HPCTOP_IMAGE", plan->words.word[runtime->inner - 1], 0, NULL))
        return false;
    for (size_t i = plan->layers; i-- > 0;) {
        const struct tui_layer *layer = &plan->layer[i];
        const struct tui_layer_kind *kind = layer->kind;
        size_t ignored;
        bool joined = false, good = true;
        if (plan->settings == 0 || (runtime && layer > runtime && kind->role != TUI_LAYER_WRAPPER))
            continue; /* all inside a container gets its environment from the runtime */
        if (kind->prefixes) {
            size_t n = plan->settings;
            good = tui_set_for_runtime(plan, kind, library, folder);
            while (good && n--)
                tui_unset(plan, 0);
        } else if (kind->joined && (good = tui_set_by_joined(plan, layer, &joined)) && joined) {
            continue;
        } else if (kind->role == TUI_LAYER_WRAPPER) {
            if (kind->setting && (clears_environment(&plan->words, layer, &ignored) || sets_ours(plan, layer)))
                good = tui_set_by_options(plan, layer);
        } else if (kind->inner) {
            good = tui_set_by_env(plan);
        } else if (kind->list) {
            good = tui_set_by_list(plan, layer);
        } else if (kind->setting) {
            const char *paths[] = {library, folder};
            good = tui_set_by_options(plan, layer);
            for (int p = 0; kind->bind && good && p < 2; p++)
                good = !paths[p] || tui_insert(&plan->words, layer->options, kind->bind, "", paths[p]) > 0;
            good = good || tui_plan_no_memory(plan);
        }
        const struct tui_layer *launcher = tui_plan_layer(plan, TUI_LAYER_LAUNCHER);
        if (good && layer == runtime && folder && launcher && launcher < runtime)
            good = make_folder(plan, runtime, folder);
        if (!good)
            return false;
    }
    return true;
}
