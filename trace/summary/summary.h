/* Summaries: everything that screens and the report show of a job, for a selection of time and ranks.
 *
 * Pure: no terminal, no output, no global state.  Nothing here may be called in the traced process. */
#pragma once

#include "trace/account/account.h"
#include "trace/job/job.h"
#include "trace/relations/waits.h"
#include "trace/summary/collective.h"
#include "trace/summary/iterations.h"
#include "trace/util/times.h"
#include "trace/why/reason.h"
#include "trace/why/usage.h"

struct ana_call_stat {
    const char *name;
    enum trc_opclass opclass;
    int size_class;         /* -1: the sum over all; else trc_size_class() */
    struct ana_times times; /* time range: all calls that some part of lies in it, in their full length */
    uint64_t ended;         /* calls of `times` that ended in the range: their bytes are counted */
    int64_t time_ns;        /* inside them, as far as it lies in the range */
    int64_t open_ns;        /* part of time_ns in calls that have not ended */
    int64_t seen_ns;        /* part of time_ns in analysed events: waiting_ns is a share of it */
    uint64_t sent, received;
    uint64_t unknown;             /* part of `ended` whose bytes are not known: the others' sums are lower bounds */
    int64_t waiting_ns;           /* part lost waiting for others; -1 unknown (no events, or not a call that waits) */
    size_t last_index;            /* rank that most often came last in it; SIZE_MAX none */
    double last_share;            /* share of the instances where it came last */
    uint64_t decade[ANA_DECADES]; /* calls by how long they took: ana_times_decades */
};

struct ana_rank_stat {
    size_t index;
    bool counted; /* see ana_rank; false: the rest is 0 and means nothing */
    bool serves;  /* a thread only serves requests of other ranks: its waits are not the rank's */
    uint64_t calls, sent, received, sent_messages, received_messages;
    int64_t wall_ns;                     /* without off_ns */
    int64_t off_ns;                      /* recording was switched off: activity unknown */
    int64_t seen_ns;                     /* analysed part of wall_ns */
    int64_t mpi_ns;                      /* time of the thread that spent most in MPI: for shares of wall_ns */
    int64_t mpi_sum_ns;                  /* sum of all threads */
    int64_t nccl_ns;                     /* calls of NCCL on the host, all threads together; not in mpi_* */
    int64_t category_ns[TRC_CATEGORIES]; /* sum to wall_ns */
    int64_t waiting_ns;                  /* time that this rank lost waiting for others; -1 unknown */
    int64_t caused_ns;                   /* others lost waiting for this rank; -1 unknown */
    int64_t charged_ns;         /* part of all waiting that is charged to its activity (causes.h); -1 unknown */
    uint64_t collectives;       /* instances it took part in with all its partners seen */
    uint64_t came_last;         /* of these */
    struct ana_account account; /* account of its elapsed time, if the summary has accounts */
    struct ana_account outside; /* part of it outside calls */
    struct ana_still still;     /* stillness in the whole run, in job time */
    double processor_known;     /* share of its time in which processor time was counted; NAN: no time */
};

/* Returns the base of a rank's shares of time: its run, or the time of all its threads in MPI if longer.  In ns. */
static inline int64_t ana_rank_time_ns(const struct ana_rank_stat *stat)
{
    return stat->wall_ns > stat->mpi_sum_ns ? stat->wall_ns : stat->mpi_sum_ns;
}

/* Returns the base of a rank's waiting share: the analysed part of its time, in ns. */
static inline int64_t ana_rank_seen_ns(const struct ana_rank_stat *stat)
{
    double part = stat->wall_ns > 0 ? (double)stat->seen_ns / (double)stat->wall_ns : 0;
    return part < 1 ? (int64_t)((double)ana_rank_time_ns(stat) * part) : ana_rank_time_ns(stat);
}

struct ana_pair {
    size_t source, destination; /* rank indices */
    uint64_t messages, bytes;
    double latency_min_ns, latency_p50_ns; /* send begun to receive complete; NAN unknown */
    double bandwidth;                      /* bytes/s while both ends were ready; NAN unknown */
    int64_t waited_ns;                     /* the receiver waited for sends that had not begun */
};

