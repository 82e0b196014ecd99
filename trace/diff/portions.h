/* Time of each rank by activity, iteration by iteration: for comparing runs (trace/diff).
 *
 * A *portion* of a rank is its activity between two places that call (a segment), or in the calls of one place, or its
 * whole iterations; each by the innermost region of the program's own.  It has its time in each iteration, which shows
 * how much it varies.  Found in a pass of its own over the events, once the loop is known.
 *
 * A rank that does not call where iterations end has those of another rank, by time.
 *
 * Memory is bounded: ANA_PORTION_BLOCKS times a portion, fewer where there are many ranks.  When there are more
 * iterations, neighbours are joined: a block has `width` iterations. */
#pragma once

#include "trace/summary/summary.h"
#include "trace/why/regions.h"
#include "trace/util/hash_map.h"

#define ANA_PORTION_BLOCKS 1024u
#define ANA_PORTIONS_ALL   (1u << 18) /* times that one portion of each rank may have together */

/* A place in the program that calls, by names that outlive a change of the program. */
struct ana_portion_place {
    const char *call;          /* NULL: the place goes by another number */
    const char *function;      /* "main+0x4f" or NULL; lives as long as the job */
    const char *module;        /* "app+0x1234" or NULL; lives as long as the job */
    struct ana_segment_end at; /* names on screens */
};

/* Fills *out, an array of *n places for the caller to free: place p of a portion is (*out)[p - 1].  The events must
 * have been read to their end.  False: out of memory. */
bool ana_portion_places(const struct ana_job *job, struct ana_portion_place **out, size_t *n);

/* Whole iterations; their parts by place; processor time of the rank's main thread: all of it, and outside calls at
 * most and at least (polling inside calls uses a processor, too). */
enum ana_portion_kind {
    ANA_PORTION_SEGMENT,
    ANA_PORTION_CALL,
    ANA_PORTION_ITERATION,
    ANA_PORTION_OUTSIDE, /* elapsed time outside calls */
    ANA_PORTION_CPU,
    ANA_PORTION_CPU_MOST,
    ANA_PORTION_CPU_LEAST,
};

struct ana_portion {
    enum ana_portion_kind kind;
    uint32_t index, region; /* the rank; number of the region, + 1, 0: in none */
    uint32_t from, to;      /* places; of calls both the same; 0: of the whole iteration */
    double total_ns;        /* sum, including time in no iteration */
    uint32_t blocks, room;  /* times, and room for them; blocks after them have 0 */
    struct ana_portion_time {
        float sum, first; /* time of a block's iterations, the last may be incomplete; time of its first iteration */
    } * ns;
};

struct ana_portions {
    size_t ranks;
    uint32_t width, room; /* iterations of a block; blocks that a portion may have */
    struct ana_portion_rank {
        uint64_t iterations;                         /* iterations seen to begin and to end */
        int64_t begin_ns, first_ns, last_ns, end_ns; /* rank's time; begin of its first, end of its last iteration */
        double covered_ns, cpu_ns, queued_ns;        /* main thread: counted by the kernel; part of it: on a processor,
                                                 ready to run without one */
    } * rank;
    struct ana_map portion;         /* struct ana_portion */
    struct ana_region_name *region; /* region number, from 0 -> name */
    size_t regions;
};

/* Calls that end the iterations of a job. */
struct ana_portion_end {
    uint32_t place;                        /* number of the place, as above; 0: there is no loop */
    const struct ana_iteration_mark *mark; /* index: rank; the calls there that end one; NULL: all */
};
/* Reads the events of a selection again and fills *out.  False: out of memory.  Free with ana_portions_free either
 * way. */
bool ana_portions_read(struct ana_job *job, struct ana_selection selection, struct ana_portion_end end,
                       struct ana_portions *out);
/* Frees them; the struct is the caller's. */
void ana_portions_free(struct ana_portions *portions);
