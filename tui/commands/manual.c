/* hpctop help man: the manual page hpctop(1), made from the tables of the help. */
#include "tui/commands/command.h"
#include "tui/views/help_lines.h"
#include "tui/commands/manual.h"
#include "trace/export/export.h"

#include <string.h>

/* Prints text as roff: characters that begin a command are escaped. */
static void print_text(const char *s)
{
    if (*s == '.' || *s == '\'')
        fputs("\\&", stdout);
    for (; *s; s++)
        if (*s == '\\')
            fputs("\\e", stdout);
        else if (*s == '-')
            fputs("\\-", stdout);
        else
            putchar(*s);
}

/* Prints a tagged paragraph: a word and, below it, what it means. */
static void print_entry(const char *word, const char *meaning)
{
    fputs(".TP\n.B ", stdout);
    print_text(word);
    putchar('\n');
    print_text(meaning);
    putchar('\n');
}

static const struct tui_variable own_variables[] = {
#define VARIABLE(name, help) {name, "", "", help},
#include "tui/commands/environment.def"
#undef VARIABLE
};

static const struct tui_variable options[] = {
#define OPTION(command, written, help) {written, #command, "", help},
#include "tui/commands/option.def"
#undef OPTION
};

const struct tui_variable *tui_own_variable(int i)
{
    return i >= 0 && i < (int)(sizeof own_variables / sizeof *own_variables) ? &own_variables[i] : NULL;
}

const struct tui_variable *tui_option(int i)
{
    return i >= 0 && i < (int)(sizeof options / sizeof *options) ? &options[i] : NULL;
}

/* Prints a command and, indented, its options. */
static void print_command(const struct tui_command *command)
{
    const struct tui_variable *option;
    const struct ana_export_format *format;
    print_entry(command->name, command->help);
    printf(".RS\n");
    for (int i = 0; (option = tui_option(i)); i++)
        if (strcmp(option->type, command->name) == 0)
            print_entry(option->name, option->help);
    for (size_t i = 0; strcmp(command->name, "export") == 0 && (format = ana_export_format(i)); i++)
        print_entry(format->name, format->help);
    printf(".RE\n");
}

static void print_view(const struct tui_view *view)
{
    fputs(".SS ", stdout);
    print_text(view->title);
    putchar('\n');
    print_text(view->about);
    putchar('\n');
    for (int c = 0; view->table && c < view->table->column_count; c++)
        print_entry(view->table->columns[c].metric->title, view->table->columns[c].metric->help);
    for (const struct tui_term_help *t = view->terms; t && t->word; t++)
        print_entry(t->word, t->help);
}

int tui_print_manual(const char *version, const struct tui_variable *variables, size_t n)
{
    const struct tui_command *command;
    printf(".TH HPCTOP 1 \"\" \"hpctop %s\" \"\"\n.SH NAME\nhpctop \\- top for parallel jobs\n.SH SYNOPSIS\n", version);

    for (int i = 0; (command = tui_command(i)); i++) {
        fputs(".br\n.B hpctop ", stdout);
        print_text(i == 0 ? "" : command->name);
        fputs("\n.RI ", stdout);
        putchar('"');
        print_text(command->arguments);
        fputs("\"\n", stdout);
    }
    printf(
        ".SH DESCRIPTION\nlibtrace.so records what every rank of an MPI job does into one file a rank, in one folder.\n"
        "hpctop opens such folders, while the job runs and afterwards, and says what is the matter with the job.\n"
        "Several folders are one job; without one it takes the newest of the working directory.\n"
        "Without a terminal it prints the report.\n.SH COMMANDS\n");
    for (int i = 0; (command = tui_command(i)); i++)
        print_command(command);
    printf(".SH KEYS\n");
    for (enum tui_action a = TUI_ACTION_NONE + 1; a < TUI_ACTIONS; a++)
        print_entry(tui_action_info(a)->keys, tui_action_info(a)->help);
    printf(".SH SCREENS\n");
    for (int v = 0; v < TUI_VIEWS; v++)
        if (v != TUI_VIEW_HELP)
            print_view(tui_views[v]);
    printf(".SH ENVIRONMENT\n.SS of libtrace.so\n");
    for (size_t i = 0; i < n; i++)
        print_entry(variables[i].name, variables[i].help);
    printf(".SS of hpctop\n");
    const struct tui_variable *row;
    for (int i = 0; (row = tui_own_variable(i)); i++)
        print_entry(row->name, row->help);
    printf(".SH EXIT STATUS\n");
    print_entry("0", "done");
    print_entry("2", "input that cannot be read, or output that cannot be written");
    print_entry("64", "wrong usage");
    print_entry("1", "doctor: CMD would not be recorded");
    printf(".PP\nrecord ends as its command does.\n");
    return tui_finish(TUI_EXIT_OK);
}
