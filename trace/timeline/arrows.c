#include "trace/timeline/arrows.h"
#include "trace/job/analysis.h"
#include "trace/job/window.h"
#include "trace/summary/matched.h"
#include "trace/util/sort.h"

#include <math.h>
#include <stdlib.h>

#define DECODE_RECORDS 200000 /* records of a thread: more are not decoded for a redraw */

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* One of a pair and a part of the time; equally slow ones come in an order that spreads them over the time. */
struct slot {
    struct ana_arrow arrow;
    int64_t ns;
    uint64_t mixed;
};
ANA_COMPARE(by_length, struct slot, ANA_ORDER(y->ns, x->ns), ANA_ORDER(x->mixed, y->mixed))

/* Adds a message to the slots.  False: out of memory. */
static bool add_arrow(struct ana_map *slots, const struct ana_selection *of, size_t parts,
                      const struct ana_stored_message *m)
{
    const double part_ns = (double)(of->end_ns - of->begin_ns) / (double)parts;
    const int64_t part = (int64_t)floor((double)(m->send_begin_ns - of->begin_ns) / part_ns);
    struct slot *slot = ana_map_add(slots, m->source, m->destination, (uint64_t)part);
    if (slot && m->recv_complete_ns - m->send_begin_ns >= slot->ns)
        *slot = (struct slot){{m->source, m->destination, m->send_begin_ns, m->recv_complete_ns},
                              m->recv_complete_ns - m->send_begin_ns,
                              ((uint64_t)part * parts + m->source) * 0x9e3779b97f4a7c15u};
    return slot;
}

size_t ana_arrows(const struct ana_job *job, struct ana_selection selection, size_t parts, size_t room,
                  struct ana_arrow *out, size_t *all)
{
    const struct ana_store *store = &ana_job_analysis(job)->store;
    struct ana_matched taken;
    struct ana_map slots;
    size_t n = 0;
    *all = 0;
    if (!store->message || selection.end_ns <= selection.begin_ns || !ana_matched_find(job, &selection, &taken))
        return 0;
    ana_map_init(&slots, sizeof(struct slot));
    bool ok = true;
    for (size_t i = 0; ok && i < ana_store_count(store->messages, ANA_STORE_MESSAGES); i++) {
        const struct ana_stored_message *m = ana_store_message_at(store, i);
        const struct ana_stored_places *at = ana_store_places_at(store, i);
        if (m->recv_complete_ns < selection.begin_ns || m->send_begin_ns >= selection.end_ns ||
            !ana_selected(selection.ranks, m->source) || !ana_selected(selection.ranks, m->destination) ||
            !ana_matched_has(&taken, at->comm, at->send, at->receive))
            continue;
        ++*all;
        ok = add_arrow(&slots, &selection, parts, m);
    }
    if (slots.count)
        ana_sort(slots.values, slots.count, slots.value_size, by_length); /* found by their keys no longer */
    for (; n < slots.count && n < room; n++)
        out[n] = ((struct slot *)ana_map_value(&slots, n))->arrow;
    ana_map_free(&slots);
    free(taken.of_place);
    return n;
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

/* Regions of a thread on the way through its records. */
struct walk {
    const struct trc_file *file;
    struct trc_regions inside;
    int64_t since_ns[TRC_REGIONS_DEEP];
    uint32_t levels; /* deeper ones have no room */
    struct ana_region_span *out;
    size_t n, room;
};

/* Drops the spans of the deepest level, which are too many. */
static void drop_level(struct walk *w)
{
    size_t n = 0;
    w->levels = 0;
    for (size_t i = 0; i < w->n; i++)
        w->levels = w->out[i].level > w->levels ? w->out[i].level : w->levels;
    for (size_t i = 0; i < w->n; i++)
        if (w->out[i].level < w->levels)
            w->out[n++] = w->out[i];
    w->n = n;
}

/* Ends the regions that are deeper than `depth`. */
static void leave_to(struct walk *w, uint32_t depth, int64_t now_ns, int64_t begin_ns)
{
    for (; w->inside.depth > depth; w->inside.depth--) {
        const uint32_t level = w->inside.depth - 1;
        if (now_ns <= begin_ns || level >= w->levels)
            continue;
        if (w->n == w->room)
            drop_level(w);
        const char *name = trc_region(w->file, w->inside.id[level]);
        if (level < w->levels)
            w->out[w->n++] = (struct ana_region_span){name ? name : "?", level, w->since_ns[level], now_ns};
    }
}

/* Adds an item of a region; one that is open where a chunk begins may be known already. */
static void add_region(struct walk *w, const struct trc_record *r, int64_t now_ns, int64_t begin_ns)
{
    const uint32_t id = (uint32_t)r->sequence, level = (uint32_t)r->count - 1;
    if (r->kind == TRC_RECORD_END) {
        if (!w->inside.deeper)
            leave_to(w, trc_regions_left(&w->inside, id), now_ns, begin_ns);
        else
            w->inside.deeper--;
        return;
    }
    if (r->kind == TRC_RECORD_OPEN) {
        if (level < w->inside.depth && w->inside.id[level] == id)
            return;
        leave_to(w, level < w->inside.depth ? level : w->inside.depth, now_ns, begin_ns);
    }
    if (trc_regions_enter(&w->inside, id))
        w->since_ns[w->inside.depth - 1] = now_ns;
}

size_t ana_region_spans(const struct ana_job *job, size_t index, int64_t begin_ns, int64_t end_ns, size_t room,
                        struct ana_region_span *out)
{
    const struct ana_members *members = ana_job_members(job);
    struct walk w = {.levels = TRC_REGIONS_DEEP, .out = out, .room = room};
    struct trc_record r;
    size_t records = 0;
    if (index >= members->count || !room)
        return 0;
    struct trc_file *file = members->process[index].rank.file;
    struct trc_cursor *cursor = trc_threads(file) > ANA_MAIN_THREAD ? trc_cursor_open(file, ANA_MAIN_THREAD) : NULL;
    if (!cursor)
        return 0;
    w.file = file;
    trc_cursor_want_regions(cursor);
    trc_cursor_seek(cursor, ana_clock_ticks(members->clock, index, begin_ns));
    int64_t now_ns = begin_ns;
    for (; now_ns < end_ns && records < DECODE_RECORDS && trc_next(cursor, &r) == TRC_OK; records++) {
        if (r.kind != TRC_RECORD_LOST)
            now_ns = ana_clock_job_time(members->clock, index, r.begin);
        if (trc_is_region(r.kind) && now_ns < end_ns)
            add_region(&w, &r, now_ns, begin_ns);
    }
    trc_cursor_close(cursor);
    leave_to(&w, 0, ana_earlier(end_ns, members->process[index].rank.end_ns), begin_ns);
    return records < DECODE_RECORDS ? w.n : 0;
}
