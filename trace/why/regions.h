/* Regions of the program's own: how often and how long each rank is in each, with and without inner regions, and how
 * much of it inside calls; and the region between two calls.  Fed with the items of regions and with all calls, in one
 * pass.
 *
 * Items that do not fit are reported, not guessed: a region that ended only because one around it did counts in
 * `left`, without its time; an end of a region that was not open counts in `unmatched`.  A region that is open where
 * records are missing counts from there on.  Time counts once for a region inside another of its name.  One thread at
 * a time. */
#pragma once

#include "trace/format/format_items.h"
#include "trace/reader/reader.h"
#include "trace/relations/relations.h"
#include "trace/util/hash_map.h"
#include "trace/util/archive.h"

/* A region of one rank. */
struct ana_region {
    uint32_t index, id; /* the rank, and its number in that rank's file */
    uint64_t count, left;
    int64_t total_ns, own_ns, mpi_ns; /* time with inner regions; without; in calls, with inner regions */
    int64_t longest_ns;
    int64_t main_ns; /* part of own_ns of the main thread */
};

#define ANA_REGION_NAME 64u
struct ana_region_name {
    char text[ANA_REGION_NAME];
};

struct ana_region_thread; /* the regions that a thread is in */

struct ana_regions {
    size_t ranks;
    struct trc_file *const *file; /* file of each rank; the caller's, as long as this */
    struct ana_map names;         /* struct ana_region_name by hash of the name: their number is their place */
    struct ana_region_rank {
        struct ana_region_thread **thread;
        uint32_t threads;
    } * rank;
    struct ana_map sums; /* struct ana_region by index, id */
    bool any;            /* a region was seen: else calls need not be added */
    bool out_of_memory;  /* something is missing */
    int64_t from_ns;     /* begin of the time that counts */
    uint64_t unmatched;
};

/* Empty sums of a job of `ranks` ranks with these files; time counts from `from_ns` on.  False: out of memory. */
bool ana_regions_init(struct ana_regions *regions, struct trc_file *const *file, size_t ranks, int64_t from_ns);
/* Frees them; the struct is the caller's.  Zeros are allowed. */
void ana_regions_free(struct ana_regions *regions);

/* Adds an item of a region, or a loss, in the order of its thread. */
void ana_regions_item(struct ana_regions *regions, const struct ana_event *event);
/* Adds a call that counts, in the order of its thread; needed once `any` is set.  Returns the number of the region
 * that the thread was in for most of the time since its call before, by name and so for all ranks; 0: none. */
uint32_t ana_regions_call(struct ana_regions *regions, const struct ana_event *event);
/* Returns the number, in its rank's file, of the innermost region around a thread's next event, + 1; 0: none. */
uint32_t ana_regions_around(const struct ana_regions *regions, size_t index, uint32_t thread);
/* The name of a region by its number, cut to ANA_REGION_NAME - 1 bytes; "" for 0.  Valid as long as the sums. */
const char *ana_regions_name(const struct ana_regions *regions, uint32_t number);

/* Writes into `out` (freed by the caller with ana_map_free) the sums as if all that is open ended at `until_ns`.
 * False: out of memory. */
bool ana_regions_sum(const struct ana_regions *regions, int64_t until_ns, struct ana_map *out);

/* Saves the sums as if all that is open ended at `until_ns`, or loads such sums into empty ones. */
void ana_regions_archive(struct ana_archive *archive, struct ana_regions *regions, int64_t until_ns);
