/* Numbers of items, and the contents of items that are no events (format.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Kinds of contents of ROUND.  Words are 64 bits; of a round, this rank's words, then the same number that came out. */
enum trc_round_kind {
    TRC_ROUND_AND = 1,     /* bitwise and over all ranks */
    TRC_ROUND_OR = 2,      /* bitwise or */
    TRC_ROUND_REQUEST = 3, /* list of this rank, gathered by the root (the root sends none) */
    TRC_ROUND_RESPONSE = 4 /* the root's list, as all ranks have it */
};
#define TRC_ROUND_WORDS 64u    /* more are no control round */
#define TRC_ROUND_BYTES 16384u /* bytes of a list that are kept */

enum trc_item {
    TRC_ITEM_END = 0,
    TRC_ITEM_SIG = 1,
    TRC_ITEM_FOLD = 2,
    TRC_ITEM_LOST = 3,
    TRC_ITEM_ROUND = 4,
    TRC_ITEM_REGION = 5,
    TRC_ITEM_LIKE = 6,
    TRC_ITEM_DONE = 7,
    TRC_ITEM_EVENT = 8
};
#define TRC_ITEM_MAX 192u /* no item but ROUND is longer; a writer opens a new chunk when less room is left */

/* Contents of REGION: varints what, id of the TRC_DEF_REGION, and gap (time - time base).  A chunk begins with an OPEN
 * for each region that was open then, the outermost first: so it can be decoded alone.
 * A named END ends the innermost region of that name and, with it, those inside: they were left without an end.  An END
 * of a name that is not open ends nothing. */
enum trc_region_what {
    TRC_REGION_BEGIN = 1,
    TRC_REGION_END = 2, /* id 0: of the innermost region, whatever its name */
    TRC_REGION_OPEN = 3 /* number of open regions, itself included, instead of the gap */
};
#define TRC_REGIONS_DEEP 64u    /* regions inside one another; those further in are not recorded */
#define TRC_REGION_MOST  65536u /* no id is above */

/* The regions that a thread is in, the innermost last. */
struct trc_regions {
    uint32_t depth;
    uint32_t deeper; /* regions further in */
    uint32_t id[TRC_REGIONS_DEEP];
};

/* Enters a region.  False: it is too deep to be recorded. */
static inline bool trc_regions_enter(struct trc_regions *regions, uint32_t id)
{
    bool fits = regions->depth < TRC_REGIONS_DEEP;
    if (fits)
        regions->id[regions->depth++] = id;
    else
        regions->deeper++;
    return fits;
}

/* Returns how many regions are left when `id` ends (0: the innermost); the depth if it is not among them. */
static inline uint32_t trc_regions_left(const struct trc_regions *regions, uint32_t id)
{
    for (uint32_t i = regions->depth; i > 0; i--)
        if (!id || regions->id[i - 1] == id)
            return i - 1;
    return regions->depth;
}

/* Leaves a region.  False: it was too deep to be recorded. */
static inline bool trc_regions_leave(struct trc_regions *regions, uint32_t id)
{
    bool recorded = !regions->deeper;
    if (recorded)
        regions->depth = trc_regions_left(regions, id);
    else
        regions->deeper--;
    return recorded;
}
