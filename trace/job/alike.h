/* Ranks that behave alike, so that ten thousand of them are a few rows: who stands out has one of its own.
 * Pure, of a summary; O(ranks x kinds). */
#ifndef ANA_ALIKE_H
#define ANA_ALIKE_H

#include "trace/job/job.h"

/* Ranks of one behaviour: shares of their time waiting, in MPI without that, in I/O and in NCCL that differ by no more
 * than ANA_ALIKE_SHARE from those of one of them, and the same state, where that is not just running or done. */
#define ANA_ALIKE_SHARE  0.05
#define ANA_ALIKE_GROUPS 64u

struct ana_alike_group {
    size_t first, count; /* in ana_alike.member */
    uint32_t host;       /* all of them are on this one, and few others of it are not among them; UINT32_MAX: not so */
    bool blamed;         /* one rank that the caller named */
    bool most;           /* the last group, with most ranks */
};

struct ana_alike {
    size_t ranks, hosts, groups;
    uint32_t *host;                                 /* of each rank index; 0 is that of the first rank */
    size_t *member;                                 /* rank indices: by group, in it by host, on a host ascending */
    size_t *by_host;                                /* all rank indices, by host, ascending */
    size_t *host_begin;                             /* in by_host; hosts + 1 of them */
    uint32_t *group_of;                             /* of each rank index; UINT32_MAX: it is not in the summary */
    struct ana_alike_group group[ANA_ALIKE_GROUPS]; /* blamed ones, then the smallest first */
};

/* Finds the groups of the ranks in a summary; `blamed`: rank indices that get groups of their own, at most 16.  False:
 * out of memory.  ana_alike_free frees it, also then. */
bool ana_alike_find(const struct ana_job *job, const struct ana_summary *summary, const size_t *blamed, size_t n,
                    struct ana_alike *out);

/* Frees what it has, and zeroes it. */
void ana_alike_free(struct ana_alike *alike);

/* Writes the rank indices to blame for what the headline says, at most `room`: the verdict's are the caller's; of a
 * summary the rank that others lost most time waiting for, if that is at least 0.5 % of all time.  Returns how many. */
size_t ana_alike_blame(const struct ana_summary *summary, size_t *out, size_t room);

/* Fills the cells of several ranks: the mean of those whose cell is known; of more than 16 from sums made before alone.
 *  `mean` or `most` may be NULL; most[i] has of all these ranks the largest share waiting, and the smallest outside
 * MPI. */
void ana_timeline_of(struct ana_job *job, const size_t *ranks, size_t count, int64_t begin_ns, int64_t end_ns, size_t n,
                     struct ana_timeline_cell *mean, struct ana_timeline_cell *most);

#endif
