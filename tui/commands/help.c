/* hpctop help, hpctop version. */
#include "tui/commands/command.h"
#include "tui/app/settings.h"
#include "tui/views/help_lines.h"
#include "tui/commands/manual.h"
#include "tui/output/json_help.h"
#include "trace/export/export.h"
#include "trace/format/version.h"

#include <langinfo.h>
#include <string.h>

int tui_command_version(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return tui_usage_error("version", "version takes no arguments");
    printf("hpctop %s, trace format %u\n", HPCTOP_VERSION, TRC_VERSION);
    return tui_finish(TUI_EXIT_OK);
}

static void print_line(void *to, enum tui_style style, const char *text)
{
    bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    uint32_t ch;
    (void)style;
    while ((ch = tui_decode(&text))) {
        char bytes[5] = {0};
        if (utf8)
            tui_encode(ch, bytes);
        else
            bytes[0] = tui_ascii(ch);
        fputs(bytes, to);
    }
    fputc('\n', to);
}

enum { WIDTH = 100 };

static const struct tui_variable variables[] = {
#define OPTION(field, variable, type, value, help) {variable, #type, value, help},
#include "trace/format/options.def"
#undef OPTION
};

static int print_manual(void)
{
    return tui_print_manual(HPCTOP_VERSION);
}

static int print_libtrace(void)
{
    return tui_print_libtrace_manual(HPCTOP_VERSION, variables, sizeof variables / sizeof *variables);
}

static int print_environment(void)
{
    printf("What libtrace.so reads, all optional:\n\n");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        printf("  %-16s %-8s %s%s%s%s\n", variables[i].name, variables[i].type, variables[i].help,
               variables[i].value[0] ? " [default " : "", variables[i].value, variables[i].value[0] ? "]" : "");
    const struct tui_variable *own;
    printf("\nWhat hpctop reads:\n\n");
    for (own = tui_own_variables; own->name; own++)
        printf("  %-25s %s\n", own->name, own->help);
    return tui_finish(TUI_EXIT_OK);
}

static int print_keys(void)
{
    tui_help_keys(TUI_VIEWS, WIDTH, print_line, stdout);
    printf("\nTyped after : it goes there:\n\n");
    tui_help_jumps(WIDTH, print_line, stdout);
    printf("\nThe mouse works too: rows, column titles, cells and the bar of keys; the wheel scrolls; dragging in the "
           "timeline\nselects a window of time.\n");
    return tui_finish(TUI_EXIT_OK);
}

static int print_configuration(void)
{
    const struct tui_setting *setting;
    printf("$XDG_CONFIG_HOME/hpctop/config, or ~/.config/hpctop/config: a line each, all optional.\n\n");
    for (setting = tui_settings; setting->name; setting++)
        printf("  %-44s %s\n", setting->example, setting->help);
    printf(
        "\nTables are called as their screens, columns as their titles; c in a table chooses them, and w keeps it.\n");
    return tui_finish(TUI_EXIT_OK);
}

static int print_views(void)
{
    for (int v = 0; v < TUI_VIEWS; v++) {
        printf("%s%s\n", v ? "\n" : "", tui_views[v]->title);
        tui_help_about((enum tui_view_id)v, WIDTH, print_line, stdout);
        tui_help_view((enum tui_view_id)v, WIDTH, print_line, stdout);
    }
    return tui_finish(TUI_EXIT_OK);
}

static int print_command(const struct tui_command *command)
{
    bool view = strcmp(command->name, "view") == 0;
    printf("hpctop %s%s%s\n\n  %s\n", view ? "" : command->name, !view && command->arguments[0] ? " " : "",
           command->arguments, command->help);
    const struct tui_variable *option;
    const struct ana_export_format *format;
    bool any = false;
    for (option = tui_options; option->name; option++)
        if (strcmp(option->type, command->name) == 0) {
            printf("%s  %-18s %s\n", any ? "" : "\n", option->name, option->help);
            any = true;
        }
    for (size_t i = 0; strcmp(command->name, "export") == 0 && (format = ana_export_format(i)); i++)
        printf("%s  %-18s %s\n", i ? "" : "\n", format->name, format->help);
    return tui_finish(TUI_EXIT_OK);
}

/* Prints text behind the `at` columns of its line, a blank before each word; lines past column 80 begin anew,
 * indented.  Blanks in brackets part no lines. */
static void print_words(const char *text, int at, int indent)
{
    for (size_t n; *text; text += n + (text[n] == ' ')) {
        n = *text == '[' && strchr(text, ']') ? strcspn(text, "]") : 0;
        n += strcspn(text + n, " ");
        if (at + (int)n >= 80)
            at = printf("\n%*s", indent, "") - 1;
        at += printf(" %.*s", (int)n, text);
    }
    putchar('\n');
}

static int print_overview(void)
{
    const struct tui_command *command;
    printf("hpctop shows what the ranks of a parallel job do, while it runs and afterwards.\n\n"
           "  hpctop record -- mpirun -n 4 ./app  records: a trace file for each rank\n"
           "  hpctop [DIR..]                      looks at it\n\n");
    for (command = tui_commands; command->name; command++) {
        const bool named = command > tui_commands;
        print_words(command->arguments, printf("  hpctop%s%s", named ? " " : "", named ? command->name : ""), 8);
        print_words(command->help, printf("     "), 5);
    }
    printf("\nExit status, but for record, which ends as its command does:\n\n");
#define STATUS(status, means) printf("  %-3s %s\n", status, means);
#include "tui/commands/exit.def"
    return tui_finish(TUI_EXIT_OK);
}

static int print_json(void)
{
    tui_json_help(stdout);
    return tui_finish(TUI_EXIT_OK);
}

static int print_bash(void)
{
    return tui_print_completion("bash");
}
static int print_zsh(void)
{
    return tui_print_completion("zsh");
}
static int print_fish(void)
{
    return tui_print_completion("fish");
}

static const struct {
    const char *topic;
    int (*print)(void);
} topics[] = {
    {"environment", print_environment},
    {"keys", print_keys},
    {"views", print_views},
    {"configuration", print_configuration},
    {"json", print_json},
    {"man", print_manual},
    {"libtrace", print_libtrace},
    {"bash", print_bash},
    {"zsh", print_zsh},
    {"fish", print_fish},
};

const char *tui_help_topics(void)
{
    static char text[128]; /* filled the same each time */
    for (size_t i = 0, n = 0; i < sizeof topics / sizeof *topics; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "", topics[i].topic);
    return text;
}

int tui_command_help(int argc, char **argv)
{
    if (argc < 2)
        return print_overview();
    if (argc > 2)
        return tui_usage_error(NULL, "help takes one topic");
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
        if (strcmp(topics[i].topic, argv[1]) == 0)
            return topics[i].print();
    const struct tui_command *command = tui_command_of(argv[1]);
    return command ? print_command(command) : tui_usage_error(NULL, "there is no command or topic %s", argv[1]);
}
