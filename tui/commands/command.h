/* The command line: subcommands of command.def. */
#ifndef TUI_COMMAND_H
#define TUI_COMMAND_H

#include <stdbool.h>

enum { TUI_EXIT_OK = 0, TUI_EXIT_TROUBLE = 1, TUI_EXIT_INPUT = 2, TUI_EXIT_USAGE = 64 };

struct tui_command {
    const char *name;
    /* argv[0] is the command's name; returns the exit status. */
    int (*run)(int argc, char **argv);
    const char *arguments;
    const char *help;
};

#define COMMAND(name, function, arguments, help) int function(int argc, char **argv);
#include "tui/commands/command.def"
#undef COMMAND

/* Row i of the table; NULL past the last. */
const struct tui_command *tui_command(int i);
const struct tui_command *tui_command_of(const char *name); /* NULL if there is none */

/* Runs the command line of hpctop; returns its exit status. */
int tui_command_main(int argc, char **argv);

/* One line on stderr about wrong usage of a command (NULL: hpctop itself); returns TUI_EXIT_USAGE. */
int tui_usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One line on stderr about input; returns TUI_EXIT_INPUT. */
int tui_input_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints the report of trace folders, as text or as JSON; returns the exit status. */
int tui_report(const char *const *folders, int n, bool json);
struct ana_job;
/* A running job in which something is stuck is looked at again after `seconds`: two looks tell what moves. */
void tui_sample_twice(struct ana_job *job, double seconds);
/* Flushes stdout: an output that is not complete is an error. */
int tui_finish(int status);

#endif
