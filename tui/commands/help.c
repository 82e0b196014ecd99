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

static void print_environment(void)
{
    printf("What libtrace.so reads, all optional:\n\n");
    const struct tui_variable *v;
    for (v = tui_libtrace_variables; v->name; v++)
        printf("  %-16s %-8s %s%s%s%s\n", v->name, v->type, v->help, v->value[0] ? " [default " : "", v->value,
               v->value[0] ? "]" : "");
    printf("\nWhat hpctop reads:\n\n");
    for (v = tui_own_variables; v->name; v++)
        printf("  %-25s %s\n", v->name, v->help);
}

static void print_keys(void)
{
    tui_help_keys(TUI_VIEWS, WIDTH, print_line, stdout);
    printf("\nTyped after : it goes there:\n\n");
    tui_help_jumps(WIDTH, print_line, stdout);
    printf("\nThe mouse works too: rows, column titles, cells and the bar of keys; the wheel scrolls; dragging in the "
           "timeline\nselects a window of time.\n");
}

static void print_configuration(void)
{
    const struct tui_setting *setting;
    printf("$XDG_CONFIG_HOME/hpctop/config, or ~/.config/hpctop/config: a line each, all optional.\n\n");
    for (setting = tui_settings; setting->name; setting++)
        printf("  %-44s %s\n", setting->example, setting->help);
    printf(
        "\nTables are called as their screens, columns as their titles; c in a table chooses them, and w keeps it.\n");
}

static void print_views(void)
{
    for (int v = 0; v < TUI_VIEWS; v++) {
        printf("%s%s\n", v ? "\n" : "", tui_view_words[v].title);
        tui_help_about((enum tui_view_id)v, WIDTH, print_line, stdout);
        tui_help_view((enum tui_view_id)v, WIDTH, print_line, stdout);
    }
}

static void print_command(const struct tui_command *command)
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

static void print_overview(void)
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
}

static const struct {
    const char *topic;
    void (*print)(void);
} topics[] = {
    {"environment", print_environment},
    {"keys", print_keys},
    {"views", print_views},
    {"configuration", print_configuration},
    {"json", tui_json_help},
    {"man", tui_print_manual},
    {"libtrace", tui_print_libtrace_manual},
    {"bash", tui_print_bash},
    {"zsh", tui_print_zsh},
    {"fish", tui_print_fish},
};
enum { TOPICS = sizeof topics / sizeof *topics };

const char *tui_help_topics(void)
{
    static char text[128]; /* filled the same each time */
    for (size_t i = 0, n = 0; i < TOPICS; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "", topics[i].topic);
    return text;
}

int tui_command_help(int argc, char **argv)
{
    if (argc > 2)
        return tui_usage_error(NULL, "help takes one topic");
    const struct tui_command *command = argc > 1 ? tui_command_of(argv[1]) : NULL;
    size_t i = 0;
    while (argc > 1 && i < TOPICS && strcmp(topics[i].topic, argv[1]) != 0)
        i++;
    if (argc < 2)
        print_overview();
    else if (i < TOPICS)
        topics[i].print();
    else if (command)
        print_command(command);
    else
        return tui_usage_error(NULL, "there is no command or topic %s", argv[1]);
    return tui_finish(TUI_EXIT_OK);
}
