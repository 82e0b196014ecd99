/* hpctop help bash|zsh|fish: completion for these shells, made from the tables of the help. */
#include "tui/commands/manual.h"
#include "tui/commands/command.h"
#include "tui/commands/nearest.h"
#include "trace/format/version.h"

#include <stdio.h>
#include <string.h>

static bool needs_command(const struct tui_command *command)
{
    return strstr(command->arguments, "CMD..") != NULL;
}

/* Prints text between single quotes of a shell. */
static void print_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    putchar('\'');
}

/* ---- bash -------------------------------------------------------------------------------------------------------- */

static void bash_option(void *none, const char *option, const char *help)
{
    (void)none;
    (void)help;
    printf(" %s", option);
}

void tui_print_bash(void)
{
    const struct tui_command *command;
    int n = 0;
    printf("# hpctop %s: completion for bash\n_hpctop()\n{\n    local word=${COMP_WORDS[COMP_CWORD]} options= i\n"
           "    COMPREPLY=()\n    case ${COMP_WORDS[1]} in\n",
           HPCTOP_VERSION);
    for (command = tui_commands + 1; command->name; command++) {
        printf("    %s) options='", command->name);
        tui_each_option(command->name, bash_option, NULL);
        printf("' ;;\n");
    }
    printf("    *) options='");
    tui_each_option("view", bash_option, NULL);
    printf(
        "' ;;\n    esac\n    for ((i = 2; i < COMP_CWORD; i++)); do\n"
        "        [[ ${COMP_WORDS[i]} == -- ]] && declare -F _command_offset >/dev/null && _command_offset $((i + 1)) "
        "&& return\n    done\n    if [[ $word == -* ]]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n    elif ((COMP_CWORD == 1)); then\n"
        "        mapfile -t COMPREPLY < <(compgen -W '");
    for (command = tui_commands + 1; command->name; command++)
        printf(" %s", command->name);
    printf("' -- \"$word\"; compgen -d -- \"$word\")\n    elif [[ ${COMP_WORDS[1]} == help ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '");
    for (command = tui_commands + 1; command->name; command++)
        printf(" %s", command->name);
    printf(" %s' -- \"$word\")\n    elif [[ ${COMP_WORDS[1]} == @(", tui_help_topics());
    for (command = tui_commands + 1; command->name; command++)
        if (needs_command(command))
            printf("%s%s", n++ ? "|" : "", command->name);
    printf(") ]]; then\n        mapfile -t COMPREPLY < <(compgen -c -- \"$word\")\n    else\n"
           "        mapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n    fi\n}\n"
           "complete -o filenames -F _hpctop hpctop\n");
}

/* ---- zsh --------------------------------------------------------------------------------------------------------- */

static void zsh_option(void *none, const char *option, const char *help)
{
    (void)none;
    char text[256];
    snprintf(text, sizeof text, "%s:%s", option, help);
    fputc(' ', stdout);
    print_quoted(text);
}

void tui_print_zsh(void)
{
    const struct tui_command *command;
    int n = 0;
    printf("#compdef hpctop\n# hpctop %s: completion for zsh\nlocal -a known flags topics\nlocal -i i\nknown=(",
           HPCTOP_VERSION);
    for (command = tui_commands + 1; command->name; command++)
        zsh_option(NULL, command->name, command->help);
    printf(")\ntopics=(%s)\nflags=()\ncase $words[2] in\n", tui_help_topics());
    for (command = tui_commands + 1; command->name; command++) {
        printf("%s) flags=(", command->name);
        tui_each_option(command->name, zsh_option, NULL);
        printf(") ;;\n");
    }
    printf("*) flags=(");
    tui_each_option("view", zsh_option, NULL);
    printf(") ;;\nesac\nif [[ $PREFIX == -* ]]; then\n    _describe -o option flags\nelif (( CURRENT == 2 )); then\n"
           "    _describe command known\n    _files -/\nelif [[ $words[2] == help ]]; then\n"
           "    _describe command known\n    compadd -a topics\nelif [[ $words[2] == (");
    for (command = tui_commands + 1; command->name; command++)
        if (needs_command(command))
            printf("%s%s", n++ ? "|" : "", command->name);
    printf(") ]]; then\n    (( i = ${words[(i)--]} ))\n    (( i = i < CURRENT ? i : 2 ))\n"
           "    shift i words\n    (( CURRENT -= i ))\n    _normal\nelse\n    _files -/\nfi\n");
}

/* ---- fish -------------------------------------------------------------------------------------------------------- */

/* Prints one option for fish.  `of`: the address of its command's name; "": an option of hpctop without a command. */
static void fish_option(void *of, const char *option, const char *help)
{
    const char *command = *(const char **)of;
    printf("complete -c hpctop -n '%s%s' %s %s", command[0] ? "__fish_seen_subcommand_from " : "__fish_use_subcommand",
           command, option[1] == '-' ? "-l" : "-s", option + (option[1] == '-' ? 2 : 1));
    if (help[0]) {
        printf(" -d ");
        print_quoted(help);
    }
    putchar('\n');
}

void tui_print_fish(void)
{
    const struct tui_command *command;
    printf("# hpctop %s: completion for fish\ncomplete -c hpctop -f\n", HPCTOP_VERSION);
    for (command = tui_commands + 1; command->name; command++) {
        printf("complete -c hpctop -n __fish_use_subcommand -a %s -d ", command->name);
        print_quoted(command->help);
        putchar('\n');
        if (command->arguments[0] && strcmp(command->name, "help") != 0)
            printf("complete -c hpctop -n '__fish_seen_subcommand_from %s' -a '(%s)'\n", command->name,
                   needs_command(command) ? "__fish_complete_subcommand" : "__fish_complete_directories");
    }
    printf("complete -c hpctop -n __fish_use_subcommand -a '(__fish_complete_directories)'\n");
    printf("complete -c hpctop -n '__fish_seen_subcommand_from help' -a '%s'\n", tui_help_topics());
    for (command = tui_commands + 1; command->name; command++)
        printf("complete -c hpctop -n '__fish_seen_subcommand_from help' -a %s\n", command->name);
    for (command = tui_commands; command->name; command++) {
        const char *of = command > tui_commands ? command->name : "";
        tui_each_option(command->name, fish_option, &of);
    }
}
