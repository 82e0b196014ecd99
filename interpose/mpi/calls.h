/* The call table (mpi_calls.def) as ids, facts and the addresses of the real functions. */
#ifndef IPO_CALLS_H
#define IPO_CALLS_H

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

/* Where a number of a call is wanted and there is none. */
#define IPO_NO_CALL UINT32_MAX

/* Class of the rows that are known but never wrapped. */
#define TRC_OP_PASS TRC_OPCLASSES

#define IPO_ABSENT 0xffu

struct ipo_frame;

/* One row.  `position`, `describe` and `finish` are filled from `roles` by ipo_calls_prepare. */
struct ipo_call {
    const char *name;  /* "MPI_Send" */
    const char *roles; /* an enum ipo_role for each argument */
    uint8_t opclass;   /* enum trc_opclass or TRC_OP_PASS */
    uint8_t arity;
    bool exported;
    bool large;                      /* counts are MPI_Count: the name ends in _c */
    bool persistent;                 /* ..._init of a collective or point-to-point call */
    uint8_t position['z' - 'A' + 1]; /* of a role's first argument; IPO_ABSENT */
    bool remembered;                 /* its signature is kept with its arguments (sig_cache.h) */
    uint8_t cache_words;             /* arguments that decide it */
    uint8_t cache_word[11];
    uint8_t cache_key[2]; /* the two of them that vary most from call to call: partner and tag */
    uint8_t buffers;      /* arguments that may be MPI_IN_PLACE */
    uint8_t buffer[2];
    void (*prepare)(struct ipo_frame *, uintptr_t *args);
    void (*describe)(struct ipo_frame *, uintptr_t *args);     /* those of its class that have something to do */
    void (*finish)(struct ipo_frame *, const uintptr_t *args); /* for this call; NULL: nothing */
};

extern IPO_OURS struct ipo_call ipo_calls[IPO_CALLS];
extern IPO_OURS const ipo_function ipo_wrapper[IPO_CALLS]; /* NULL for PASS rows */
extern IPO_OURS ipo_function ipo_real[IPO_CALLS]; /* what a wrapper calls: a second tool's, or the library's; NULL until
                                            resolved,          and where this MPI lacks the call */
extern IPO_OURS ipo_function
    ipo_own[IPO_CALLS]; /* for calls of the recorder's own: the library's, past any other tool */

/* Fills positions and flags; once, before the first record. */
struct ipo_class;
void ipo_calls_prepare(const struct ipo_class *classes); /* ipo_classes, by enum trc_opclass */

/* Position of a role among the arguments or IPO_ABSENT. */
static inline unsigned ipo_position(const struct ipo_call *call, enum ipo_role role)
{
    return call->position[role - 'A'];
}
static inline bool ipo_has(const struct ipo_call *call, enum ipo_role role)
{
    return ipo_position(call, role) != IPO_ABSENT;
}
/* The argument with a role; 0 if the call has none. */
static inline uintptr_t ipo_arg(const struct ipo_call *call, const uintptr_t *args, enum ipo_role role)
{
    unsigned at = ipo_position(call, role);
    return at == IPO_ABSENT ? 0 : args[at];
}

#endif
