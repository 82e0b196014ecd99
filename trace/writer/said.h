/* SAID items (trace/format/format.h): what ranks told each other in a control round.  Record path: no lock, no
 * allocation, no system call but for a new chunk. */
#pragma once

#include "trace/writer/writer.h"

struct trc_said {
    enum trc_said_kind kind;
    uint32_t comm;
    uint64_t sequence, round;
    const void *part[2]; /* contents: one piece, or two */
    uint32_t size[2];    /* bytes of each; only the first TRC_SAID_KEPT of both together are kept */
};

/* Whether nothing but FOLDs has come since the last SAID: then the same words need not be written again. */
static inline bool trc_stream_folding(const struct trc_stream *stream)
{
    return stream->in_row;
}

/* Appends a SAID item for the round that lasted from `begin` to `end`, in ticks.  The caller then counts the round by
 * trc_stream_fold, which begins a FOLD in this chunk.  False: no room. */
bool trc_stream_said(struct trc_stream *stream, uint64_t begin, uint64_t end, const struct trc_said *said);
