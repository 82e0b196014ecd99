/* Operation classes (opclass.def) as an enum, with their categories and shapes. */
#ifndef TRC_OPCLASS_H
#define TRC_OPCLASS_H

enum trc_opclass {
#define OPCLASS(id, text, category, shape) TRC_OP_##id,
#include "trace/format/opclass.def"
#undef OPCLASS
    TRC_OPCLASSES
};

/* What a span of time was spent on: the colours of the timeline and the sums of the report. */
enum trc_category {
    TRC_CAT_COMPUTE, /* outside MPI and NCCL */
    TRC_CAT_P2P,     /* point to point */
    TRC_CAT_WAIT,    /* completion calls */
    TRC_CAT_COLLECTIVE,
    TRC_CAT_RMA,
    TRC_CAT_IO,
    TRC_CAT_MANAGE, /* everything else in MPI */
    TRC_CAT_NCCL,   /* in calls of NCCL on the host; of a stream, in its kernels */
    TRC_CAT_KERNEL, /* on a stream: kernels that are not NCCL's */
    TRC_CAT_COPY,   /* on a stream: copies */
    TRC_CATEGORIES
};

/* Whom the participants of one collective have to wait for. */
enum trc_shape {
    TRC_SHAPE_NONE,
    TRC_SHAPE_ALL,       /* all for the last to come */
    TRC_SHAPE_FROM_ROOT, /* all for the root */
    TRC_SHAPE_TO_ROOT,   /* the root for the last to come */
    TRC_SHAPE_PREFIX,    /* rank r for the last of 0..r */
    TRC_SHAPE_NEIGHBORS  /* each for its neighbours: not known which, so no waiting is computed */
};

#endif
