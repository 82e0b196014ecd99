/* Sums of one event: bytes, calls, time. */
#ifndef ANA_EVENT_H
#define ANA_EVENT_H

#include "trace/format/uses.h"
#include "trace/relations/relations.h"

/* The bytes that an item counts as sent, a request's when it starts; TRC_BYTES_UNKNOWN. */
static inline uint64_t ana_counts_sent(const struct trc_sig *sig)
{
    return sig->flags & TRC_SIG_COMPLETE ? 0 : sig->sent;
}
/* The bytes that an item counts as received, a request's when it completes; TRC_BYTES_UNKNOWN. */
static inline uint64_t ana_counts_received(const struct trc_sig *sig)
{
    bool posted = (sig->flags & TRC_SIG_P2P_IN) && (sig->flags & TRC_SIG_START);
    bool done_before = (sig->flags & TRC_SIG_COMPLETE) && !(sig->flags & TRC_SIG_P2P_IN);
    return posted || done_before ? 0 : sig->received;
}
/* The bytes that an item counts as sent.  Unknown counts as 0. */
static inline uint64_t ana_event_sent(const struct trc_sig *sig)
{
    return trc_known(ana_counts_sent(sig));
}
/* The bytes that an item counts as received.  Unknown counts as 0. */
static inline uint64_t ana_event_received(const struct trc_sig *sig)
{
    return trc_known(ana_counts_received(sig));
}
/* The size class of an item: the larger number's; TRC_SIZE_UNKNOWN if one is not known. */
static inline uint16_t ana_event_class(const struct trc_sig *sig)
{
    return trc_size_class(ana_counts_sent(sig) | ana_counts_received(sig));
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

#endif
