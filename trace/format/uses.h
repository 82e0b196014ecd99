/* Amounts that one use of a signature moves; trc_use.uses counts the uses.  The recorder adds them up when a
 * signature gives up its place; a reader adds them to its copy of the page. */
#pragma once

#include "trace/format/format.h"
#include "trace/format/histogram.h"

#include <stdbool.h>

struct trc_moved {
    uint64_t sent, received; /* bytes */
    uint64_t out, in;        /* point-to-point messages from / to here */
};

/* Returns bytes, or 0 where they are not known. */
static inline uint64_t trc_known(uint64_t bytes)
{
    return bytes == TRC_BYTES_UNKNOWN ? 0 : bytes;
}

/* Whether a use of a signature with these flags counts the bytes that it sends: a request's count when it starts. */
static inline bool trc_use_sends(uint32_t flags)
{
    return !(flags & TRC_SIG_COMPLETE);
}

/* Whether a use of a signature with these flags counts the bytes that it receives.  Bytes of a message or a file count
 * when they have come: until then a posted receive only shows its room. */
static inline bool trc_use_receives(uint32_t flags)
{
    const uint32_t none = flags & (TRC_SIG_P2P_IN | TRC_SIG_IO) ? TRC_SIG_START : TRC_SIG_COMPLETE;
    return !(flags & (TRC_SIG_CANCELLED | none));
}

/* Returns the amounts that all uses of a signature and its arrivals have moved.  Pure; callable from the traced
 * thread. */
static inline struct trc_moved trc_moved_by(const struct trc_use *use)
{
    const uint32_t flags = use->sig.flags;
    struct trc_moved moved = {0};
    if (trc_use_sends(flags)) {
        moved.sent = trc_known(use->sig.sent) * use->uses;
        moved.out = flags & TRC_SIG_P2P_OUT ? use->uses : 0;
    }
    const uint64_t came = (trc_use_receives(flags) ? (uint64_t)use->uses : 0) + use->arrivals;
    moved.received = trc_known(use->sig.received) * came;
    moved.in = flags & TRC_SIG_P2P_IN ? came : 0;
    return moved;
}

/* The size class that uses of the signature are counted under: the larger number's; unknown if one is. */
static inline uint16_t trc_sig_class(const struct trc_sig *sig)
{
    return trc_size_class(sig->sent | sig->received);
}

/* Adds what a signature has moved to the thread, its row and its partners; row, out and in may be NULL. */
static inline void trc_add_moved(struct trc_thread *thread, struct trc_row *row, struct trc_peer *out,
                                 struct trc_peer *in, const struct trc_moved *moved)
{
    thread->sent += moved->sent;
    thread->received += moved->received;
    if (row) {
        row->sent += moved->sent;
        row->received += moved->received;
    }
    if (!(moved->out | moved->in))
        return;
    thread->sent_messages += moved->out;
    thread->received_messages += moved->in;
    if (out) {
        out->sent_messages += moved->out;
        out->sent_bytes += moved->sent;
    }
    if (in) {
        in->received_messages += moved->in;
        in->received_bytes += moved->received;
    }
    thread->peer_overflow += (out ? 0 : moved->out) + (in ? 0 : moved->in);
}
