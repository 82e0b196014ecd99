/* Items as the recorder writes them, one function each: it writes these in parts. */
#ifndef TB_TRACE_ENCODE_H
#define TB_TRACE_ENCODE_H

#include "trace/format/encode.h"
#include <stddef.h>

/* Writes the begin of an event's item.  Gap and duration (unless SUB), sequence and request follow. */
static inline uint8_t *tb_put_event(uint8_t *p, uint64_t signature)
{
    return trc_put_varint(p, TRC_ITEM_EVENT + signature);
}

/* Writes a FOLD item.  *counters (may be NULL) is set to the place of its three u64 (count, busy, span), for
 * trc_set_fold. */
static inline uint8_t *tb_put_fold(uint8_t *p, uint64_t signature, uint64_t gap, uint64_t count, uint64_t busy,
                                   uint64_t span, uint8_t **counters)
{
    *p++ = TRC_ITEM_FOLD;
    p = trc_put_varint(p, signature);
    p = trc_put_varint(p, gap);
    if (counters)
        *counters = p;
    p = trc_put_u64(p, count);
    p = trc_put_u64(p, busy);
    return trc_put_u64(p, span);
}

/* Writes the request of a COMPLETE item of thread `own`, whose next START would take number `next_start`.  The request
 * was start number `start` of thread `thread`; UINT64_MAX: not known. */
static inline uint8_t *tb_put_request(uint8_t *p, uint32_t own, uint64_t next_start, uint32_t thread, uint64_t start)
{
    if (start == UINT64_MAX || (thread == own && start >= next_start))
        return trc_put_varint(p, 2ull * own + 1);
    if (thread == own)
        return trc_put_varint(p, (next_start - 1 - start) * 2);
    p = trc_put_varint(p, 2ull * thread + 1);
    return trc_put_varint(p, start);
}

#endif
