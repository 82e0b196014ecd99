/* Ranks of a job that was not recorded, looked at several times within a second. */
#pragma once

#include "tui/sources/outside.h"
#include "tui/sources/running.h"

#include <stdio.h>

/* A rank: its last stack, and what all looks have in common. */
struct tui_rank_stack {
    struct tui_running_rank id;
    size_t outer; /* frame of the MPI call; count: outside */
    unsigned looks, inside, moves;
    char polls[40]; /* call that it was in in some look, and asks for messages again and again; "": none */
    bool strays;    /* it was in several functions of the program */
    double cpu_s;   /* processor time in a second */
    bool stopped;   /* the process is stopped by a signal */
    bool beside;    /* the call is another thread's than the main one's, which waits */
    bool shown;
    struct tui_outside_stack stack; /* the last member, as the frames are its last */
};

/* Looks at `n` ranks, whose `id` the caller has filled.  False: out of memory. */
bool tui_seen_look(struct tui_rank_stack *rank, size_t n);
/* Returns the call that a rank is inside, or makes again and again, until the next call; NULL: outside. */
const char *tui_seen_call(const struct tui_rank_stack *rank);
/* Writes the arguments of that call, which are known of its last stack alone. */
void tui_seen_arguments(const struct tui_rank_stack *rank, char *out, size_t size);
/* Whether a rank goes on: not one that polls in one place. */
bool tui_seen_moves(const struct tui_rank_stack *rank);
/* Whether two ranks are at the same place. */
bool tui_seen_alike(const struct tui_rank_stack *a, const struct tui_rank_stack *b);

/* Writes ranks for hpctop on another host. */
void tui_seen_write(const struct tui_rank_stack *rank, size_t n, FILE *to);
/* Reads what tui_seen_write wrote, behind whatever else there is; ranks of `has` that are there already are left out.
 * Returns the number of new ones, at most `max`; -1: nothing of this version of hpctop is there. */
int tui_seen_read(FILE *from, const struct tui_rank_stack *has, size_t n, struct tui_rank_stack *out, size_t max);
