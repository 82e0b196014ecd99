#include "trace/relations/parts.h"
#include "trace/relations/merge.h"
#include "trace/relations/slices.h"
#include "trace/util/pages.h"
#include <stdlib.h>
#include <string.h>

#define FEW                128u       /* items that are taken from the merge at once */
#define SIGNATURES         (1u << 16) /* room for signatures in a job of few ranks; more for each rank: */
#define SIGNATURES_OF_RANK 16u

#define SIGNATURE_ITEMS 2u /* places that a signature takes */

_Static_assert(sizeof(struct trc_sig) <= SIGNATURE_ITEMS * sizeof(struct ana_part_item), "a signature has room there");
_Static_assert(TRC_MAX_THREADS < UINT16_MAX, "a thread's number has room");

/* Room for signatures of a job of `ranks` ranks. */
static uint32_t signatures_of(size_t ranks)
{
    return SIGNATURES + SIGNATURES_OF_RANK * (uint32_t)ranks;
}

/* ---- who reads --------------------------------------------------------------------------------------------------- */

struct ana_part_reader {
    struct ana_merge *merge;
    uint32_t room;
    uint64_t defined; /* signatures so far */
    size_t at, count; /* range of event[] not packed yet */
    struct ana_event *event[FEW];
};

struct ana_part_reader *ana_part_reader_new(struct trc_file *const *files, size_t n, const struct ana_clock *clock,
                                            const uint8_t *ranks, struct ana_filter filter)
{
    struct ana_part_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->room = signatures_of(n);
    reader->merge = ana_merge_open(files, n, clock);
    if (reader->merge && !filter.wants)
        ana_merge_set_slices(reader->merge, ana_slice_shift(files, n));
    for (size_t i = 0; reader->merge && i < n; i++)
        ana_merge_set_live(reader->merge, i, false);
    if (reader->merge)
        ana_merge_set_filter(reader->merge, filter);
    if (reader->merge && ana_merge_seek(reader->merge, INT64_MIN, INT64_MAX, ranks))
        return reader;
    ana_part_reader_free(reader);
    return NULL;
}

void ana_part_reader_free(struct ana_part_reader *reader)
{
    if (!reader)
        return;
    ana_merge_close(reader->merge);
    free(reader);
}

bool ana_part_failed(const struct ana_part_reader *reader)
{
    return ana_merge_failed(reader->merge);
}

/* Returns the place of an event's signature, which is written into `items` first if the other side does not have it;
 * *used grows.  Its number, from 1 on, lies in the route of its use: nobody else uses that here. */
static uint32_t signature_of(struct ana_part_reader *reader, const struct ana_event *e, struct ana_part_item *items,
                             size_t *used)
{
    uint64_t *number = &e->use->route.epoch;
    if (!*number || reader->defined - *number >= reader->room - ANA_PART_HELD) {
        *number = ++reader->defined;
        items[*used] = (struct ana_part_item){
            .signature = (uint32_t)(*number % reader->room), .index = e->index, .kind = ANA_PART_DEFINES};
        memcpy(&items[*used + 1], e->sig, sizeof *e->sig);
        *used += 1 + SIGNATURE_ITEMS;
    }
    return (uint32_t)(*number % reader->room);
}

static void pack(struct ana_part_reader *reader, const struct ana_event *e, struct ana_part_item *items, size_t *used)
{
    uint32_t signature = e->sig ? signature_of(reader, e, items, used) : UINT32_MAX;
    items[(*used)++] = (struct ana_part_item){
        .signature = signature,
        .index = e->index,
        .kind = (uint16_t)e->kind,
        .thread = (uint16_t)e->thread,
        .request_thread = e->request_thread,
        .joined = e->joined,
        .begin_ns = e->begin_ns,
        .end_ns = e->end_ns,
        .sequence = e->sequence,
        .request = e->request,
    };
}

