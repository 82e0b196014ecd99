/* Command lines, sensible and not: a plan keeps their words and their order, and leaves nothing behind. */
#include "tests/support/check.h"
#include "tui/launch/record.h"

#include <stdlib.h>
#include <string.h>

static const char *const vocabulary[] = {"mpiexec.hydra",
                                         "srun",
                                         "sbatch",
                                         "apptainer",
                                         "exec",
                                         "run",
                                         "podman",
                                         "ch-run",
                                         "shifter",
                                         "horovodrun",
                                         "env",
                                         "-i",
                                         "timeout",
                                         "nice",
                                         "-n",
                                         "2",
                                         "--",
                                         ":",
                                         "-x",
                                         "-genv",
                                         "--mca",
                                         "-e",
                                         "-v",
                                         "-b",
                                         "--export=NONE",
                                         "--export",
                                         "A=1",
                                         "LD_PRELOAD",
                                         "image",
                                         "",
                                         "-",
                                         "true",
                                         "./app",
                                         "sh",
                                         "mca_base_env_list",
                                         "orterun",
                                         "ibrun",
                                         "--bind=a",
                                         "salloc",
                                         "jsrun",
                                         "a b'c",
                                         "--env",
                                         "LD_PRELOAD=/foo.so",
                                         "--export=ALL,LD_PRELOAD=/foo.so"};
static char shown[1024];   /* the command line that is looked at */
static size_t plans, kept; /* plans that were applied, and their words that were found again */
enum { WORDS = sizeof vocabulary / sizeof *vocabulary };

/* Words that may be changed, since a variable of ours is or may be in them. */
static bool may_change(const char *const *words, size_t i)
{
    return strstr(words[i], "LD_PRELOAD") || strncmp(words[i], "--export", 8) == 0 ||
           (i > 0 && (strcmp(words[i - 1], "LD_PRELOAD") == 0 || strcmp(words[i - 1], "--export") == 0 ||
                      strcmp(words[i - 1], "mca_base_env_list") == 0));
}

static void one(const char *const *words, size_t n)
{
    struct tui_plan plan;
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(shown + used, sizeof shown - used, "%s'%s'", i ? " " : "", words[i]);
    CHECK(tui_plan_read(&plan, (char *const *)words, n), "of %s", shown);
    CHECK(plan.program <= plan.words.count && plan.words.count == n, "of %s", shown);
    for (size_t i = 0; i < plan.layers; i++) {
        const struct tui_layer *layer = &plan.layer[i];
        CHECK(layer->at < layer->options && layer->options <= n && layer->inner <= n, "of %s", shown);
        CHECK(i == 0 || layer->at == plan.layer[i - 1].inner, "of %s", shown);
    }
    bool applied = tui_plan_apply(&plan, "/lib/libtrace.so", n % 2 ? "/folder" : NULL);
    CHECK(applied == (plan.refusal[0] == 0), "of %s", shown);
    CHECK(!applied || plan.words.count >= n, "%zu words of %zu: %s", plan.words.count, n, shown);
    plans += applied;
    size_t at = 0; /* typed words are still there, in their order */
    for (size_t i = 0; applied && i < n; i++) {
        if (may_change(words, i))
            continue;
        while (at < plan.words.count && strcmp(plan.words.word[at], words[i]) != 0)
            at++;
        CHECK(at < plan.words.count, "of %s", shown);
        at++;
        kept++;
    }
    bool ours = false;
    for (size_t i = 0; i < plan.words.count; i++)
        ours = ours || strstr(plan.words.word[i], "/lib/libtrace.so");
    for (size_t i = 0; i < plan.settings; i++)
        ours = ours || strstr(plan.setting[i].value, "/lib/libtrace.so");
    CHECK(!applied || ours, "of %s", shown);
    tui_plan_free(&plan);
}

static void at_random(void)
{
    unsigned state = 1;
    for (int round = 0; round < 20000; round++) {
        const char *words[12];
        size_t n = 1 + (size_t)rand_r(&state) % 12;
        for (size_t i = 0; i < n; i++)
            words[i] = vocabulary[(size_t)rand_r(&state) % WORDS];
        one(words, n);
    }
}

static void values(void)
{
    struct tui_setting preload = {.name = (char *)"LD_PRELOAD", .value = (char *)"/l.so", .separator = ':'};
    static const struct {
        const char *list, *want;
    } lists[] = {{"", "LD_PRELOAD=/l.so"},
                 {"ALL", "ALL,LD_PRELOAD=/l.so"},
                 {"A,LD_PRELOAD=/x,B", "A,LD_PRELOAD=/x:/l.so,B"},
                 {"LD_PRELOAD=/x:/l.so", "LD_PRELOAD=/x:/l.so"},
                 {"A,LD_PRELOAD", "A,LD_PRELOAD=/e.so:/l.so"},
                 {"LD_PRELOAD_PATH=1", "LD_PRELOAD_PATH=1,LD_PRELOAD=/e.so:/l.so"}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (i < 2)
            unsetenv("LD_PRELOAD");
        else
            setenv("LD_PRELOAD", "/e.so", 1);
        char *list = tui_list_with(lists[i].list, ',', &preload);
        snprintf(shown, sizeof shown, "%s", lists[i].list);
        CHECK(list && strcmp(list, lists[i].want) == 0, "of %s", shown);
        free(list);
    }
    unsetenv("LD_PRELOAD");
    const struct tui_layer_kind *mpi = &tui_layer_kinds[0];
    CHECK(tui_layer_values(mpi, "--mca") == 2 && tui_layer_values(mpi, "-np") == 1 && tui_layer_values(mpi, "-q") == 0,
          "of %s", shown);
}

int main(void)
{
    /* Nothing is to be found and asked. */
    setenv("PATH", "/nonexistent", 1);
    values();
    at_random();
    CHECK(plans > 1000 && kept > 5 * plans, "%zu words found again in %zu plans", kept, plans);
    return check_result();
}