/* Messages of one size, seen at both ends. */
struct ana_size_stat {
    int size_class;
    uint64_t bytes;
    struct ana_times latency; /* send begun to receive complete */
    struct ana_times wait;    /* messages whose receiver waited in a call for the send to begin: wait time */
    double bandwidth;         /* bytes/s from when both ends had begun to the end of the receive; NAN unknown */
};

struct ana_wait {
    enum ana_wait_kind kind;
    size_t waiter, culprit; /* rank indices; ANA_ANY_RANK: sum over pairs beyond ANA_TALLY_WAITS */
    uint64_t count;
    int64_t lost_ns;
    double squares; /* sum over the waits, ns^2: lost_ns^2 / squares is their number, were all alike */
};

/* A place in the program that calls, on all ranks: a source line, or where that is not known module and offset. */
struct ana_site {
    const char *call;
    const char *function;        /* "main+0x4f" or NULL */
    const char *module;          /* "app+0x1234" or NULL */
    uint64_t address;            /* address in the process of rank `index` */
    const struct trc_path *path; /* path of a call there, in that process; NULL: only the place is known */
    size_t index;                /* rank that spends most time there */
    size_t ranks;                /* ranks that call there */
    struct ana_times times;      /* sum of all ranks; this and time_ns as in ana_call_stat */
    int64_t time_ns;
    uint64_t sent, received;
    const char *line;           /* "app.c:17" or NULL */
    int64_t open_ns;            /* part of time_ns in calls that have not ended */
    struct ana_account account; /* if the summary has accounts */
    uint64_t identity;          /* identity of call and place, as long as this process lives */
};

/* The calls of one kind of one rank on one call path, in one region (trace/summary/paths.h). */
struct ana_path_part {
    uint64_t site;               /* address or path, of that rank */
    uint32_t index, call;        /* call: job-wide */
    uint32_t around;             /* number of the region in the rank's file, + 1; 0: none */
    int64_t time_ns, waiting_ns; /* equal to ana_site's; waiting: 0 without accounts */
    uint64_t calls, sent;
};

/* Activity of threads outside MPI from one place that calls to the next: equal places on all ranks, in one region of
 * the program's own, are one segment.  Only its ranks in view count. */
struct ana_segment_stat {
    char region[64]; /* "": most of it lies in none */
    bool inside;     /* time inside local calls of a place: from and to are that */
    struct ana_segment_end from, to;
    uint64_t identity;          /* identity of region and places, as long as their names are */
    uint64_t times, long_times; /* long_times: part of `times`, if there are two kinds of work (trace/why/modes.h) */
    size_t ranks;               /* ranks that have it */
    int64_t total_ns;
    double median_ns, p99_ns; /* the median of its ranks' medians (of two the smaller); of all times */
    size_t worst_index;       /* the rank whose times cost most; where none do, that with the longest median */
    double worst_ns;          /* its median */
    double on_processor;      /* share of its time; NAN unknown */
    int64_t shortest_ns, longest_ns, longest_at_ns; /* durations; begin of the longest, in job time */
    size_t longest_index;
    int64_t cost_ns,
        direct_ns;      /* waiting of other ranks that it caused, causes.h; of it at the rank itself; -1 unknown */
    double *by_rank_ns; /* rank index -> median, of its long times if any; NAN: has none */
    int64_t *cost_by_rank_ns; /* rank index -> cost; also the next members */
    uint64_t *times_by_rank;  /* the times that by_rank_ns is the median of */
    uint64_t *waits_by_rank;
    double *squares_by_rank;                  /* sum over the waits that it cost, in ns^2, as in ana_wait */
    uint64_t spikes;                          /* worst rank: times that are SPIKE_TIMES its median, or more */
    double spikes_ns;                         /* sum of all spikes */
    struct ana_reason reason, longest_reason; /* reasons for the worst rank's longer time; for its longest one */
};
/* Writes "Waitall app.c:20 -> Allreduce :30", with the file once where it is the same; of a region "solve: Waitall ..";
 * "all others" for the row of several places. */
void ana_segment_words(const struct ana_segment_stat *segment, char *out, size_t size);
#define ANA_SEGMENT_ROWS 128u /* rows in a summary; segments that cost less, and take less time, share the last one */

