/* The last steps of a rank: the places in the program from which it made its calls, in order.  Of its thread that has
 * been blocked longest, with the call that it is in as the last step. */
#include "trace/util/hash.h"
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>

#define CHUNKS 2u /* of its events that are read: at least 65,000 where they are full */

/* A number that is the same on all ranks for one place in the program. */
static uint64_t place_of(const struct trc_file *file, uint64_t site)
{
    const char *function = NULL, *module = NULL;
    trc_site(file, site, &function, &module);
    uint64_t place = module ? ana_hash_text(module) : 0;
    return module || function ? place * 31 + (function ? ana_hash_text(function) : 0) : site;
}

struct reading {
    struct ana_case *c;
    const struct trc_file *file;
    size_t index, room;
    struct ana_map places; /* site -> its place, since names take long to hash */
    struct ana_steps *steps;
};

static void add_step(struct reading *r, const struct trc_sig *sig, uint64_t sequence)
{
    struct ana_steps *s = r->steps;
    if (s->count == r->room) {
        size_t room = r->room ? r->room * 2 : 256;
        struct ana_step *grown = realloc(s->step, room * sizeof *grown);
        if (!grown) {
            r->c->memory = true;
            return;
        }
        s->step = grown;
        r->room = room;
    }
    uint64_t *place = ana_map_add(&r->places, sig->site, sig->call, 0);
    if (place && !*place)
        *place = place_of(r->file, sig->site) + ana_hash_text(trc_call(r->file, sig->call)->name);
    bool collective = sig->flags & TRC_SIG_COLL;
    s->step[s->count++] = (struct ana_step){
        .place = place ? *place : 0,
        .identity = collective ? ana_comm_identity(r->c->job, r->index, trc_comm(r->file, sig->comm)) : 0,
        .sequence = sequence,
    };
}

static void read_steps(struct reading *r, uint32_t thread)
{
    uint64_t from = 0;
    unsigned chunks = 0;
    for (size_t i = trc_event_chunks(r->file); i-- > 0 && chunks < CHUNKS;) {
        struct trc_chunk_info chunk = trc_event_chunk(r->file, i);
        if (chunk.thread != thread)
            continue;
        chunks++;
        from = chunk.first_ticks;
    }
    struct trc_cursor *cursor = chunks ? trc_cursor_open(r->c->job->process[r->index].rank.file, thread) : NULL;
    if (!cursor)
        return;
    trc_cursor_seek(cursor, from);
    for (struct trc_record rec; trc_next(cursor, &rec) == TRC_OK;)
        if (rec.kind == TRC_RECORD_EVENT && rec.sig &&
            !(rec.sig->flags & (TRC_SIG_SUB | TRC_SIG_NESTED | TRC_SIG_POLL | TRC_SIG_CONTROL)) &&
            trc_opclass_is(trc_call(r->file, rec.sig->call)->opclass, TRC_FACT_WAITS))
            add_step(r, rec.sig, rec.sequence);
    trc_cursor_close(cursor);
}

const struct ana_steps *ana_case_steps(struct ana_case *c, size_t index)
{
    static const struct ana_steps none;
    const struct ana_waiting *waiting = ana_rank_waiting(c, index);
    if (!c->steps)
        c->steps = calloc(c->count + 1, sizeof(struct ana_steps *));
    if (!c->steps || !waiting) {
        c->memory |= !c->steps;
        return &none;
    }
    if (c->steps[index])
        return c->steps[index];
    struct ana_steps *steps = calloc(1, sizeof *steps);
    if (!steps) {
        c->memory = true;
        return &none;
    }
    struct reading r = {.c = c, .file = c->job->process[index].rank.file, .index = index, .steps = steps};
    ana_map_init(&r.places, sizeof(uint64_t));
    read_steps(&r, waiting->thread);
    add_step(&r, waiting->sig, waiting->sequence);
    ana_map_free(&r.places);
    return c->steps[index] = steps;
}

void ana_case_free_steps(struct ana_case *c)
{
    for (size_t i = 0; c->steps && i < c->count; i++) {
        if (c->steps[i])
            free(c->steps[i]->step);
        free(c->steps[i]);
    }
    free(c->steps);
}
