/* Amounts that one use of a signature moves; trc_use.uses counts the uses.  The recorder adds them up when a
 * signature gives up its place; a reader adds them to its copy of the page. */
#ifndef TRC_USES_H
#define TRC_USES_H

#include "trace/format/format.h"
#include "trace/format/histogram.h"

#include <stdbool.h>

struct trc_moved {
    uint64_t sent, received; /* bytes */
    bool out, in;            /* it is a point-to-point message from / to here */
};

/* Returns the amounts that one use of the signature moves.  A send's bytes count when it starts, a receive's when they
 * have come: until then a posted receive only shows its room.  Pure; callable from the traced thread. */
static inline struct trc_moved trc_moved(const struct trc_sig *sig)
{
    const uint32_t flags = sig->flags;
    const bool receives = flags & (TRC_SIG_P2P_IN | TRC_SIG_IO);
    struct trc_moved moved = {0};
    if (!(flags & TRC_SIG_COMPLETE)) {
        moved.sent = sig->sent == TRC_BYTES_UNKNOWN ? 0 : sig->sent;
        moved.out = flags & TRC_SIG_P2P_OUT;
    }
    if (!(flags & (TRC_SIG_CANCELLED | (receives ? TRC_SIG_START : TRC_SIG_COMPLETE)))) {
        moved.received = sig->received == TRC_BYTES_UNKNOWN ? 0 : sig->received;
        moved.in = flags & TRC_SIG_P2P_IN;
    }
    return moved;
}

/* The size class that uses of the signature are counted under. */
static inline uint16_t trc_sig_class(const struct trc_sig *sig)
{
    uint64_t sent = sig->sent == TRC_BYTES_UNKNOWN ? 0 : sig->sent;
    uint64_t received = sig->received == TRC_BYTES_UNKNOWN ? 0 : sig->received;
    return trc_size_class(sent > received ? sent : received);
}

/* Adds what `uses` of a signature moved to the thread, its row and its partners; row, out and in may be NULL. */
static inline void trc_add_uses(struct trc_thread *thread, struct trc_row *row, struct trc_peer *out,
                                struct trc_peer *in, const struct trc_sig *sig, uint64_t uses)
{
    struct trc_moved moved = trc_moved(sig);
    uint64_t sent = moved.sent * uses, received = moved.received * uses;
    thread->sent += sent;
    thread->received += received;
    if (row) {
        row->sent += sent;
        row->received += received;
    }
    if (moved.out) {
        thread->sent_messages += uses;
        thread->peer_overflow += out ? 0 : uses;
        if (out) {
            out->sent_messages += uses;
            out->sent_bytes += sent;
        }
    }
    if (moved.in) {
        thread->received_messages += uses;
        thread->peer_overflow += in ? 0 : uses;
        if (in) {
            in->received_messages += uses;
            in->received_bytes += received;
        }
    }
}

#endif
