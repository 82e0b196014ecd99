/* Texts of hpctop help: manual pages and completion for shells. */
#pragma once

/* An environment variable, or an option. */
struct tui_variable {
    const char *name, *type, *value, *help;
};

/* The environment variables of hpctop and of libtrace.so, and the options of all commands, whose type is the command; a
 * name of NULL ends them. */
extern const struct tui_variable tui_own_variables[], tui_libtrace_variables[], tui_options[];

/* The topics of hpctop help that are no commands, with blanks between; static. */
const char *tui_help_topics(void);
/* Prints completion for a shell on stdout. */
void tui_print_bash(void), tui_print_zsh(void), tui_print_fish(void);
/* Prints hpctop(1) and libtrace(7) as roff on stdout. */
void tui_print_manual(void), tui_print_libtrace_manual(void);
