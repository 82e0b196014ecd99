#include "tui/commands/command.h"

#include "tui/commands/nearest.h"
#include "tui/launch/record.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct tui_command tui_commands[] = {
#define COMMAND(name, function, arguments, help) {#name, function, arguments, help},
#include "tui/commands/command.def"
    {NULL, NULL, NULL, NULL}};

const struct tui_command *tui_command_of(const char *name)
{
    const struct tui_command *command;
    for (command = tui_commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

static bool asks_for_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

/* Whether a word is a command to be recorded: a launcher, a container runtime, or a program here. */
static bool is_to_record(const char *word)
{
    struct stat info;
    const char *dot = strrchr(word, '.');
    if (tui_command_of(word) || word[0] == '-' || (dot && strcmp(dot, ".hpctop") == 0))
        return false;
    if (stat(word, &info) == 0)
        return S_ISREG(info.st_mode) && access(word, X_OK) == 0;
    return tui_layer_kind_of(word, false) != NULL;
}

/* Drops colours where a word before the command says so. */
static bool is_plain(const char *word)
{
    if (strcmp(word, "--no-colour") != 0 && strcmp(word, "--no-color") != 0)
        return false;
    setenv("NO_COLOR", "1", 1);
    return true;
}

/* Prints how a command line is recorded; returns TUI_EXIT_USAGE. */
static int suggest_record(int argc, char **argv)
{
    char line[1024] = "";
    size_t n = 0;
    for (int i = 1; i < argc && n < sizeof line; i++)
        n += (size_t)snprintf(line + n, sizeof line - n, " %s", argv[i]);
    return tui_usage_error(NULL, "%s is no trace folder but a command; did you mean hpctop record --%s?", argv[1],
                           line);
}

int tui_command_main(int argc, char **argv)
{
    for (; argc > 2 && tui_command_of(argv[2]) && is_plain(argv[1]); argc--, argv++)
        argv[1] = argv[0];
    if (argc > 1 && asks_for_help(argv[1]))
        argv[1] = "help";
    if (argc == 3 && tui_command_of(argv[1]) && asks_for_help(argv[2])) { /* equals `hpctop help COMMAND` */
        char *about[] = {argv[0], argv[1], NULL};
        return tui_command_of("help")->run(2, about);
    }
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0))
        argv[1] = "version";
    if (argc > 1 && is_to_record(argv[1]))
        return suggest_record(argc, argv);
    const struct tui_command *command = argc > 1 ? tui_command_of(argv[1]) : NULL;
    if (command)
        return command->run(argc - 1, argv + 1);
    bool is_path = argc > 1 && (argv[1][0] == '-' || strchr(argv[1], '/') || access(argv[1], F_OK) == 0);
    int status = argc > 1 && !is_path ? tui_unknown_command(argv[1]) : 0;
    return status ? status : tui_command_of("view")->run(argc, argv);
}
