/* Findings of an analysis, to a file and back.  One description of a struct does both: the same calls, in the same
 * order, write the struct or fill in the kept values.
 *
 * Rows of numbers are turned into columns of differences, to the row before or to the column before, which pack well;
 * bytes that are zero in all rows are left out.  The file is a row of parts, each a row of blocks, each with its
 * checksum, and an end; a file that lacks a part is refused.  Nothing in it is trusted: lengths are bounded by the
 * caller, and conditions between numbers are stated with ana_archive_require.
 *
 * After a failure nothing more is written or filled in; values filled in by then must be thrown away.
 * Byte order and layout are the machine's: a caller first writes a mark that identifies the program.  One thread at a
 * time; several may load parts of one file, each with an ana_archive of its own. */
#pragma once

#include "trace/util/budget.h"
#include "trace/util/hash_map.h"
#include <stdio.h>
#include <string.h>

struct ana_archive {
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

/* Begins to write into a file where it is, at most `most` bytes.  Both end with ana_archive_end.  The file stays the
 * caller's. */
void ana_archive_save(struct ana_archive *archive, FILE *file, uint64_t most);
/* Begins to read a part, whose first byte in the file is `at`.  All that is allocated or filled in is charged to
 * `budget`, which is the caller's; what does not fit fails.  The file's position is neither used nor moved. */
void ana_archive_load(struct ana_archive *archive, FILE *file, uint64_t at, struct ana_budget *budget);
/* Writes the end of a part; later writes go to the next one. */
void ana_archive_part(struct ana_archive *archive);
/* Truncates to the end of a part, `bytes` after the begin, and forgets all later writes, with their failures or lack
 * of room.  False: the file cannot be cut. */
bool ana_archive_truncate(struct ana_archive *archive, uint64_t bytes);
/* Frees the buffers.  False: something failed or did not fit; or the part that was read has more bytes. */
bool ana_archive_end(struct ana_archive *archive);
/* Finds the parts that begin at begin[0]; begin[n] is the end of the last one.  False: there are not `n` parts, or
 * bytes follow them. */
bool ana_archive_find(FILE *file, uint64_t *begin, size_t n);

/* States a condition on loaded values; the load fails if it does not hold.  Returns whether it holds. */
bool ana_archive_require(struct ana_archive *archive, bool fact);

/* Charges `n` rows of `size` bytes of a load, before they are allocated: rows of zeros need hardly a byte in the
 * file.  False: the load fails, or has failed. */
bool ana_archive_charge(struct ana_archive *archive, uint64_t n, size_t size);

/* Whether a truth value that was filled in is one. */
static inline bool ana_archive_is_bool(const bool *value)
{
    return *(const unsigned char *)value <= 1;
}

/* Returns whether a loaded time can be added to another, and subtracted, like times of events (ANA_TIME_LIMIT). */
static inline bool ana_archive_is_time(int64_t ns)
{
    return ns >= -(INT64_C(1) << 61) && ns <= INT64_C(1) << 61;
}

/* Removes from a row all that another process cannot use: pointers. */
typedef void ana_archive_strip(void *row);
/* Defines one that clears a member. */
#define ANA_ARCHIVE_STRIP(name, type, member)                                                                          \
    static void name(void *row)                                                                                        \
    {                                                                                                                  \
        memset(&((type *)row)->member, 0, sizeof((type *)row)->member);                                                \
    }

/* A struct, or anything else of a known size. */
void ana_archive_bytes(struct ana_archive *archive, void *at, size_t size);
/* A variable. */
#define ANA_ARCHIVE(archive, what) ana_archive_bytes(archive, &(what), sizeof(what))
/* Rows that are there already, however many there are on both sides; strip: NULL or as above. */
void ana_archive_rows(struct ana_archive *archive, void *rows, size_t n, size_t size, ana_archive_strip *strip);
/* Rows that are made when loading: *rows, for the caller to free, and how many; at most `most`.  NULL for none. */
void ana_archive_array(struct ana_archive *archive, void **rows, size_t *n, size_t size, size_t most);
/* A map; one that is loaded must be empty. */
void ana_archive_map(struct ana_archive *archive, struct ana_map *map, ana_archive_strip *strip);
/* Saves or loads the objects that values of a map point to, by the pointer at `offset`: NULL or one object of `size`
 * bytes; strip: applied to the object. */
void ana_archive_owned(struct ana_archive *archive, struct ana_map *map, size_t offset, size_t size,
                       ana_archive_strip *strip);
