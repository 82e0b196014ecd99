/* A job that is made up: 4 or more ranks with known numbers, behind tui/sources/source.h.  What the views show of it
 * depends on nothing else, so screens can be compared with files. */
#ifndef TESTS_FIXTURE_JOB_H
#define TESTS_FIXTURE_JOB_H

#include "tui/sources/source.h"

struct fixture {
    size_t ranks;
    bool running;
    bool hung;    /* rank 3 never comes to a collective; the others wait for it */
    bool horovod; /* it has a Horovod loop (fixture_horovod.c) */
    bool gpu;     /* it uses NCCL and GPUs (fixture_gpu.c) */
    bool unknown; /* numbers that may be unknown are */
    int64_t elapsed_ns;
    double analysed;
    int refreshes, advances, summaries; /* how often it was asked */
    struct ana_selection asked;         /* the last selection; its ranks are the app's */
    struct ana_rank rank;
};

/* Fills `fixture` with a finished job of `ranks` ranks; the source borrows it. */
struct tui_source fixture_source(struct fixture *fixture, size_t ranks);

/* The fixture's Horovod, no loop unless `horovod`; one at a time. */
const struct ana_hvd *fixture_horovod(const struct fixture *fixture);

/* The fixture's GPUs, none unless `gpu`; where it is `unknown`, without the times of kernels. */
bool fixture_gpu(const struct fixture *fixture, struct ana_selection selection, struct ana_gpu_look *out);
void fixture_stream_timeline(const struct fixture *fixture, size_t i, int64_t begin_ns, int64_t end_ns, size_t n,
                             struct ana_timeline_cell *out);

#endif
