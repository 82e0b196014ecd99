/* Operation classes (opclass.def) as an enum, and the facts about each: no other file lists classes for a fact. */
#pragma once

#include <stdbool.h>

enum trc_opclass {
#define OPCLASS(id, ...) TRC_OP_##id,
#include "trace/format/opclass.def"
#undef OPCLASS
    TRC_OPCLASSES
};

/* A call: in the recorder's table, and as a file defines it (TRC_DEF_CALL). */
struct trc_call {
    const char *name; /* "MPI_Send"; NULL: no call has this number; read: lives as long as the file */
    enum trc_opclass opclass;
};

/* Uses of a span of time: the colours of the timeline and the sums of the report. */
enum trc_category {
    TRC_CAT_COMPUTE, /* outside MPI and NCCL */
    TRC_CAT_P2P,     /* point to point */
    TRC_CAT_WAIT,    /* completion calls */
    TRC_CAT_COLLECTIVE,
    TRC_CAT_RMA,
    TRC_CAT_IO,
    TRC_CAT_MANAGE, /* everything else in MPI */
    TRC_CAT_NCCL,   /* calls of NCCL on the host; of a stream, its kernels */
    TRC_CAT_KERNEL, /* kernels on a stream that are not NCCL's */
    TRC_CAT_COPY,   /* copies on a stream */
    TRC_CATEGORIES
};

/* Whether a class is a collective, as a constant: TRC_COLLECTIVE_BARRIER .. */
enum {
#define OPCLASS(id, text, category, ...) TRC_COLLECTIVE_##id = TRC_CAT_##category == TRC_CAT_COLLECTIVE,
#include "trace/format/opclass.def"
#undef OPCLASS
};

/* Participants of one collective that the others have to wait for. */
enum trc_shape {
    TRC_SHAPE_NONE,
    TRC_SHAPE_ALL,       /* all for the last to come */
    TRC_SHAPE_FROM_ROOT, /* all for the root */
    TRC_SHAPE_TO_ROOT,   /* the root for the last to come */
    TRC_SHAPE_PREFIX,    /* rank r for the last of 0..r */
    TRC_SHAPE_NEIGHBORS  /* each for the neighbours that it gets from (TRC_DEF_NEIGHBORS) */
};

/* Bytes of a collective that are equal on all its ranks, unless the program is wrong. */
enum trc_agreed {
    TRC_AGREED_NOTHING,
    TRC_AGREED_SENT,
    TRC_AGREED_RECEIVED,
    TRC_AGREED_LARGER,    /* the larger of both: the root sends what the others receive */
    TRC_AGREED_SENT_EACH, /* bytes sent, unless each rank has a count of its own (MPI_Gatherv) */
    TRC_AGREED_RECV_EACH  /* bytes received, unless each rank has a count of its own */
};

/* Further facts about a class; the words of its column `facts`. */
#define TRC_FACTS(FACT)                                                                                                \
    FACT(WAITS)    /* a call moves data, or may wait: for a rank or for a file system */                               \
    FACT(LOCAL)    /* it concerns this process alone: that it ended is no sign of progress */                          \
    FACT(EDGE)     /* it starts or ends MPI: long in any job */                                                        \
    FACT(POLLS)    /* it asks and returns: programs call it in loops */                                                \
    FACT(LATE)     /* late senders and receivers are found in its calls */                                             \
    FACT(RECEIVES) /* it may end a receive */                                                                          \
    FACT(SYNC)     /* message is complete no earlier than it is received */                                            \
    FACT(SCALAR)   /* numbers or handles among a call's arguments decide its effect */                                 \
    FACT(CREATES)  /* it makes communicators, windows or files */                                                      \
    FACT(ENQUEUES) /* it returns when its work is on a stream */

enum trc_fact_number {
#define FACT(id) TRC_FACT_NUMBER_##id,
    TRC_FACTS(FACT)
#undef FACT
};
enum trc_fact {
#define FACT(id) TRC_FACT_##id = 1 << TRC_FACT_NUMBER_##id,
    TRC_FACTS(FACT)
#undef FACT
};

