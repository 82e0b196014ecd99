#include "tui/commands/look_impl.h"
#include "trace/util/sort.h"
#include "tui/launch/record.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether a text may stand between apostrophes or quotation marks in a command of the shell. */
static bool is_plain(const char *text)
{
    return *text && *text != '-' && !strpbrk(text, "'\"\n\\$`");
}

/* Finds the nodes of a job of Slurm. */
static void find_nodes(struct look_hosts *hosts, const char *slurm)
{
    char list[4096], names[LOOK_HOSTS * 64], *rest = names;
    if (tui_ask((const char *const[]){"squeue", "-h", "-j", slurm, "-o", "%N", NULL}, list, sizeof list))
        return;
    list[strcspn(list, "\n")] = 0;
    if (tui_ask((const char *const[]){"scontrol", "show", "hostnames", list, NULL}, names, sizeof names))
        return;
    for (const char *name; hosts->count < LOOK_HOSTS && (name = strsep(&rest, "\n"));)
        if (is_plain(name))
            snprintf(hosts->name[hosts->count++], sizeof *hosts->name, "%s", name);
}

void look_hosts_start(struct look_hosts *hosts, const char *job, const char *slurm, int pid)
{
    char self[4096], command[16384];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    hosts->count = 0;
    hosts->by_srun = *slurm;
    if (*slurm)
        find_nodes(hosts, slurm);
    else if (pid)
        hosts->count = tui_running_hosts(pid, hosts->name, LOOK_HOSTS);
    for (size_t i = 0; i < hosts->count; i++) {
        hosts->from[i] = NULL;
        if (!is_plain(hosts->name[i]) || !is_plain(job) || !is_plain(self) || tui_is_this_host(hosts->name[i]))
            continue;
        if (hosts->by_srun)
            snprintf(command, sizeof command, SRUN, slurm, hosts->name[i], self, job);
        else
            snprintf(command, sizeof command, SSH, hosts->name[i], self, self, job, job);
        fflush(stdout);
        hosts->from[i] = popen(command, "re");
    }
}

ANA_COMPARE(by_rank, struct tui_rank_stack, x->id.rank - y->id.rank)

size_t look_hosts_end(struct look_hosts *hosts, struct tui_rank_stack *rank, size_t n, size_t max)
{
    size_t answers = 0;
    for (size_t i = 0; i < hosts->count; i++) {
        if (!hosts->from[i])
            continue;
        const int added = tui_seen_read(hosts->from[i], rank, n, rank + n, max - n);
        pclose(hosts->from[i]);
        if (added < 0)
            printf(NO_ANSWER, hosts->name[i], hosts->by_srun ? "srun" : "ssh");
        else
            n += (size_t)added;
        answers += added > 0;
    }
    hosts->count = answers;
    ana_sort(rank, n, sizeof *rank, by_rank);
    return n;
}
