/* Words, lists and values of a plan. */
#include "tui/launch/record.h"
#include "trace/util/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool tui_words_insert(struct tui_words *words, size_t at, const char *word)
{
    char *copy = strdup(word);
    words->room = ana_lengthen(&words->word, words->room, words->count + 2, sizeof *words->word);
    if (!copy || words->count + 2 > words->room) {
        free(copy);
        return false;
    }
    memmove(words->word + at + 1, words->word + at, (words->count - at) * sizeof *words->word);
    words->word[at] = copy;
    words->word[++words->count] = NULL;
    return true;
}

bool tui_words_replace(struct tui_words *words, size_t at, char *word)
{
    if (!word)
        return false;
    free(words->word[at]);
    words->word[at] = word;
    return true;
}

char *tui_joined(const char *before, char separator, const char *value)
{
    char *joined = NULL;
    if (!before || !*before || !separator || tui_listed(before, separator, value, strlen(value)))
        return strdup(before && *before && separator ? before : value);
    return asprintf(&joined, "%s%c%s", before, separator, value) < 0 ? NULL : joined;
}

char *tui_setting_value(const struct tui_setting *setting, bool alone)
{
    char name[64];
    const char *before = alone ? NULL : getenv(setting->name);
    for (const char *at = setting->also; at && *at && !alone && !before;) {
        const char *end = strchrnul(at, ' ');
        snprintf(name, sizeof name, "%.*s", (int)(end - at), at);
        before = getenv(name);
        at = *end ? end + 1 : end;
    }
    return tui_joined(before, setting->separator, setting->value);
}

char *tui_list_with(const char *list, char between, const struct tui_setting *setting)
{
    size_t length = strlen(setting->name);
    char *whole = NULL, *value;
    for (const char *at = list; *at;) {
        const char *end = strchrnul(at, between);
        bool named = strncmp(at, setting->name, length) == 0;
        if (named && at[length] == '=') { /* the list sets it already: join the values */
            char *there = strndup(at + length + 1, (size_t)(end - at) - length - 1);
            value = there ? tui_joined(there, setting->separator, setting->value) : NULL;
            free(there);
        } else if (named && at + length == end) { /* the list hands it on from the environment */
            value = tui_setting_value(setting, false);
        } else {
            at = *end ? end + 1 : end;
            continue;
        }
        if (value && asprintf(&whole, "%.*s%s=%s%s", (int)(at - list), list, setting->name, value, end) < 0)
            whole = NULL;
        free(value);
        return whole;
    }
    value = tui_setting_value(setting, false);
    if (value && asprintf(&whole, "%s%.*s%s=%s", list, *list ? 1 : 0, &between, setting->name, value) < 0)
        whole = NULL;
    free(value);
    return whole;
}
