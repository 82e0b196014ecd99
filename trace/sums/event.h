/* Sums of one event: bytes, calls, time. */
#pragma once

#include "trace/format/uses.h"
#include "trace/relations/relations.h"

/* The bytes that an item counts as sent.  Unknown counts as 0. */
static inline uint64_t ana_event_sent(const struct trc_sig *sig)
{
    return trc_use_sends(sig->flags) ? trc_known(sig->sent) : 0;
}
/* The bytes that an item of a call of this class counts as received.  Unknown counts as 0.  The event of MPI_Mrecv has
 * the bytes, the SUB item behind it the message. */
static inline uint64_t ana_event_received(const struct trc_sig *sig, enum trc_opclass opclass)
{
    bool counted = (sig->flags & TRC_SIG_SUB) && opclass == TRC_OP_MRECV;
    return trc_use_receives(sig->flags) && !counted ? trc_known(sig->received) : 0;
}

/* Returns the number of times an item happened. */
static inline uint64_t ana_event_times(const struct ana_event *e)
{
    return e->kind == TRC_RECORD_FOLD ? e->count : 1;
}
/* Returns the number of calls of the program's that an item stands for; a SUB item is none. */
static inline uint64_t ana_event_calls(const struct ana_event *e)
{
    return e->sig->flags & TRC_SIG_SUB ? 0 : ana_event_times(e);
}
/* Returns the time inside all calls that an item stands for, in ns. */
static inline int64_t ana_event_all(const struct ana_event *e)
{
    return e->kind == TRC_RECORD_FOLD ? e->busy_ns : e->end_ns - e->begin_ns;
}