size_t ana_part_pack(struct ana_part_reader *reader, struct ana_part_item *items)
{
    size_t used = 0;
    while (used + 2 + SIGNATURE_ITEMS <= ANA_PART_ITEMS) {
        if (reader->at == reader->count) {
            reader->at = 0;
            reader->count = ana_merge_next_few(reader->merge, reader->event, FEW);
            if (reader->count == 0)
                break;
        }
        pack(reader, reader->event[reader->at++], items, &used);
    }
    return used;
}

/* ---- bringing parts together ------------------------------------------------------------------------------------- */

struct signature {
    struct trc_sig sig;
    struct ana_use use;
};

struct ana_part {
    const struct ana_part_source *source;
    size_t number;
    struct trc_file *const *file;
    const struct ana_part_item *next, *stop; /* items of a block not unpacked yet */
    uint32_t room;
    struct signature *signature;
};

struct ana_part *ana_part_new(const struct ana_part_source *source, size_t number, struct trc_file *const *files,
                              size_t n)
{
    struct ana_part *part = calloc(1, sizeof *part);
    if (!part)
        return NULL;
    *part = (struct ana_part){.source = source, .number = number, .file = files, .room = signatures_of(n)};
    part->signature = ana_pages_make(part->room * sizeof *part->signature, false);
    if (part->signature)
        return part;
    free(part);
    return NULL;
}

void ana_part_free(struct ana_part *part)
{
    if (!part)
        return;
    ana_pages_drop(part->signature, part->room * sizeof *part->signature);
    free(part);
}

/* Fills the next block, if there are items left.  False: none, or *failed. */
static bool have_items(struct ana_part *part, bool *failed)
{
    size_t used = 0;
    if (part->next < part->stop)
        return true;
    part->next = part->source->next(part->source->user, part->number, &used);
    *failed |= !part->next;
    part->stop = part->next ? part->next + used : NULL;
    return used > 0 && part->next;
}

/* Stores the definition of a signature. */
static void define(struct ana_part *part, const struct ana_part_item *item)
{
    struct signature *signature = &part->signature[item->signature];
    const struct trc_file *file = part->file[item->index];
    memcpy(&signature->sig, item + 1, sizeof signature->sig);
    signature->use = (struct ana_use){
        .call = trc_call(file, signature->sig.call),
        .comm = signature->sig.comm ? trc_comm(file, signature->sig.comm) : NULL,
    };
}

static inline void unpack(struct ana_part *part, const struct ana_part_item *item, struct ana_event *out)
{
    struct signature *signature = item->signature == UINT32_MAX ? NULL : &part->signature[item->signature];
    *out = (struct ana_event){
        .kind = (enum trc_record_kind)item->kind,
        .joined = item->joined,
        .request_thread = item->request_thread,
        .sig = signature ? &signature->sig : NULL,
        .sequence = item->sequence,
        .request = item->request,
        .index = item->index,
        .thread = item->thread,
        .begin_ns = item->begin_ns,
        .end_ns = item->end_ns,
        .use = signature ? &signature->use : NULL,
    };
}

size_t ana_part_unpack(struct ana_part *part, struct ana_event *out, size_t max, bool *failed)
{
    size_t n = 0;
    while (n < max && (n == 0 || part->next < part->stop) && have_items(part, failed)) {
        const struct ana_part_item *item = part->next++;
        if (item->kind != ANA_PART_DEFINES) {
            unpack(part, item, &out[n++]);
            continue;
        }
        define(part, item);
        part->next += SIGNATURE_ITEMS;
    }
    return n;
}

static double items_of(const struct trc_file *file)
{
    double items = 1;
    for (size_t c = 0; c < trc_event_chunks(file); c++)
        items += (double)trc_event_chunk(file, c).records;
    return items;
}

void ana_parts_divide(struct trc_file *const *files, size_t n, size_t parts, uint32_t *part)
{
    double whole = 0, before = 0;
    for (size_t i = 0; i < n; i++)
        whole += items_of(files[i]);
    for (size_t i = 0; i < n; i++) {
        double items = items_of(files[i]);
        part[i] = (uint32_t)((before + items / 2) / whole * (double)parts);
        before += items;
    }
}
