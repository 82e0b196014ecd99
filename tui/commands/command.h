/* The command line: the subcommands of command.def, and how they end. */
#pragma once

#include <stdbool.h>

enum {
    TUI_EXIT_OK = 0,
    TUI_EXIT_TROUBLE = 1,
    TUI_EXIT_INPUT = 2,
    TUI_EXIT_NOT_KNOWN = 3,
    TUI_EXIT_WAITING = 3,
    TUI_EXIT_USAGE = 64
};

struct tui_command {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is its name; returns the exit status */
    const char *arguments;
    const char *help;
};

#define COMMAND(name, function, arguments, help) int function(int argc, char **argv);
#include "tui/commands/command.def"

/* The rows of the table; a name of NULL ends them. */
extern const struct tui_command tui_commands[];

/* The command with that name, static; NULL if there is none. */
const struct tui_command *tui_command_of(const char *name);

/* Runs the command line of hpctop; returns its exit status. */
int tui_command_main(int argc, char **argv);

/* Prints one line on stderr about wrong usage of a command (NULL: of hpctop); returns TUI_EXIT_USAGE. */
int tui_usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints one line on stderr about input that cannot be used; returns TUI_EXIT_INPUT. */
int tui_input_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define TUI_HANG_S 0.0 /* --hang was not given: each wait is judged by its own past */

/* Prints the report of n trace folders, as text or JSON; returns the exit status. */
int tui_report(const char *const *folders, int n, bool json, double hang_s);

struct ana_job;

/* Refreshes a running job in which something seems stuck, after `seconds` (0.6 or more): two samples show movement. */
void tui_sample_twice(struct ana_job *job, double seconds);

/* Flushes stdout.  Returns `status`, or TUI_EXIT_INPUT with a line on stderr when the output is not complete. */
int tui_finish(int status);
