/* Unions of time spans of a few kinds, and how long each combination of kinds lasted: what of a GPU's communication
 * lies behind computation.  Spans may come in any order.  Memory is bounded: when there are too many, the older half is
 * summed up, and spans that come later for that time do not count. */
#pragma once

#include "trace/util/archive.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ana_span {
    int64_t begin_ns, end_ns;
};
/* Returns how long two spans overlap, in ns; 0 if they do not. */
static inline int64_t ana_span_overlap(struct ana_span a, struct ana_span b)
{
    int64_t from = a.begin_ns > b.begin_ns ? a.begin_ns : b.begin_ns, to = a.end_ns < b.end_ns ? a.end_ns : b.end_ns;
    return to > from ? to - from : 0;
}
struct ana_spans { /* apart from each other, in order */
    struct ana_span *span;
    size_t count, room;
};

enum ana_gpu_kind { ANA_GPU_COMPUTE, ANA_GPU_COMMUNICATION, ANA_GPU_COPY, ANA_GPU_KINDS };
#define ANA_GPU_MIXES (1u << ANA_GPU_KINDS) /* bit k: something of kind k ran */

struct ana_mix { /* zeros, and `max`, are an empty one */
    struct ana_spans of[ANA_GPU_KINDS];
    size_t max;   /* spans of one kind that are kept; at least 4 */
    bool settled; /* time before settled_ns is in `sum` */
    int64_t settled_ns;
    int64_t sum[ANA_GPU_MIXES];
};

/* Adds [begin_ns, end_ns) to one kind; an empty span adds nothing.  False: out of memory, nothing was added. */
bool ana_mix_add(struct ana_mix *mix, enum ana_gpu_kind kind, int64_t begin_ns, int64_t end_ns);
/* Sums up how long each combination of kinds lasted, in ns; ns[0] stays 0. */
void ana_mix_sum(const struct ana_mix *mix, int64_t ns[ANA_GPU_MIXES]);
/* Saves a mix, or loads one into an empty one. */
void ana_mix_archive(struct ana_archive *archive, struct ana_mix *mix);
/* Frees the spans; the struct is the caller's. */
void ana_mix_free(struct ana_mix *mix);