struct trc_opclass_row {
    const char *text;
    unsigned char category, shape, agreed;
    unsigned short facts; /* enum trc_fact, or'ed */
};
extern const struct trc_opclass_row trc_opclass_table[TRC_OPCLASSES];

#define TRC_CALLS_MAX 16384u /* ids of calls are below */

/* Returns the row of a class, in constant memory; the row of TRC_OP_OTHER for a number that is no class. */
static inline const struct trc_opclass_row *trc_opclass_row(enum trc_opclass opclass)
{
    return &trc_opclass_table[(unsigned)opclass < TRC_OPCLASSES ? opclass : TRC_OP_OTHER];
}

/* Returns its name: one lower-case word, "other" for a number that is no class. */
static inline const char *trc_opclass_text(enum trc_opclass opclass)
{
    return trc_opclass_row(opclass)->text;
}

/* Returns the category of time inside its calls. */
static inline enum trc_category trc_opclass_category(enum trc_opclass opclass)
{
    return (enum trc_category)trc_opclass_row(opclass)->category;
}

/* Returns the ranks that such a collective waits for; TRC_SHAPE_NONE for a class that is no collective. */
static inline enum trc_shape trc_opclass_shape(enum trc_opclass opclass)
{
    return (enum trc_shape)trc_opclass_row(opclass)->shape;
}

/* Returns the bytes of such a collective that all ranks must agree on. */
static inline enum trc_agreed trc_opclass_agreed(enum trc_opclass opclass)
{
    return (enum trc_agreed)trc_opclass_row(opclass)->agreed;
}

/* Does this fact hold for the class? */
static inline bool trc_opclass_is(enum trc_opclass opclass, enum trc_fact fact)
{
    return trc_opclass_row(opclass)->facts & fact;
}

/* A collective in which one rank has another part than all others. */
static inline bool trc_opclass_is_rooted(enum trc_opclass opclass)
{
    enum trc_shape shape = trc_opclass_shape(opclass);
    return shape == TRC_SHAPE_FROM_ROOT || shape == TRC_SHAPE_TO_ROOT;
}

/* Probe and Mprobe: they wait for a message that another call receives. */
static inline bool trc_opclass_is_probe(enum trc_opclass opclass)
{
    return trc_opclass_is(opclass, TRC_FACT_POLLS) && trc_opclass_category(opclass) == TRC_CAT_P2P;
}

/* It waits for few ranks of a window, unlike a fence. */
static inline bool trc_opclass_is_one_sided(enum trc_opclass opclass)
{
    return trc_opclass_category(opclass) == TRC_CAT_RMA && trc_opclass_shape(opclass) == TRC_SHAPE_NONE;
}

/* Returns whether its signatures' object is a TRC_DEF_DATA. */
static inline bool trc_opclass_moves_data(enum trc_opclass opclass)
{
    enum trc_category category = trc_opclass_category(opclass);
    return category == TRC_CAT_P2P || category == TRC_CAT_COLLECTIVE;
}

/* It ran on a stream of a GPU: no call of the program's. */
static inline bool trc_opclass_is_device(enum trc_opclass opclass)
{
    enum trc_category category = trc_opclass_category(opclass);
    return category == TRC_CAT_KERNEL || category == TRC_CAT_COPY;
}

/* Wait states (a late sender, a late rank of a collective) are found in calls of it. */
static inline bool trc_opclass_has_wait_states(enum trc_opclass opclass)
{
    enum trc_shape shape = trc_opclass_shape(opclass);
    return trc_opclass_is(opclass, TRC_FACT_LATE) || (shape != TRC_SHAPE_NONE && shape != TRC_SHAPE_NEIGHBORS);
}

/* A completed call of it shows that the job moves. */
static inline bool trc_opclass_is_progress(enum trc_opclass opclass)
{
    return trc_opclass_is(opclass, TRC_FACT_WAITS) && !trc_opclass_is(opclass, TRC_FACT_POLLS);
}
