/* A row of a summary's collectives. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A collective on a communicator, called in one place: by source line where that is known. */
struct ana_collective {
    const char *name;
    char place[80];    /* place of its first rank, see ana_segment_end; "": unknown */
    uint64_t identity; /* identity of call and place, see ana_site.identity; 0: unknown */
    uint64_t comm_identity;
    const char *comm_name;                        /* "WORLD", "SELF", as named, or "#n of size k" */
    uint64_t instances;                           /* complete ones */
    uint64_t incomplete;                          /* someone's record is missing (or still to come) */
    double skew_p50_ns, skew_p99_ns, skew_max_ns; /* last arrival - first arrival */
    int64_t lost_ns;   /* waited for the last, summed over ranks; -1 unknown: NCCL's are only put on a stream */
    size_t last_index; /* rank that came last most often */
    double last_share;
    size_t places;        /* places of this call on this communicator with complete instances */
    int64_t call_lost_ns; /* loss in all `places`; 0 unknown */
};
