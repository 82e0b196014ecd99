/* Makes the digest of a node (trace/format/format_digest.h) from the traces of its ranks.  Runs in our own thread of a
 * traced process: system calls, no allocation, no stdio.  It maps nothing, since who maps a file that others cut gets
 * SIGBUS, and trusts nothing in the files. */
#pragma once

#include "trace/format/format_digest.h"
#include "trace/format/opclass.h"
#include <stdbool.h>
#include <stddef.h>

#define TRC_FOLLOWED_CHUNKS 24u /* chunks of a file that are looked at each time */
#define TRC_FOLLOWED_NAME   160u

/* A trace that is followed. */
struct trc_followed {
    char name[TRC_FOLLOWED_NAME];
    bool gone;         /* cannot be read */
    bool more;         /* has chunks that have no place here: only its reader knows it */
    uint32_t next;     /* block where the next chunk is looked for */
    uint32_t stuck;    /* looks at which none was there */
    uint64_t recycled; /* head.recycled_chunks at the last look */
    uint32_t looks;    /* since that moved */
    uint32_t chunks;   /* live pages, definitions, stacks */
    struct {
        uint32_t block;
        uint8_t kind, blocks;
        uint16_t thread;
    } chunk[TRC_FOLLOWED_CHUNKS];
};

/* All that the writer of a digest needs: some hundred KB, zero-initialised. */
struct trc_digest {
    struct trc_followed file[TRC_DIGEST_RANKS];
    uint32_t files;
    uint32_t classes, ranks;
    struct trc_digest_class class[TRC_DIGEST_CLASSES];
    struct trc_digest_rank rank;
    size_t used; /* of body */
    unsigned char page[TRC_CHUNK_MOST * TRC_BLOCK];
    unsigned char body[TRC_DIGEST_MOST];
    unsigned char out[TRC_DIGEST_MOST]; /* the digest */
};

/* Follows the trace of this name in the folder from now on, unless it does.  False: there is no place for it. */
bool trc_digest_follow(struct trc_digest *digest, const char *name);

/* Reads all followed traces in the folder that `folder` is a descriptor of, and makes digest->out: `head` gives host,
 * boot, writer, sequence and time.  `calls` are the calls of the traces by number.  Returns its size. */
size_t trc_digest_make(struct trc_digest *digest, int folder, const struct trc_digest_head *head,
                       const struct trc_call *calls, size_t call_count);
