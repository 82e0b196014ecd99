/* Sums over calls of MPI-IO, by file and rank.  One thread at a time. */
#pragma once

#include "trace/members/members.h"
#include "trace/relations/relations.h"
#include "trace/util/hash_map.h"

#define ANA_ACCESS_SUMS  16384u /* files of one rank each, beyond which all share a sum without a name */
#define ANA_ACCESS_SIZES 65u    /* trc_size_class() gives no more */

/* Activity of one rank on one file. */
struct ana_access_sum {
    const char *name; /* name at opening; NULL: not known, or several files */
    size_t index;     /* rank index */
    uint64_t opens;
    struct ana_access_way {
        uint64_t calls, bytes;
        int64_t ns;     /* time in calls that return after the access, as far as it lies in the range */
        uint64_t begun; /* part of `calls`: nonblocking ones, their time is not in ns */
        uint64_t size[ANA_ACCESS_SIZES]; /* calls by size class */
    } read, write;
    int64_t other_ns; /* time opening, closing, asking, and beginning nonblocking accesses */
};

struct ana_accesses {
    struct ana_map of; /* struct ana_access_sum by hash of the name, rank index */
    bool out_of_memory;
};

/* No sums. */
void ana_accesses_init(struct ana_accesses *accesses);
/* Frees them; the struct is the caller's. */
void ana_accesses_free(struct ana_accesses *accesses);

/* Adds an event of a call of MPI-IO; its part of time in [begin_ns, end_ns), and the call if it ends there. */
void ana_accesses_event(const struct ana_members *members, struct ana_accesses *accesses, const struct ana_event *event,
                        int64_t begin_ns, int64_t end_ns);
