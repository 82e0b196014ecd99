/* hpctop help man: the manual page hpctop(1), made from the tables of the help. */
#include "tui/commands/command.h"
#include "tui/app/settings.h"
#include "tui/views/help_lines.h"
#include "tui/commands/manual.h"
#include "trace/export/export.h"
#include "trace/format/version.h"

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

/* Prints a tagged paragraph: a word and, below it, its meaning. */
static void print_entry(const char *word, const char *meaning)
{
    fputs(".TP\n.B ", stdout);
    print_text(word);
    putchar('\n');
    print_text(meaning);
    putchar('\n');
}

const struct tui_variable tui_own_variables[] = {
#define VARIABLE(name, help) {name, "", "", help},
#include "tui/commands/environment.def"
    {NULL, NULL, NULL, NULL}};

const struct tui_variable tui_libtrace_variables[] = {
#define OPTION(field, variable, type, value, help) {variable, #type, value, help},
#include "trace/format/options.def"
#undef OPTION
    {NULL, NULL, NULL, NULL}};

/* Prints a command and, indented, its options. */
static void print_command(const struct tui_command *command)
{
    const struct tui_variable *option;
    const struct ana_export_format *format;
    print_entry(command->name, command->help);
    printf(".RS\n");
    for (option = tui_options; option->name; option++)
        if (strcmp(option->type, command->name) == 0)
            print_entry(option->name, option->help);
    for (size_t i = 0; strcmp(command->name, "export") == 0 && (format = ana_export_format(i)); i++)
        print_entry(format->name, format->help);
    printf(".RE\n");
}

static void print_view(enum tui_view_id id)
{
    const struct tui_view *view = tui_views[id];
    fputs(".SS ", stdout);
    print_text(tui_view_words[id].title);
    putchar('\n');
    print_text(tui_view_words[id].about);
    putchar('\n');
    for (int c = 0; view->table && c < view->table->column_count; c++)
        print_entry(view->table->columns[c].metric->title, view->table->columns[c].metric->help);
    for (const struct tui_term_help *t = tui_terms; t->word; t++)
        if (t->view == id)
            print_entry(t->word, t->help);
}

enum page { HPCTOP, LIBTRACE };

static void print_title(const char *title, int section, const char *name, const char *about)
{
    printf(".TH %s %d \"\" \"hpctop %s\" \"\"\n.SH NAME\n%s \\- %s\n", title, section, HPCTOP_VERSION, name, about);
}

static void print_examples(enum page page)
{
    printf(".SH EXAMPLES\n");
#define EXAMPLE(of, command, purpose)                                                                                  \
    if (page == of)                                                                                                    \
        print_entry(command, purpose);
#include "tui/commands/example.def"
}

void tui_print_libtrace_manual(void)
{
    print_title("LIBTRACE", 7, "libtrace", "records the MPI and NCCL calls of a job");
    print_examples(LIBTRACE);
    printf(".SH DESCRIPTION\nlibtrace.so is loaded into every process of a job by LD_PRELOAD.\n"
           "In those that call MPI or NCCL it writes one trace file, which can be read at any time and survives\n"
           "kill \\-9; all others it leaves alone.\nIt changes nothing that the program does.\n"
           ".BR hpctop (1)\nshows what is in the files.\n.SH ENVIRONMENT\nAll optional.\n");
    for (const struct tui_variable *v = tui_libtrace_variables; v->name; v++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s%s", v->help, v->value[0] ? "; default " : "", v->value);
        print_entry(v->name, text);
    }
    printf(".SH FILES\n");
    print_entry("hpctop-<job id>/*.hpctop", "one trace file a rank");
    print_entry("hpctop-<job id>/stacks.request",
                "asks the running job for stacks; hpctop stacks makes and removes it");
    print_entry("hpctop-<job id>/live.request", "asks one process a node for a digest; who watches makes it");
    print_entry("hpctop-<job id>/*.live", "what the ranks of one node are at, while somebody watches");
    printf(".SH SEE ALSO\n.BR hpctop (1),\n.BR hpctop\\-format (5)\n");
}

void tui_print_manual(void)
{
    const struct tui_command *command;
    print_title("HPCTOP", 1, "hpctop", "top for parallel jobs");
    print_examples(HPCTOP);
    printf(".SH SYNOPSIS\n");
    for (command = tui_commands; command->name; command++) {
        fputs(".br\n.B hpctop ", stdout);
        print_text(command == tui_commands ? "" : command->name);
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
    for (command = tui_commands; command->name; command++)
        print_command(command);
    printf(".SH KEYS\n");
    for (enum tui_action a = TUI_ACTION_NONE + 1; a < TUI_ACTIONS; a++)
        print_entry(tui_action_info(a)->keys, tui_action_info(a)->help);
    printf(".SH SCREENS\n");
    for (int v = 0; v < TUI_VIEWS; v++)
        if (v != TUI_VIEW_HELP)
            print_view(v);
    printf(".SH ENVIRONMENT\n");
    const struct tui_variable *row;
    for (row = tui_own_variables; row->name; row++)
        print_entry(row->name, row->help);
    printf(".SH FILES\n");
    print_entry("$XDG_CONFIG_HOME/hpctop/config, ~/.config/hpctop/config", "the configuration of the screens:");
    const struct tui_setting *setting;
    for (setting = tui_settings; setting->name; setting++)
        print_entry(setting->example, setting->help);
    printf(".SH EXIT STATUS\n");
#define STATUS(status, means) print_entry(status, means);
#include "tui/commands/exit.def"
    printf(".PP\nrecord ends as its command does.\n.SH SEE ALSO\n.BR libtrace (7),\n.BR hpctop\\-format (5)\n");
}
