/* hpctop analyze [-j N] DIR..: reads a trace once, and keeps the results beside it; under mpirun with all processes. */
#include "tui/commands/arguments.h"
#include "tui/commands/command.h"
#include "trace/index/index.h"
#include "trace/session/session.h"
#include "tui/workers/workers.h"

#include <string.h>
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

struct wanted {
    const char *const *folders;
    size_t count;
    unsigned workers; /* threads; 0: all that help */
    const char *mpi;  /* library; NULL: the one that is found */
};

/* Makes the other processes, or threads, read the job.  False, with a line in `said`: it cannot be. */
static bool divide(struct ana_job *job, unsigned workers, struct tui_workers *others, char *said, size_t size)
{
    bool ok = !workers || ana_job_set_workers(job, workers);
    if (ok && others)
        return tui_workers_read(others, job, said, size);
    snprintf(said, size, "out of memory");
    return ok && ana_job_read_by_threads(job);
}

/* Runs in the first process, or the only one. */
static int analyze(const struct wanted *wanted, struct tui_workers *others)
{
    char said[5000];
    struct ana_job *job;
    if (ana_job_open(wanted->folders, wanted->count, &job, said, sizeof said) != TRC_OK) {
        char of_others[600];
        if (others)
            tui_workers_read(others, NULL, of_others, sizeof of_others);
        return tui_input_error("%s", said);
    }
    bool ok = divide(job, wanted->workers, others, said, sizeof said);
    if (ok)
        read_all(job);
    ok = ok && ana_index_write(job, true, said, sizeof said);
    ana_job_close(job);
    if (!ok)
        return tui_input_error("no index was written: %s", said);
    printf("%s\n", said);
    return tui_finish(TUI_EXIT_OK);
}

/* Runs in each other process: the first tells the errors, if any. */
static int serve(const struct wanted *wanted, struct tui_workers *others)
{
    char said[512] = "";
    struct ana_job *job;
    if (ana_job_open(wanted->folders, wanted->count, &job, said, sizeof said) != TRC_OK)
        job = NULL;
    tui_workers_serve(others, job, said);
    ana_job_close(job);
    return TUI_EXIT_OK;
}

/* Does it with the other processes of this launch. */
static int analyze_together(const struct wanted *wanted, struct tui_mpi *mpi)
{
    struct tui_workers *others = tui_workers_new(mpi);
    if (!others)
        return tui_input_error("out of memory"); /* the launcher ends the others */
    int status = tui_mpi_rank(mpi) == 0 ? analyze(wanted, others) : serve(wanted, others);
    tui_workers_free(others);
    tui_mpi_leave(mpi);
    return status;
}

int tui_command_analyze(int argc, char **argv)
{
    struct wanted wanted = {0};
    const struct tui_argument known[] = {
        {"workers", 'j', TUI_WORKERS, &wanted.workers}, {"mpi", 0, TUI_TEXT, &wanted.mpi}, {0}};
    int status = tui_arguments(argc, argv, known, "a trace folder");
    if (status != TUI_EXIT_OK)
        return status;
    wanted.folders = (const char *const *)argv + optind;
    wanted.count = (size_t)(argc - optind);
    if (wanted.mpi && strcmp(wanted.mpi, "none") == 0)
        return analyze(&wanted, NULL);
    struct tui_launch launch = tui_launch();
    char why[400] = "";
    struct tui_mpi *mpi = launch.has_mpi || wanted.mpi ? tui_mpi_join(wanted.mpi, why, sizeof why) : NULL;
    if (mpi)
        return analyze_together(&wanted, mpi);
    if (launch.rank == 1)
        fprintf(stderr, "hpctop analyze: the first process does it alone%s%s\n", *why ? ": " : "", why);
    return launch.rank > 0 ? TUI_EXIT_OK : analyze(&wanted, NULL);
}
