/* The manual page. */
#pragma once

#include <stddef.h>

/* An environment variable, or an option. */
struct tui_variable {
    const char *name, *type, *value, *help;
};

/* The environment variables of hpctop, and the options of all commands, whose type is the command; a name of NULL ends
 * them. */
extern const struct tui_variable tui_own_variables[], tui_options[];

/* The topics of hpctop help that are no commands, with blanks between; static. */
const char *tui_help_topics(void);
/* Prints completion for a shell, "bash", "zsh" or "fish"; returns the exit status. */
int tui_print_completion(const char *shell);

/* Prints hpctop(1) as roff on stdout; returns the exit status. */
int tui_print_manual(const char *version);
/* Prints libtrace(7) in the same form, with n environment variables. */
int tui_print_libtrace_manual(const char *version, const struct tui_variable *variables, size_t n);
