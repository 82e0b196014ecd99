/* Groups of ranks that behave alike: ten thousand ranks are a few rows, and outliers have own rows.  Pure, made from a
 * summary; O(ranks x kinds). */
#pragma once

#include "trace/summary/summary.h"

/* Ranks of one behaviour: shares of their time waiting, in MPI without waiting, in I/O and in NCCL differ by no more
 * than ANA_ALIKE_SHARE from the shares of one such rank, and they are in the same state, unless just running or
 * done. */
#define ANA_ALIKE_SHARE  0.05
#define ANA_ALIKE_GROUPS 64u

struct ana_alike_group {
    size_t first, count; /* range in ana_alike.member */
    uint32_t host;       /* host with the whole group, and few other ranks; UINT32_MAX: there is none */
    bool blamed;         /* one rank that the caller named */
    bool most;           /* the last group, with most ranks */
};

struct ana_alike {
    size_t ranks, hosts, groups;
    uint32_t *host;                                 /* rank index -> host; 0 is the first rank's */
    size_t *member;                                 /* rank indices: by group, in it by host, on a host ascending */
    size_t *by_host;                                /* all rank indices, by host, ascending */
    size_t *host_begin;                             /* each host's begin in by_host; hosts + 1 entries */
    uint32_t *group_of;                             /* rank index -> group; UINT32_MAX: it is not in the summary */
    struct ana_alike_group group[ANA_ALIKE_GROUPS]; /* blamed ones, then the smallest first */
};

/* Finds the groups of the ranks in a summary; `blamed`: rank indices that get groups of their own, at most 16.  False:
 * out of memory.  ana_alike_free frees it, also then. */
bool ana_alike_find(const struct ana_job *job, const struct ana_summary *summary, const size_t *blamed, size_t n,
                    struct ana_alike *out);

/* Frees the groups, and zeroes *alike. */
void ana_alike_free(struct ana_alike *alike);

/* Writes the rank indices to blame for what the headline says, at most `room`: the verdict's are the caller's; of a
 * summary the rank that others lost most time waiting for, if that is at least 0.5 % of all time.  Returns how many. */
size_t ana_alike_blame(const struct ana_summary *summary, size_t *out, size_t room);

/* Waits of one kind for one rank. */
struct ana_wait_group {
    struct ana_wait all;   /* count and lost_ns are sums; there is no waiter */
    size_t first, waiters; /* index of the first one in the summary; number of known ranks that wait */
    bool others;           /* some ranks that wait are not known */
};
/* Returns the groups of all waits, by loss; the caller frees them.  NULL: none, or out of memory. */
struct ana_wait_group *ana_wait_groups(const struct ana_summary *summary, size_t *count);
