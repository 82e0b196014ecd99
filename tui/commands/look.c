/* hpctop look [PID|JOBID|--all]: where the ranks of a job are that was not recorded, read from outside. */
#include "tui/commands/arguments.h"
#include "tui/commands/command.h"
#include "tui/commands/look_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_JOBS = 64 };

/* Prints what the looks have shown. */
static void print_job(struct tui_rank_stack *rank, size_t n, const char *program, size_t other_hosts, int world)
{
    char why[200], hosts[40] = "";
    size_t unread = 0;
    for (size_t i = 0; i < n; i++)
        unread += !rank[i].looks;
    if (other_hosts)
        snprintf(hosts, sizeof hosts, ON_HOSTS, other_hosts + 1);
    printf(TITLE, n, n == 1 ? "" : "s", program, hosts);
    if (world > 0 && (size_t)world > n)
        printf(UNSEEN, (size_t)world - n, world);
    tui_outside_why_not(why, sizeof why);
    if (unread)
        printf(UNREAD, unread, why);
    look_print_verdict(rank, n);
    look_print_groups(rank, n);
}

/* Looks at the ranks here, and on other hosts unless `part` is set: then for hpctop there.  `job` NULL: at a job of
 * Slurm with that number, which has none here. */
static int look_at_job(const struct tui_running_job *job, const char *slurm, bool part)
{
    static struct tui_running_rank id[LOOK_RANKS];
    static struct look_hosts hosts;
    char number[32] = "";
    const size_t here = job ? tui_running_ranks(job->job, id, LOOK_RANKS) : 0;
    const int world = here ? tui_running_world(id[0].pid) : 0;
    struct tui_rank_stack *rank = calloc(LOOK_RANKS, sizeof *rank);
    size_t n = here, unread = 0;
    for (size_t i = 0; rank && i < here; i++)
        rank[i].id = id[i];
    if (here)
        tui_running_variable(id[0].pid, "SLURM_JOB_ID", number, sizeof number);
    hosts.count = 0;
    if (!part && (!job || world > (int)here))
        look_hosts_start(&hosts, job ? job->job : slurm, job ? number : slurm, here ? id[0].pid : 0);
    if (!rank || !tui_seen_look(rank, here)) {
        free(rank);
        return tui_input_error("out of memory");
    }
    if (part)
        tui_seen_write(rank, n, stdout);
    else if ((n = look_hosts_end(&hosts, rank, n, LOOK_RANKS)))
        print_job(rank, n, job ? job->program : slurm, here ? hosts.count : hosts.count - 1, world);
    for (size_t i = 0; i < n; i++)
        unread += !rank[i].looks;
    free(rank);
    return !n ? tui_input_error("%s", NO_JOB) : tui_finish(unread == n ? TUI_EXIT_INPUT : TUI_EXIT_OK);
}

/* Whether a job has that number, of its launcher's name for it; or has that process; NULL: any. */
static bool is_named(const struct tui_running_job *job, const char *text, const char *of_process)
{
    const char *name = strchr(job->job, '=');
    char number[32];
    return !text || strcmp(job->job, text) == 0 || (name && strcmp(name + 1, text) == 0) ||
           strcmp(job->job, of_process) == 0 ||
           (tui_running_variable(job->pid, "SLURM_JOB_ID", number, sizeof number) && strcmp(number, text) == 0);
}

int tui_command_look(int argc, char **argv)
{
    struct tui_running_job job[MOST_JOBS];
    bool all = false, part = false;
    const struct tui_argument known[] = {{"all", 0, TUI_FLAG, &all}, {"part", 0, TUI_FLAG, &part}, {0}};
    int status = tui_arguments(argc, argv, known, NULL);
    if (status != TUI_EXIT_OK)
        return status;
    if (argc - optind > 1 || (all && optind < argc))
        return tui_usage_error("look", "look needs one job, or --all");
    const char *text = optind < argc ? argv[optind] : NULL;
    char of_process[sizeof job->job] = "";
    if (text && !tui_running_name(atoi(text), of_process, sizeof of_process))
        *of_process = 0;
    const size_t n = tui_running_find(job, MOST_JOBS);
    size_t found = 0;
    for (size_t i = n; i-- > 0;) { /* the newest first */
        if (!is_named(&job[i], text, of_process))
            continue;
        if (*job[i].folder)
            printf(IS_RECORDED, found ? "\n" : "", job[i].ranks, job[i].program, job[i].folder);
        else if (found && !all && !text)
            printf(ANOTHER_JOB, job[i].ranks, job[i].program, job[i].pid);
        else {
            fputs(found ? "\n" : "", stdout);
            status = look_at_job(&job[i], "", part);
        }
        found++;
    }
    if (!found && !part && text && strspn(text, "0123456789") == strlen(text))
        return look_at_job(NULL, text, false);
    return found ? status : tui_input_error("%s", NO_JOB);
}
