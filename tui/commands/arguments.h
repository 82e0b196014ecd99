/* Options of a command, as a table, and the folders behind them. */
#pragma once

#include <unistd.h> /* optind */

struct ana_job;

enum tui_argument_kind {
    TUI_FLAG,    /* bool, set by the option alone */
    TUI_TEXT,    /* const char *, as typed */
    TUI_SECONDS, /* double, more than 0 and less than 1e6 */
    TUI_WORKERS  /* unsigned, a number of threads from 1 to 1024 */
};
struct tui_argument {
    const char *name; /* "json" for --json; NULL ends the table */
    char letter;      /* 'o' for -o; 0: none */
    enum tui_argument_kind kind;
    void *to; /* gets the value */
};

/* Parses the options of the command argv[0]; optind gets the index of the first argument behind them.  `needs`: kind of
 * an argument without which it cannot run, "a trace folder"; NULL: none.  Returns TUI_EXIT_OK, or the exit status after
 * an error message. */
int tui_arguments(int argc, char **argv, const struct tui_argument *known, const char *needs);
/* Opens the job of n folders; its source lines are waited for.  Returns TUI_EXIT_OK, or the exit status after an error
 * message. */
int tui_open_job(const char *const *folders, int n, struct ana_job **job);
/* Parses the options, and opens the job of the folders behind them.  Returns as these. */
int tui_arguments_job(int argc, char **argv, const struct tui_argument *known, struct ana_job **job);
