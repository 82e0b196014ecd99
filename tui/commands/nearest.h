/* "Did you mean": the word that is nearest to the typed one. */
#pragma once

/* Receives an option of a command and its description, "" if there is none. */
typedef void tui_option_taker(void *context, const char *option, const char *help);
/* Calls `take` with each option of a command, once. */
void tui_each_option(const char *command, tui_option_taker *take, void *context);

/* Prints that a command has no such option, and which may have been meant; returns TUI_EXIT_USAGE. */
int tui_unknown_option(const char *command, const char *typed);
/* Prints that there is no such command, and which may have been meant; returns TUI_EXIT_USAGE, or 0 where none is near,
 * and nothing was printed. */
int tui_unknown_command(const char *typed);
