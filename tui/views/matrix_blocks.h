/* Blocks of ranks of the matrix, as many as fit: edges of nodes are edges of blocks.  And the data that pairs of
 * blocks exchange. */
#pragma once

#include "tui/app/app.h"

struct matrix_blocks {
    size_t *edge;             /* the first rank of each block, and the number of ranks behind the last; owned */
    size_t count;             /* blocks */
    size_t most;              /* ranks in the largest */
    bool nodes;               /* no block has parts of two nodes */
    size_t of_ranks, of_most; /* ranks and limit that they were made for: new ones only if these change */
    unsigned of_generation;
};

struct matrix_sum {
    double bytes, messages;
    double latency, latency_messages; /* sum of p50 x messages and of messages, of pairs whose latency is known */
    double moved, moving_s;           /* bytes and time that they moved in, of pairs whose bandwidth is known */
};

/* Cuts the ranks into at most `most` blocks (at least 1), as even as nodes allow.  False: out of memory. */
bool tui_matrix_cut(const struct tui_app *app, size_t most, struct matrix_blocks *out);

/* The block that a rank is in. */
size_t tui_matrix_block(const struct matrix_blocks *blocks, size_t rank);

/* Whether a block begins with the first rank of a node. */
bool tui_matrix_begins_node(const struct tui_app *app, const struct matrix_blocks *blocks, size_t block);

/* Adds up the pairs of `down` blocks of senders from `top` on and `across` blocks of receivers from `left` on.  The
 * caller frees it; NULL: out of memory. */
struct matrix_sum *tui_matrix_sums(const struct tui_app *app, const struct matrix_blocks *blocks, size_t top,
                                   size_t down, size_t left, size_t across);

/* Frees their memory, and zeroes them. */
void tui_matrix_free(struct matrix_blocks *blocks);
