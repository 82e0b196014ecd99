/* Layers before a program on a command line: launchers, containers, wrappers. */
#include "tui/launch/record.h"
#include "trace/util/text.h"

#include <stdlib.h>
#include <string.h>

const struct tui_layer_kind tui_layer_kinds[] = {
#define LAYER(...) {__VA_ARGS__},
#include "tui/launch/layer.def"
    {.title = NULL}};

bool tui_listed(const char *list, char separator, const char *word, size_t length)
{
    const char *at = list;
    while (at && *at) {
        const char *end = strchrnul(at, separator);
        if ((size_t)(end - at) == length && memcmp(at, word, length) == 0)
            return true;
        at = *end ? end + 1 : end;
    }
    return false;
}

static bool contains_name(const char *text, const char *tells)
{
    for (const char *at = tells; at && *at;) {
        const char *end = strchrnul(at, '|');
        if (memmem(text, strlen(text), at, (size_t)(end - at)))
            return true;
        at = *end ? end + 1 : end;
    }
    return false;
}

static const struct tui_layer_kind *find_only_kind(const char *name, int *matches)
{
    const struct tui_layer_kind *found = NULL;
    *matches = 0;
    for (const struct tui_layer_kind *kind = tui_layer_kinds; kind->title; kind++)
        if (tui_listed(kind->names, ' ', name, strlen(name))) {
            found = found ? found : kind;
            ++*matches;
        }
    return found;
}

const struct tui_layer_kind *tui_layer_kind_of(const char *word, bool may_ask)
{
    int matches;
    char path[4096], said[4096];
    const struct tui_layer_kind *kind = find_only_kind(trc_base_name(word), &matches);
    if (matches < 2 || !may_ask || !tui_find_program(word, path, sizeof path))
        return kind;
    char *real = realpath(path, NULL);
    int real_matches = 0;
    const struct tui_layer_kind *of_real = real ? find_only_kind(trc_base_name(real), &real_matches) : NULL;
    free(real);
    if (real_matches == 1)
        return of_real;
    if (tui_ask((const char *const[]){path, "--version", NULL}, said, sizeof said) >= 0)
        for (const struct tui_layer_kind *k = tui_layer_kinds; k->title; k++)
            if (contains_name(said, k->tells))
                return k;
    /* A launcher that nobody knows: as a rule its ranks get its environment. */
    static const struct tui_layer_kind unknown = {
        .title = "an unknown MPI's launcher", .role = TUI_LAYER_LAUNCHER, .values = "n np"};
    return &unknown;
}

int tui_layer_values(const struct tui_layer_kind *kind, const char *option)
{
    const char *name = option + strspn(option, "-");
    size_t length = strlen(name);
    for (const char *at = kind->values; at && length > 0 && *at;) {
        const char *end = strchrnul(at, ' ');
        const char *number = memchr(at, ':', (size_t)(end - at));
        if ((size_t)((number ? number : end) - at) == length && memcmp(at, name, length) == 0)
            return number ? number[1] - '0' : 1;
        at = *end ? end + 1 : end;
    }
    return 0;
}