/* A region of the program's own, by its name; all ranks in view.  An open one counts as if it ended now. */
struct ana_region_stat {
    char name[128];
    uint64_t times, left; /* entries with a time; `left`: further ones, that only ended because one around it did */
    size_t ranks;         /* ranks that were in it */
    int64_t total_ns, own_ns, mpi_ns; /* time with regions inside it, without them, and in calls (with them) */
    int64_t longest_ns;
    int64_t *by_rank_ns; /* rank index -> total; -1: has none */
    size_t worst_index;  /* the rank with the most */
    int64_t worst_ns;
    struct ana_account account; /* of its own time on main threads, if the summary has accounts */
};

struct ana_summary;
struct ana_outlier;
struct ana_file_stat;
struct ana_slow_message;
/* Time saved if one thing were mended (trace/cause/replay.h). */
struct ana_price {
    enum ana_price_kind {
        ANA_PRICE_SEGMENT,
        ANA_PRICE_TRANSFER, /* calls, by their activity .. */
        ANA_PRICE_COLLECTIVE,
        ANA_PRICE_IO,
        ANA_PRICE_LIBRARY, /* .. to here */
        ANA_PRICE_DEVICE,
        ANA_PRICE_PROCESSOR /* waiting for one, outside calls and inside */
    } kind;
    uint64_t identity;               /* identity of a segment, as in its row; else 0 */
    const char *file;                /* I/O: the only file of the job; NULL: several, or unknown */
    char region[64];                 /* region of a segment; "": none */
    struct ana_segment_end from, to; /* places; of calls both the same */
    uint32_t from_place, to_place;   /* numbers in trace/why */
    size_t *rank;                    /* ranks of a segment or a device: indices in order */
    size_t ranks;                    /* 0: of all */
    const size_t *after;             /* ranks of the same segment that are mended before; saves_ns is on top of that */
    size_t afters;                   /* number of these */
    bool siblings;                   /* segment of no other rank; price: as fast as other work after the same call */
    bool at_most;                    /* upper bound: price of no time at all; calls have such a price, too */
    bool alike;                      /* no rank is worse than the others: it moves from one to the next */
    int64_t path_ns;                 /* part of the critical path; -1: unknown, of a device, of processors */
    struct ana_reason reason;        /* reason for the worst rank's longer time in a segment */
    /* Saved elapsed time.  Segment: as fast on its ranks as on the others; alike ranks: at most ana_cost.longest_ns.
     * Calls: upper bound, without their time.  Processors: estimate, one for each rank. */
    int64_t saves_ns;
};
/* Returns the price of a segment of a rank; of time inside calls, the price of all these calls.  NULL: it is not known,
 * or all ranks are alike. */
const struct ana_price *ana_price_of(const struct ana_summary *s, const struct ana_segment_stat *segment,
                                     size_t rank_index);
/* Returns the file on which most of the time in I/O is spent; NULL: several have a part in it, or its name is
 * unknown. */
const char *ana_main_file(const struct ana_summary *s);

/* Writes whose it is and where: "rank 5, Waitall app.c:20 -> Allreduce :30"; of calls "MPI_Alltoall at app.c:40". */
void ana_price_words(const struct ana_job *job, const struct ana_price *price, char *out, size_t size);

/* Writes "as fast as the others saves 18.3 s of 61 s". */
void ana_price_saving(const struct ana_summary *summary, const struct ana_price *price, char *out, size_t size);

/* Activity of a node's network while the job ran, seen by its ranks from their MPI_Init on; of the whole run only. */
struct ana_network {
    const char *host;
    uint64_t retransmits;    /* TCP segments sent again */
    uint64_t sent, received; /* bytes on all links */
    uint64_t errors, waits;  /* packets damaged or dropped; ticks in which a port of InfiniBand had to wait */
};

/* POP efficiencies, 0..1, NAN unknown: parallel = load_balance x communication x processor (left out if unknown),
 * communication = serialisation x transfer, transfer = run time with an ideal network / run time, by replay.
 * load balance = mean(useful) / max(useful), communication = max(useful) / wall, useful = time outside MPI,
 * processor = of that, the share on a processor.
 * Source: POP Centre of Excellence, "POP Standard Metrics for Parallel Performance Analysis". */
struct ana_efficiency {
    double parallel, load_balance, communication, serialisation, transfer, processor;
};

