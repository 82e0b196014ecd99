/* The manual page. */
#ifndef TUI_MANUAL_H
#define TUI_MANUAL_H

#include <stddef.h>

/* An environment variable of libtrace.so. */
struct tui_variable {
    const char *name, *type, *value, *help;
};

/* Prints hpctop(1) as roff to stdout; returns the exit status. */
int tui_print_manual(const char *version, const struct tui_variable *variables, size_t n);

#endif
