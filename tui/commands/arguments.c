#include "tui/commands/arguments.h"
#include "tui/commands/command.h"
#include "tui/sources/lines.h"
#include "tui/commands/nearest.h"
#include "trace/session/session.h"

#include <getopt.h>
#include <stdlib.h>

enum { MOST = 16 }; /* options of a command */

/* Stores the value of an option.  Returns the name of its kind if the text is none of it, else NULL. */
static const char *store(const struct tui_argument *of, const char *text)
{
    char *end;
    double seconds;
    unsigned long n;
    switch (of->kind) {
    case TUI_FLAG:
        *(bool *)of->to = true;
        return NULL;
    case TUI_TEXT:
        *(const char **)of->to = text;
        return NULL;
    case TUI_SECONDS:
        seconds = *(double *)of->to = strtod(text, &end);
        return *text && !*end && seconds > 0 && seconds < 1e6 ? NULL : "number of seconds";
    default:
        n = *(unsigned *)of->to = (unsigned)strtoul(text, &end, 10);
        return *text >= '0' && *text <= '9' && !*end && n >= 1 && n <= 1024 ? NULL : "number of threads, 1 to 1024";
    }
}

int tui_arguments(int argc, char **argv, const struct tui_argument *known, const char *needs)
{
    struct option names[MOST + 1] = {{0}};
    char letters[2 * MOST + 1] = "";
    int option, used = 0;
    for (int i = 0; i < MOST && known[i].name; i++) {
        bool takes = known[i].kind != TUI_FLAG;
        names[i] = (struct option){known[i].name, takes ? required_argument : no_argument, NULL, 256 + i};
        if (known[i].letter)
            letters[used++] = known[i].letter;
        if (known[i].letter && takes)
            letters[used++] = ':';
    }
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, letters, names, NULL)) != -1) {
        const struct tui_argument *of = option >= 256 ? &known[option - 256] : known;
        while (option < 256 && of->name && of->letter != option)
            of++;
        if (!of->name)
            return tui_unknown_option(argv[0], argv[optind - 1]);
        const char *kind = store(of, optarg);
        if (kind)
            return tui_usage_error(argv[0], "%s is not a %s", optarg, kind);
    }
    return needs && optind == argc ? tui_usage_error(argv[0], "%s needs %s", argv[0], needs) : TUI_EXIT_OK;
}

int tui_arguments_job(int argc, char **argv, const struct tui_argument *known, struct ana_job **job)
{
    const int status = tui_arguments(argc, argv, known, "a trace folder");
    return status ? status : tui_open_job((const char *const *)argv + optind, argc - optind, job);
}

int tui_open_job(const char *const *folders, int n, struct ana_job **job)
{
    char error[512];
    if (ana_job_open(folders, (size_t)n, job, error, sizeof error) != TRC_OK)
        return tui_input_error("%s", error);
    tui_lines_use(*job, TUI_LINES_PATIENCE);
    return TUI_EXIT_OK;
}
