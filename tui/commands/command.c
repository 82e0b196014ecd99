#include "tui/commands/command.h"

#include "trace/util/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct tui_command commands[] = {
#define COMMAND(name, function, arguments, help) {#name, function, arguments, help},
#include "tui/commands/command.def"
#undef COMMAND
};

const struct tui_command *tui_command(int i)
{
    return i >= 0 && i < (int)(sizeof commands / sizeof *commands) ? &commands[i] : NULL;
}

const struct tui_command *tui_command_of(const char *name)
{
    const struct tui_command *command;
    for (int i = 0; (command = tui_command(i)); i++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

int tui_usage_error(const char *command, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    trc_clean_text(text);
    fprintf(stderr, "hpctop: %s (see: hpctop help%s%s)\n", text, command ? " " : "", command ? command : "");
    return TUI_EXIT_USAGE;
}

int tui_input_error(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    trc_clean_text(text);
    fprintf(stderr, "hpctop: %s\n", text);
    return TUI_EXIT_INPUT;
}

int tui_finish(int status)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return tui_input_error("cannot write the output: %s", strerror(errno));
    return status;
}

static bool asks_for_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

int tui_command_main(int argc, char **argv)
{
    if (argc > 1 && asks_for_help(argv[1]))
        argv[1] = "help";
    if (argc == 3 && tui_command_of(argv[1]) && asks_for_help(argv[2])) { /* as `hpctop help COMMAND` */
        char *about[] = {argv[0], argv[1], NULL};
        return tui_command_of("help")->run(2, about);
    }
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0))
        argv[1] = "version";
    const struct tui_command *command = argc > 1 ? tui_command_of(argv[1]) : NULL;
    if (command)
        return command->run(argc - 1, argv + 1);
    return tui_command_of("view")->run(argc, argv);
}
