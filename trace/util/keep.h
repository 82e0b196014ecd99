/* Findings of an analysis, to a file and back.  One description of a struct does both: the same calls, in the same
 * order, write the struct or fill in the kept values.
 *
 * Rows of numbers are turned into columns of differences, to the row before or to the column before, which pack well;
 * bytes that are zero in all rows are left out.  The file is a row of parts, each a row of blocks, each with its
 * checksum, and an end; a file that lacks a part is refused.  Nothing in it is trusted: lengths are bounded by the
 * caller, and conditions between numbers are stated with ana_keep_holds.
 *
 * After a failure nothing more is written or filled in; values filled in by then must be thrown away.
 * Byte order and layout are the machine's: a caller first writes a mark that tells the program apart.  One thread at a
 * time; several may load parts of one file, each with an ana_keep of its own. */
#pragma once

#include "trace/util/budget.h"
#include "trace/util/hash_map.h"
#include <stdio.h>

struct ana_keep {
    bool loads, failed;
    FILE *file;
    uint64_t at;               /* offset in the file: begin of the next block when loading, of the first when saving */
    uint64_t bytes, most;      /* written so far; more than that fails */
    struct ana_budget *budget; /* set when loading: charged for memory allocated or filled in */
    uint8_t *block;            /* unpacked */
    size_t used, filled;       /* bytes of the block; filled: bytes loaded */
    uint8_t *packed;
    struct ZSTD_CCtx_s *packs; /* zstd's state when saving */
    struct ZSTD_DCtx_s *unpacks;
    uint8_t *work; /* room for rows and columns */
    size_t room;   /* of it */
};

/* Begins to write into a file where it is, at most `most` bytes.  Both end with ana_keep_end.  The file stays the
 * caller's. */
void ana_keep_save(struct ana_keep *keep, FILE *file, uint64_t most);
/* Begins to read a part, whose first byte in the file is `at`.  All that is allocated or filled in is charged to
 * `budget`, which is the caller's; what does not fit fails.  The file's position is neither used nor moved. */
void ana_keep_load(struct ana_keep *keep, FILE *file, uint64_t at, struct ana_budget *budget);
/* Writes the end of a part; later writes go to the next one. */
void ana_keep_part(struct ana_keep *keep);
/* Goes back to the end of a part, `bytes` after the begin, and forgets all later writes, with their failures or lack
 * of room.  False: the file cannot be cut. */
bool ana_keep_back(struct ana_keep *keep, uint64_t bytes);
/* Frees the buffers.  False: something failed or did not fit; or the part that was read has more bytes. */
bool ana_keep_end(struct ana_keep *keep);
/* Finds the parts that begin at begin[0]; begin[n] is the end of the last one.  False: there are not `n` parts, or
 * bytes follow them. */
bool ana_keep_find(FILE *file, uint64_t *begin, size_t n);

/* States a condition on loaded values; the load fails if it does not hold.  Returns whether it holds. */
bool ana_keep_holds(struct ana_keep *keep, bool fact);

/* Charges `n` rows of `size` bytes of a load, before they are allocated: rows of zeros need hardly a byte in the
 * file.  False: the load fails, or has failed. */
bool ana_keep_charge(struct ana_keep *keep, uint64_t n, size_t size);

/* Whether a truth value that was filled in is one. */
static inline bool ana_keep_is_bool(const bool *value)
{
    return *(const unsigned char *)value <= 1;
}

/* Returns whether a loaded time can be added to another, and subtracted, like times of events (ANA_TIME_LIMIT). */
static inline bool ana_keep_is_time(int64_t ns)
{
    return ns >= -(INT64_C(1) << 61) && ns <= INT64_C(1) << 61;
}

/* Takes out of a row what means nothing in another process: pointers. */
typedef void ana_keep_strip(void *row);

/* A struct, or anything else of a known size. */
void ana_keep_bytes(struct ana_keep *keep, void *at, size_t size);
/* A variable. */
#define ANA_KEEP(keep, what) ana_keep_bytes(keep, &(what), sizeof(what))
/* Rows that are there already, however many there are on both sides; strip: NULL or as above. */
void ana_keep_rows(struct ana_keep *keep, void *rows, size_t n, size_t size, ana_keep_strip *strip);
/* Rows that are made when loading: *rows, for the caller to free, and how many; at most `most`.  NULL for none. */
void ana_keep_array(struct ana_keep *keep, void **rows, size_t *n, size_t size, size_t most);
/* A map; one that is loaded must be empty. */
void ana_keep_map(struct ana_keep *keep, struct ana_map *map, ana_keep_strip *strip);
/* Keeps the objects that values of a map point to, by the pointer at `offset`: NULL or one object of `size` bytes;
 * strip: applied to the object. */
void ana_keep_owned(struct ana_keep *keep, struct ana_map *map, size_t offset, size_t size, ana_keep_strip *strip);
