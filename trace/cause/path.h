/* The critical path: the chain of segments and calls that the run time consists of.
 *
 * From the end of the run one goes back as from a wait (way.h): through what the rank did, and where it had waited, on
 * at the rank that it had waited for.  Each instant has one place on the path, so its length is the run time.
 *
 * All ranks' ways back meet somewhere: what lies before that is on the path whatever comes.  So every now and then it
 * is added up, and the steps of that time are no longer needed.  Ranks that do not meet within the steps that are kept
 * have the path cut: before the cut it is that of the rank which came last there. */
#ifndef ANA_PATH_H
#define ANA_PATH_H

#include "trace/cause/causes.h"

/* What the path is made of, in ns. */
struct ana_path_sums {
    int64_t *segment, *place; /* by their number, - 1: of segments, of calls made at a place */
    size_t segments, places;
    int64_t ends_ns;    /* before a rank's first call, and after its last */
    int64_t unknown_ns; /* in calls of unknown place, where events are missing, and what clocks disagree by */
    int64_t begin_ns;   /* where it begins; INT64_MAX: nowhere yet */
};

struct ana_path {
    struct ana_path_sums sums; /* of all before root_ns */
    int64_t root_ns;           /* begin of the step that all ways lead through; INT64_MIN: none yet */
    uint32_t round;            /* of looking for where they meet */
    uint64_t cuts;             /* how often they did not, until they had to */
    uint32_t *begin;           /* by rank: its last step when the round before was made; ways of this one begin there */
    uint32_t *cut;             /* by rank: its last step that had ended by root_ns */
};

/* An empty path of `ranks` ranks; NULL: out of memory. */
struct ana_path *ana_path_new(size_t ranks);
/* Frees it; NULL is none. */
void ana_path_free(struct ana_path *path);

/* Adds up what is certain by now.  From time to time: when a rank has made a quarter of the steps that are kept. */
void ana_path_round(struct ana_causes *causes);

/* Where a rank is, for the end of the path. */
struct ana_path_end {
    int64_t inside_ns; /* since when it is in a call that has not ended; INT64_MIN: in none */
    bool over;         /* it has ended in order */
};
/* Writes the whole path of the time from `begin_ns` to `end_ns`, as far as it is known, into `out`, which is to be
 * freed.  False: out of memory. */
bool ana_path_take(struct ana_causes *causes, const struct ana_path_end *end, int64_t begin_ns, int64_t end_ns,
                   struct ana_path_sums *out);
/* All of it, in ns. */
int64_t ana_path_length(const struct ana_path_sums *sums);
/* Frees what the sums have. */
void ana_path_sums_free(struct ana_path_sums *sums);

#endif
