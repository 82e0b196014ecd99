/* A part of the ranks, read elsewhere: by a thread, or another process (trace/relations/readers.h, tui/workers).
 *
 * The reader of a part brings its ranks into the order of job time, as a merge does (merge.h), and packs the items
 * into blocks; a merge of all parts (ana_merge_of_parts) unpacks them.  The order is the same as in one merge of all
 * ranks, however they are divided.
 *
 * A block is a row of items of one size.  A signature is defined before the first item that has it: both sides have
 * room for as many signatures, and the oldest gives way to a new one.
 *
 * Pure; each struct is for one thread at a time. */
#pragma once

#include "trace/relations/clock.h"
#include "trace/relations/relations.h"

#define ANA_PART_ITEMS 4096u /* items of a block */

/* An item as in ana_event, without pointers. */
struct ana_part_item {
    uint32_t signature; /* place in the room for signatures; UINT32_MAX: none */
    uint32_t index;
    uint16_t kind; /* enum trc_record_kind; ANA_PART_DEFINES: the next two items' places have a struct trc_sig */
    uint16_t thread, request_thread;
    bool joined;
    int64_t begin_ns, end_ns;
    uint64_t sequence, request;
};
#define ANA_PART_DEFINES 0xffffu

/* ---- who reads --------------------------------------------------------------------------------------------------- */

struct ana_part_reader;

/* Reads the files of files[0 .. n-1] whose byte in `ranks` is not 0, with the times of `clock`, where they have these
 * indices.  All stay the caller's; `ranks` is read during this call only.  `filter`: items left out, as in merge.h.
 * NULL: out of memory. */
struct ana_part_reader *ana_part_reader_new(struct trc_file *const *files, size_t n, const struct ana_clock *clock,
                                            const uint8_t *ranks, struct ana_filter filter);
/* Frees it; NULL is none. */
void ana_part_reader_free(struct ana_part_reader *reader);
/* Packs the next items into room for ANA_PART_ITEMS; returns how many of its places are used, 0: there are no more. */
size_t ana_part_pack(struct ana_part_reader *reader, struct ana_part_item *items);
/* Whether memory ran out: items are missing. */
bool ana_part_failed(const struct ana_part_reader *reader);

/* ---- bringing parts together ------------------------------------------------------------------------------------- */

/* Readers of parts: all ranks of a part come before the ranks of the next, as ana_parts_divide has it. */
struct ana_part_source {
    void *user;
    size_t parts;
    /* Begins with the first items of all parts, by the clock as it is now; items that a filter leaves out need not be
     * given.  False: it cannot. */
    bool (*begin)(void *user, struct ana_filter filter);
    /* Returns the next block of a part, valid until the next call for that part, and how many places of it are used;
     * 0: the part has given all.  NULL: it failed, items are missing. */
    const struct ana_part_item *(*next)(void *user, size_t part, size_t *used);
    /* Ends the reading, also before all was given.  Not without a begin. */
    void (*end)(void *user);
};

struct ana_part;

/* Room for the items from one part of `source`, of a job with files[0 .. n-1].  NULL: out of memory. */
struct ana_part *ana_part_new(const struct ana_part_source *source, size_t part, struct trc_file *const *files,
                              size_t n);
/* Frees it; NULL is none. */
void ana_part_free(struct ana_part *part);
/* Unpacks the next items, at most `max`; returns how many; 0: there are no more, or a part failed, and *failed is set.
 * Their pointers are valid until ANA_PART_HELD more were unpacked. */
size_t ana_part_unpack(struct ana_part *part, struct ana_event *out, size_t max, bool *failed);
#define ANA_PART_HELD 10240u

/* Divides files[0 .. n-1] into parts with about as many items each, neighbours together: part[i] is the part of
 * files[i]. */
void ana_parts_divide(struct trc_file *const *files, size_t n, size_t parts, uint32_t *part);
