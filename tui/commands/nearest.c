/* "Did you mean": the word that is nearest to the typed one. */
#include "tui/commands/nearest.h"

#include "tui/commands/command.h"
#include "tui/commands/manual.h"
#include <stdio.h>
#include <string.h>

enum { MOST = 32 };

/* Number of letters to be changed, left out, put in or swapped with the next to make one word of the other. */
static int distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    int row[MOST + 1][MOST + 1];
    if (n > MOST || m > MOST)
        return MOST;
    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                row[i][j] = (int)(i + j);
                continue;
            }
            int least = row[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            least = row[i - 1][j] + 1 < least ? row[i - 1][j] + 1 : least;
            least = row[i][j - 1] + 1 < least ? row[i][j - 1] + 1 : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && row[i - 2][j - 2] + 1 < least)
                least = row[i - 2][j - 2] + 1;
            row[i][j] = least;
        }
    return row[n][m];
}

struct nearest {
    const char *typed;
    char word[33]; /* the nearest so far; "": none is near */
    int distance;  /* letters that differ */
};

/* Stores a word if it is nearer than all before: two letters off at most, one of short words. */
static void try_word(struct nearest *nearest, const char *word)
{
    size_t length = strlen(word);
    int most = length < 4 ? 1 : 2, far = distance(nearest->typed, word);
    if (far <= most && far < (int)length && (!nearest->word[0] || far < nearest->distance)) {
        nearest->distance = far;
        memcpy(nearest->word, word, length + 1 < sizeof nearest->word ? length + 1 : 1);
    }
}

/* ---- options and commands ---------------------------------------------------------------------------------------- */

const struct tui_variable tui_options[] = {
#define OPTION(command, written, help) {written, #command, "", help},
#include "tui/commands/option.def"
    {NULL, NULL, NULL, NULL}};

/* Calls `take` with each option (-o, --output) that is named in a text, and with its description. */
static void each_in(const char *text, const char *help, tui_option_taker *take, void *context)
{
    for (const char *at = text; *at; at++) {
        bool begins = *at == '-' && (at == text || strchr(" [|,", at[-1]));
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz-");
        if (!begins || length < 2 || strncmp(at, "-- ", 3) == 0)
            continue;
        char option[32];
        snprintf(option, sizeof option, "%.*s", (int)length, at);
        take(context, option, help);
        at += length - 1;
    }
}

void tui_each_option(const char *command, tui_option_taker *take, void *context)
{
    for (const struct tui_variable *option = tui_options; option->name; option++)
        if (strcmp(option->type, command) == 0)
            each_in(option->name, option->help, take, context);
}

static void try_option(void *nearest, const char *option, const char *help)
{
    (void)help;
    try_word(nearest, option);
}

int tui_unknown_option(const char *command, const char *typed)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(typed, "="), typed);
    struct nearest nearest = {.typed = name};
    tui_each_option(command, try_option, &nearest);
    if (nearest.word[0] && nearest.distance == 0)
        return tui_usage_error(command, strchr(typed, '=') ? "%s takes no value" : "%s needs a value", name);
    if (nearest.word[0])
        return tui_usage_error(command, "unknown option %s; did you mean %s?", typed, nearest.word);
    return tui_usage_error(command, "unknown option %s", typed);
}

/* Names only: tui_commands would lead back here through the commands. */
static const char *const commands[] = {
#define COMMAND(name, function, arguments, help) #name,
#include "tui/commands/command.def"
};

int tui_unknown_command(const char *typed)
{
    struct nearest nearest = {.typed = typed};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        try_word(&nearest, commands[i]);
    if (!nearest.word[0])
        return 0;
    return tui_usage_error(NULL, "there is neither a command nor a folder %s; did you mean hpctop %s?", typed,
                           nearest.word);
}
