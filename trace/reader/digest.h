/* Digests of nodes (trace/format/format_digest.h), read as everything is: bounded, and nothing in them is trusted. */
#pragma once

#include "trace/format/format_digest.h"
#include "trace/reader/reader.h"

/* A digest, as one look found it. */
struct trc_node {
    struct trc_digest_head head;    /* texts end and are clean */
    struct trc_digest_class *class; /* head.classes */
    struct trc_digest_rank *rank;   /* head.ranks */
};

/* Decodes a digest of `size` bytes.  NULL, or why it cannot be used: *node is empty then.  End it by
 * trc_node_free. */
const char *trc_node_parse(const void *bytes, size_t size, struct trc_node *node);
/* Reads the digest at `path`, as trc_node_parse.  `sequence`: number of the last digest seen; if equal, the node is
 * left empty, with NULL. */
const char *trc_node_read(const char *path, uint64_t sequence, struct trc_node *node);
/* Frees the contents of a node; it is empty then. */
void trc_node_free(struct trc_node *node);

/* Brings an open trace to what a digest says of its process: heartbeat, what its threads are inside, their counters.
 * `unchanged`: nothing else has changed since the file was read, so that it is complete up to now.  False: only the
 * file itself can say what a thread is inside; then nothing was done. */
bool trc_digest_apply(struct trc_file *file, const struct trc_node *node, const struct trc_digest_rank *rank,
                      bool unchanged);
/* Whether a trace must be read whatever digests say: it has streams or operations of a GPU, or regions that may begin
 * outside calls. */
bool trc_digest_is_incomplete(const struct trc_file *file);
