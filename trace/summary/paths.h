/* Call paths of all ranks as one tree: the program's regions, in them the functions from the outermost caller on, and
 * at its ends the calls.  Made when somebody looks at it. */
#pragma once

#include "trace/summary/summary.h"

struct ana_path_node {
    char name[120];              /* "solve", "step", "MPI_Allreduce app.c:17" */
    uint32_t parent;             /* a smaller number; UINT32_MAX: none */
    uint32_t level;              /* 0: it has no parent */
    bool is_region, is_call;     /* else it is a function */
    bool has_parts;              /* it has nodes below it */
    size_t index;                /* rank that calls here; the first one that was seen */
    uint64_t identity;           /* hash of the names from the top to here */
    int64_t time_ns, waiting_ns; /* sums over all calls below, all ranks in view */
    uint64_t calls, sent;
};

struct ana_paths {
    struct ana_path_node *node;
    size_t count;
    uint32_t *leaf; /* node of each of the summary's path_parts */
};

/* Makes the tree of a summary; free it with ana_paths_free.  False: out of memory, and it is empty. */
bool ana_paths_make(const struct ana_job *job, const struct ana_summary *summary, struct ana_paths *out);
/* Frees what the tree has, and empties it. */
void ana_paths_free(struct ana_paths *paths);

/* Numbers of a node that have a part on each rank. */
enum ana_path_measure { ANA_PATH_TIME, ANA_PATH_WAITING, ANA_PATH_CALLS, ANA_PATH_SENT, ANA_PATH_MEASURES };
/* Writes a measure of a node by rank index, NAN for ranks without a call there. */
void ana_path_by_rank(const struct ana_summary *summary, const struct ana_paths *paths, size_t node,
                      enum ana_path_measure measure, double *out, size_t ranks);