struct ana_summary {
    struct ana_selection selection;
    bool exact;               /* counts and bytes are of the counters: complete whatever was recycled */
    bool counters_only;       /* no event was read yet: waits, accounts, sites and segments are unknown, not absent */
    double analysed;          /* share of the events seen by waits, skews, sites and latencies, 0..1 */
    int64_t begin_ns, end_ns; /* bounds of the selection, clipped to the job */
    uint64_t cut_calls; /* time range: calls that begin before it or end after it; only their part in it is time */
    size_t rank_count;
    struct ana_rank_stat *ranks;
    bool has_accounts;                  /* not with a filter, nor where waits are not kept any more */
    struct ana_account account;         /* sum over all ranks in view */
    struct ana_account outside_calls;   /* part of `account` that is not in `sites` */
    struct ana_account outside_regions; /* part of it that is not in `regions` */
    size_t call_count;                  /* sorted by time, largest first; sums over all sizes */
    struct ana_call_stat *calls;
    size_t cell_count; /* call x size class, grouped by call in the order of `calls`, sizes ascending */
    struct ana_call_stat *cells;
    size_t pair_count; /* sorted by source, then destination */
    struct ana_pair *pairs;
    size_t size_count; /* sizes ascending */
    struct ana_size_stat *sizes;
    size_t outlier_count; /* see outlier.h; of a part of the run: sorted by cost, the worst first */
    struct ana_outlier *outliers;
    size_t slow_count; /* the slowest messages of it, slowest first */
    struct ana_slow_message *slow;
    uint64_t call_overflow;  /* calls in the ranks' totals only: a thread made more kinds than it has rows for */
    uint64_t pair_overflow;  /* messages whose partner is not known */
    size_t collective_count; /* sorted by lost_ns */
    struct ana_collective *collectives;
    size_t file_count; /* files.h: used by MPI-IO; sorted by time */
    struct ana_file_stat *files;
    size_t wait_count; /* sorted by lost_ns */
    struct ana_wait *waits;
    size_t site_count; /* sorted by time */
    struct ana_site *sites;
    struct ana_path_part *path_parts; /* parts of `sites`, each of one rank and one path */
    size_t path_part_count;
    size_t segment_count; /* sorted by cost, then by how much longer than its median it took, then by time */
    struct ana_segment_stat *segments;
    void *segment_block[5]; /* memory that they point to; for ana_summary_free */
    size_t region_count;    /* sorted by time */
    struct ana_region_stat *regions;
    int64_t *region_block;                   /* memory that they point to */
    uint64_t region_unmatched;               /* ends of regions that were not open */
    int64_t cost_inside_ns, cost_unknown_ns; /* waiting that time inside calls caused; that nothing known did */
    size_t price_count;                      /* whole run only; sorted by saved time */
    struct ana_price *prices;
    size_t *price_ranks;              /* memory that they point to */
    int64_t path_ns, path_unknown_ns; /* length of the critical path, and of its unknown part; -1: none */
    struct ana_iterations iterations;
    size_t network_count; /* hosts, in order of their first rank */
    struct ana_network *networks;
    struct ana_efficiency efficiency;
    uint64_t unmatched_sends, unmatched_receives;
    uint64_t uncertain_messages;      /* ends that could not be paired for sure: records before them are gone */
    struct ana_times message_latency; /* send begun to receive complete */
    uint64_t clock_violations;        /* messages that arrive before they leave: the clocks' error, not physics */
};

/* Fills *out for a selection.  All time and all ranks: from the counters (exact), joined with what ana_job_advance has
 * seen.  Otherwise from the events of the range: call it again while out->analysed < 1 after ana_job_advance.  TRC_BAD
 * only when out of memory.  Free with ana_summary_free. */
enum trc_status ana_summarize(struct ana_job *job, struct ana_selection selection, struct ana_summary *out);
/* Reads all events that there are now, and fills *out for a selection, as ana_summarize does when nothing is
 * left to read.  Costs and prices of a time: ana_job_set_window (window.h) comes first.  TRC_BAD: out of memory. */
enum trc_status ana_summarize_all(struct ana_job *job, struct ana_selection selection, struct ana_summary *out);
/* Fills *out for the whole run from live pages alone: ranks, calls, cells, pairs, and the efficiencies that need no
 * events; out->analysed is 0.  O(threads); no event is read and no upper folder is called.  TRC_BAD only when out of
 * memory.  Free with ana_summary_free. */
enum trc_status ana_summarize_counters(struct ana_job *job, struct ana_summary *out);
/* Frees what a summary has; the struct is the caller's. */
void ana_summary_free(struct ana_summary *summary);
