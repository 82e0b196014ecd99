/* ROUND items (trace/format/format.h): the words that ranks exchanged in a control round.  Record path: no lock, no
 * allocation, no system call but for a new chunk. */
#pragma once

#include "trace/writer/writer.h"

struct trc_round {
    enum trc_round_kind kind;
    uint32_t comm;
    uint64_t sequence, round;
    const void *part[2]; /* contents: one piece, or two */
    uint32_t size[2];    /* bytes of each; only the first TRC_ROUND_BYTES of both together are kept */
};

/* Whether nothing but FOLDs has come since the last ROUND: then the same words need not be written again. */
static inline bool trc_stream_folding(const struct trc_stream *stream)
{
    return stream->in_row;
}

/* Appends a ROUND item for the round that lasted from `begin` to `end`, in ticks.  The caller then counts the round by
 * trc_stream_fold, which begins a FOLD in this chunk.  False: no room. */
bool trc_stream_add_round(struct trc_stream *stream, uint64_t begin, uint64_t end, const struct trc_round *said);
