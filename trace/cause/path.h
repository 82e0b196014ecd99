/* The critical path: the chain of segments and calls that the run time consists of.
 *
 * The path is followed back from the end of the run as from a wait (backtrace.h): through the work of the rank, and
 * where it had waited, on at the rank that it had waited for.  Each instant has one place on the path, so its length is
 * the run time.
 *
 * All ranks' ways back meet somewhere: everything before that point is on the path, whatever comes.  Every now and then
 * this part is added up, and its steps are no longer needed.  Ranks that do not meet within the steps that are kept
 * have the path cut: before the cut it is the path of the rank which came last there. */
#pragma once

#include "trace/cause/causes.h"

/* Parts of the path, in ns. */
struct ana_path_sums {
    int64_t *segment, *place; /* indexed by number - 1: segments, places of calls */
    size_t segments, places;
    int64_t ends_ns;    /* before a rank's first call, and after its last */
    int64_t unknown_ns; /* calls of unknown place, missing events, and disagreement of clocks */
    int64_t begin_ns;   /* begin of the path; INT64_MAX: none yet */
};

struct ana_path {
    struct ana_path_sums sums; /* sums of all before root_ns */
    int64_t root_ns;           /* begin of the step that all ways lead through; INT64_MIN: none yet */
    uint32_t round;            /* number of the search for the meeting point */
    uint64_t cuts;             /* number of cuts: ways did not meet before they had to */
    uint32_t *begin;           /* last step of each rank at the round before; ways of this round begin there */
    uint32_t *cut;             /* last step of each rank that had ended by root_ns */
};

/* An empty path of `ranks` ranks; NULL: out of memory. */
struct ana_path *ana_path_new(size_t ranks);
/* Frees it; NULL is none. */
void ana_path_free(struct ana_path *path);

/* Adds up the part of the path that is certain.  Called from time to time: when a rank has made a quarter of the steps
 * that are kept. */
void ana_path_round(struct ana_causes *causes);

/* Position of a rank, for the end of the path. */
struct ana_path_end {
    int64_t inside_ns; /* begin of a call that has not ended; INT64_MIN: none */
    bool over;         /* it has ended in order */
};
/* Writes the whole path of the time from `begin_ns` to `end_ns`, as far as it is known, into `out`, which is to be
 * freed.  False: out of memory. */
bool ana_path_decode(struct ana_causes *causes, const struct ana_path_end *end, int64_t begin_ns, int64_t end_ns,
                     struct ana_path_sums *out);
/* All of it, in ns. */
int64_t ana_path_length(const struct ana_path_sums *sums);
/* Frees what the sums have. */
void ana_path_sums_free(struct ana_path_sums *sums);
