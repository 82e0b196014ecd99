/* Ranks of a job, here and on other hosts, and their verdict; private to look*.c. */
#pragma once

#include "tui/commands/seen.h"

enum { LOOK_HOSTS = 256, LOOK_RANKS = 4096 };

#define WORDS(name, text) __attribute__((unused)) static const char name[] = text;
#include "tui/commands/look.def"

/* Hosts at which hpctop looks now. */
struct look_hosts {
    size_t count; /* hosts; after the end, hosts with new ranks */
    bool by_srun;
    char name[LOOK_HOSTS][64];
    FILE *from[LOOK_HOSTS];
};

/* Starts hpctop on the other hosts of a job, by srun where Slurm has started it (`slurm`: its number; "": not), else by
 * ssh where mpirun did.  `pid`: a rank here; 0: none is. */
void look_hosts_start(struct look_hosts *hosts, const char *job, const char *slurm, int pid);
/* Appends the ranks of the hosts' answers to the `n` ranks of `rank`, which has room for `max`; returns the new number.
 * Names hosts without an answer on stdout. */
size_t look_hosts_end(struct look_hosts *hosts, struct tui_rank_stack *rank, size_t n, size_t max);

/* Prints the verdict of a second: never more than likely. */
void look_print_verdict(const struct tui_rank_stack *rank, size_t n);
/* Prints the ranks by the place where they are, with their stacks. */
void look_print_groups(struct tui_rank_stack *rank, size_t n);
