/* Sets of ranks as text: "rank 3", "ranks 0-4 and 7", "ranks 0, 2 and 40 more"; in columns without the noun: "0-4, 7".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A rank by its number in its world.  World 0 is the first; a negative number is not known, and then pid names it. */
struct ana_rank_id {
    uint32_t world;
    int32_t rank;
    uint32_t pid;
};

struct ana_label {
    char text[32];
};
/* "3", "w1:3" where it is not of the first world, "pid 77" where its number is not known. */
struct ana_label ana_label_of(struct ana_rank_id id);

enum { ANA_RANGES_MOST = 6 }; /* ranges that a sentence has room for */

/* A set that is being written. */
struct ana_ranges {
    char *out; /* the caller's, `size` bytes */
    size_t size, used;
    bool noun;
    size_t most, written;           /* ranges */
    size_t left_out;                /* ranks beyond them */
    struct ana_rank_id first, last; /* bounds of the range that is still growing */
    size_t growing;                 /* ranks in it; 0: nothing was added yet */
};

/* Starts a text in `out`, which ends with "..." where `size` bytes do not suffice.  After `most` ranges the text only
 * says how many more ranks there are.  `noun`: as in a sentence, with "rank" before and "and" within. */
void ana_ranges_begin(struct ana_ranges *ranges, char *out, size_t size, size_t most, bool noun);
/* Adds a rank.  Consecutive ranks of a world become one range if they are added in this order. */
void ana_ranges_add(struct ana_ranges *ranges, struct ana_rank_id id);
/* Completes the text; it is empty if nothing was added. */
void ana_ranges_end(struct ana_ranges *ranges);
