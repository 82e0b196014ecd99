/* The manual page. */
#ifndef TUI_MANUAL_H
#define TUI_MANUAL_H

#include <stddef.h>

/* An environment variable, or an option. */
struct tui_variable {
    const char *name, *type, *value, *help;
};

/* Row i of the variables of hpctop itself, and of the options of its commands (type: the command); NULL past the last.
 */
const struct tui_variable *tui_own_variable(int i);
const struct tui_variable *tui_option(int i);

/* Prints hpctop(1) as roff to stdout; returns the exit status. */
int tui_print_manual(const char *version, const struct tui_variable *variables, size_t n);

#endif
