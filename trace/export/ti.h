/* Time-independent actions of SimGrid, changed or as they were, and the network that they are replayed on. */
#ifndef ANA_TI_H
#define ANA_TI_H

#include "trace/job/job.h"

/* What is changed in the format `ti`, and what is told of it. */
struct ana_ti {
    const uint8_t *level; /* by rank index: 1, its work between two calls takes no longer than that of the others there;
                             NULL: all as it was */
    unsigned copies;      /* 2 or more: as many ranks for each, which do what it does, with neighbours of their own */
    /* Told: */
    int64_t begin_ns, end_ns; /* from the first that left MPI_Init to the last that came to MPI_Finalize, in job time */
    size_t ranks;             /* that are in it */
    uint64_t left_out;        /* messages and collectives without an action: partners or kinds that are not known */
};

#define ANA_TI_CLASSES 40
/* What messages take, by the time from when both sides had begun to the end: latency and bytes * ns_per_byte *
 * slower. */
struct ana_ti_network {
    double latency_ns, ns_per_byte;
    size_t classes;
    struct ana_ti_class {
        uint64_t from; /* bytes */
        double slower; /* than ns_per_byte */
    } size[ANA_TI_CLASSES];
    uint64_t messages; /* that this was measured by; 0: it is a guess */
};

/* Measures it by the messages of the whole job whose receiver was waiting, in the median of each size; else by
 * collectives of no size.  False: out of memory. */
bool ana_ti_measure(struct ana_job *job, struct ana_ti_network *out);
/* Writes SimGrid's description of so many hosts r0, r1 .. and the network, `faster` times as fast.  False: errno. */
bool ana_ti_platform(const struct ana_ti_network *network, double faster, size_t hosts, const char *path);
/* Writes the options of SimGrid's that belong to it, with a line's end behind each. */
void ana_ti_options(const struct ana_ti_network *network, char *out, size_t size);

#endif
