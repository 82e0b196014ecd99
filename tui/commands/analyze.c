/* hpctop analyze [-j N] DIR..: reads a trace once, and keeps what was found beside it. */
#include "tui/commands/command.h"
#include "tui/commands/nearest.h"
#include "trace/index/index.h"
#include "trace/session/session.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STEP_NS 200000000

/* Reads all events, with a line about how far it is on a terminal. */
static void read_all(struct ana_job *job)
{
    bool shown = isatty(STDERR_FILENO);
    for (double share = 0; share < 1;) {
        share = ana_job_advance(job, STEP_NS);
        if (shown)
            fprintf(stderr, "\r%3.0f %% read", share * 100);
    }
    if (shown)
        fputs("\r          \r", stderr);
}

/* The rank that a launcher gave this process; 0: it was started alone, or is the first. */
static long rank_of_launch(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    const char *text = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !text; i++)
        text = getenv(names[i]);
    return text ? strtol(text, NULL, 10) : 0;
}

static int analyze(const char *const *folders, int n, unsigned workers)
{
    char said[5000];
    struct ana_job *job;
    if (ana_job_open(folders, (size_t)n, &job, said, sizeof said) != TRC_OK)
        return tui_input_error("%s", said);
    bool ok = !workers || ana_job_set_workers(job, workers);
    if (ok)
        read_all(job);
    else
        snprintf(said, sizeof said, "out of memory");
    ok = ok && ana_index_write(job, true, said, sizeof said);
    ana_job_close(job);
    if (!ok)
        return tui_input_error("no index was written: %s", said);
    printf("%s\n", said);
    return tui_finish(TUI_EXIT_OK);
}

int tui_command_analyze(int argc, char **argv)
{
    static const struct option names[] = {{"workers", required_argument, NULL, 'j'}, {0}};
    unsigned workers = 0;
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "j:", names, NULL)) != -1) {
        if (option != 'j')
            return tui_unknown_option("analyze", argv[optind - 1]);
        if (!tui_parse_workers(optarg, &workers))
            return tui_usage_error("analyze", "%s is not a number of threads, 1 to 1024", optarg);
    }
    if (optind == argc)
        return tui_usage_error("analyze", "analyze needs a trace folder");
    long rank = rank_of_launch();
    if (rank == 1)
        fputs("hpctop analyze: one process does it, with threads (-j); the others of this launch have nothing to do\n",
              stderr);
    if (rank > 0)
        return TUI_EXIT_OK;
    return analyze((const char *const *)argv + optind, argc - optind, workers);
}
