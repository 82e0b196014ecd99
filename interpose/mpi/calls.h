/* The call table (mpi_calls.def) as ids, facts and the addresses of the real functions. */
#pragma once

#include "interpose/base/ours.h"
#include "interpose/mpi/roles.h"
#include "trace/format/opclass.h"
#include <stdbool.h>
#include <stdint.h>

enum ipo_call_id {
#define CALL(arity, name, core, result, opclass, roles) IPO_##name,
#include "interpose/mpi/mpi_calls.def"
#undef CALL
    IPO_CALLS
};

/* No call: stands for the number of a call. */
#define IPO_NO_CALL UINT32_MAX

/* Class of the rows that are known but never wrapped. */
#define TRC_OP_PASS TRC_OPCLASSES

#define IPO_ARGS_MOST 15u /* arguments of a call */

#define IPO_ABSENT 0xffu /* position of a role that the call does not have */

struct ipo_frame;

/* Kinds of objects that a program makes and frees (living.h). */
enum ipo_makes {
    IPO_MAKES_NOTHING,
    IPO_MAKES_COMM,
    IPO_MAKES_GROUP,
    IPO_MAKES_TYPE,
    IPO_MAKES_OP,
    IPO_MAKES_WIN,
    IPO_MAKES_FILE
};

/* One row.  `position`, `describe` and `finish` are filled from `roles` by ipo_calls_prepare. */
struct ipo_call {
    const char *name;  /* "MPI_Send" */
    const char *roles; /* an enum ipo_role for each argument */
    uint8_t opclass;   /* enum trc_opclass or TRC_OP_PASS */
    uint8_t arity;
    bool exported : 1;
    bool large : 1;                  /* counts are MPI_Count: the name ends in _c */
    bool persistent : 1;             /* ..._init of a collective or point-to-point call */
    bool remembered : 1;             /* the signature cache has it (cached.h) */
    uint8_t position['z' - 'A' + 1]; /* index of a role's first argument, by its letter; IPO_ABSENT */
    uint8_t cache_words;             /* number of arguments that decide its signature */
    uint8_t cache_word[9];           /* their positions */
    uint8_t sums;                    /* arrays of counts that decide it */
    uint8_t sum[2];                  /* their positions */
    uint8_t counts;                  /* number of them that are numbers of elements */
    uint8_t makes, frees;            /* enum ipo_makes: an object that must be freed, or one that it frees */
    uint8_t buffers;                 /* arguments that may be MPI_IN_PLACE */
    uint8_t buffer[2];
    void (*prepare)(struct ipo_frame *, uintptr_t *args);
    void (*describe)(struct ipo_frame *, uintptr_t *args); /* the functions of its class that have something to do */
    void (*finish)(struct ipo_frame *, const uintptr_t *args); /* for this call; NULL: nothing */
};

extern IPO_OURS struct ipo_call ipo_calls[IPO_CALLS];
extern IPO_OURS const ipo_function ipo_wrapper[IPO_CALLS]; /* NULL for PASS rows */
/* Function that a wrapper calls: a second tool's, or the library's.  NULL before ipo_resolve_all, and if this MPI
 * lacks the call. */
extern IPO_OURS ipo_function ipo_real[IPO_CALLS];
/* Function that the recorder itself calls: the library's, past any other tool.  Only rows of own_calls.def have one. */
extern IPO_OURS ipo_function ipo_own[IPO_CALLS];

struct ipo_class;
/* Fills what ipo_calls derives from roles, and the functions of each call's class.  `classes` is ipo_classes.  Once,
 * before the first record. */
void ipo_calls_prepare(const struct ipo_class *classes);

/* Position of a role among the arguments; IPO_ABSENT.  This and the next two: any thread, record path. */
static inline unsigned ipo_position(const struct ipo_call *call, enum ipo_role role)
{
    return call->position[role - 'A'];
}
/* Whether the call has an argument with this role. */
static inline bool ipo_has(const struct ipo_call *call, enum ipo_role role)
{
    return ipo_position(call, role) != IPO_ABSENT;
}
/* The first argument with a role; 0 if the call has none. */
static inline uintptr_t ipo_arg(const struct ipo_call *call, const uintptr_t *args, enum ipo_role role)
{
    unsigned at = ipo_position(call, role);
    return at == IPO_ABSENT ? 0 : args[at];
}
