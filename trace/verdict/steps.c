/* The last steps of a rank: the places in the program from which it made its calls, in order, with the call that it is
 * in as the last step. */
#include "trace/util/hash.h"
#include "trace/util/sort.h"
#include "trace/verdict/order.h"
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>
#include <string.h>

#define CHUNKS     2u   /* chunks of its events that are read: at least 65,000 events where they are full */
#define RANKS_MOST 160u /* ranks whose steps are read for one verdict */

/* A number that is the same on all ranks for one place in the program. */
static uint64_t place_of(const struct trc_file *file, uint64_t site)
{
    const char *function = NULL, *module = NULL;
    trc_site(file, site, &function, &module);
    uint64_t place = module ? ana_hash_text(module) : 0;
    return module || function ? place * 31 + (function ? ana_hash_text(function) : 0) : trc_site_address(file, site);
}

struct reading {
    struct ana_case *c;
    const struct trc_file *file;
    size_t index, room;
    struct ana_map places; /* site -> its place, since names take long to hash */
    struct ana_steps *steps;
};

static void add_step(struct reading *r, const struct trc_sig *sig, uint64_t sequence, uint64_t begin)
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
    const struct trc_comm *comm = trc_comm(r->file, sig->comm);
    uint64_t identity = ana_comm_identity(r->c->job, r->index, comm);
    bool collective = sig->flags & TRC_SIG_COLL, message = sig->flags & (TRC_SIG_P2P_IN | TRC_SIG_P2P_OUT);
    s->step[s->count++] = (struct ana_step){
        .place = place ? *place : 0,
        .identity = collective ? identity : 0,
        .sequence = collective ? sequence : 0,
        .channel = message ? identity : 0,
        .to = sig->flags & TRC_SIG_P2P_OUT ? (uint32_t)ana_partner(r->c->job, r->index, comm, sig->peer) : UINT32_MAX,
        .from =
            sig->flags & TRC_SIG_P2P_IN ? (uint32_t)ana_partner(r->c->job, r->index, comm, sig->source) : UINT32_MAX,
        .tag = sig->tag,
        .call = sig->call,
        .site = sig->site,
        .begin = begin,
    };
}

/* Calls that a loop makes more or less often, depending on message arrival, tell no place. */
static bool is_step(const struct reading *r, const struct trc_record *rec)
{
    if (rec->kind != TRC_RECORD_EVENT || !rec->sig ||
        rec->sig->flags & (TRC_SIG_SUB | TRC_SIG_NESTED | TRC_SIG_POLL | TRC_SIG_CONTROL))
        return false;
    const struct trc_call *call = trc_call(r->file, rec->sig->call);
    return trc_opclass_is(call->opclass, TRC_FACT_WAITS) && !strstr(call->name, "some");
}

static void read_steps(struct reading *r, uint32_t thread)
{
    uint64_t from = 0;
    unsigned chunks = 0;
    size_t at = trc_event_chunks(r->file);
    while (at-- > 0 && chunks < CHUNKS) {
        struct trc_chunk_info chunk = trc_event_chunk(r->file, at);
        if (chunk.thread != thread)
            continue;
        chunks++;
        from = chunk.first_ticks;
    }
    r->steps->whole &=
        chunks < CHUNKS && ana_case_events_known(r->c, r->index) && !trc_misses_events(trc_head(r->file));
    struct trc_cursor *cursor = chunks ? trc_cursor_open(r->c->members->process[r->index].rank.file, thread) : NULL;
    if (!cursor)
        return;
    trc_cursor_seek(cursor, from);
    for (struct trc_record rec; trc_next(cursor, &rec) == TRC_OK;)
        if (is_step(r, &rec))
            add_step(r, rec.sig, rec.sequence, rec.begin);
    trc_cursor_close(cursor);
}

static int by_begin(const void *a, const void *b)
{
    const struct ana_step *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* The steps of all threads of a rank that call Gloo: PyTorch gives what one thread asks for to several. */
static void read_all_steps(struct reading *r)
{
    for (uint32_t t = 0; t < trc_threads(r->file); t++)
        read_steps(r, t);
    ana_sort(r->steps->step, r->steps->count, sizeof *r->steps->step, by_begin);
}

/* The waiting operation of that thread, else the longest; NULL: the rank is not blocked. */
static const struct ana_waiting *waiting_of(struct ana_case *c, size_t index, uint32_t thread)
{
    for (struct ana_waiting *p = ana_waits(c, index); p < ana_waits(c, index + 1); p++)
        if (p->blocked && p->thread == thread)
            return p;
    return ana_rank_waiting(c, index);
}

static const struct ana_steps none;

/* The steps of a thread, with the call that it is in, read once; none of too many ranks, or out of memory. */
static const struct ana_steps *steps_of(struct ana_case *c, size_t index, uint32_t thread,
                                        const struct ana_waiting *waiting)
{
    for (const struct ana_steps *s = c->steps; s; s = s->next)
        if (s->index == index && s->thread == thread)
            return s;
    struct ana_steps *steps = c->steps_read++ < RANKS_MOST ? calloc(1, sizeof *steps) : NULL;
    c->memory |= !steps && c->steps_read <= RANKS_MOST;
    if (!steps)
        return &none;
    struct reading r = {.c = c, .file = ana_case_file(c, index), .index = index, .steps = steps};
    ana_map_init(&r.places, sizeof(uint64_t));
    steps->whole = true;
    if (waiting && strncmp(waiting->call->name, "gloo::", 6) == 0)
        read_all_steps(&r);
    else
        read_steps(&r, thread);
    if (waiting)
        add_step(&r, waiting->sig, waiting->sequence, UINT64_MAX);
    ana_map_free(&r.places);
    steps->index = index;
    steps->open = waiting;
    steps->thread = thread;
    steps->next = c->steps;
    return c->steps = steps;
}

const struct ana_steps *ana_case_steps(struct ana_case *c, size_t index, uint32_t thread)
{
    const struct ana_waiting *waiting = waiting_of(c, index, thread);
    return waiting ? steps_of(c, index, waiting->thread, waiting) : &none;
}

const struct ana_steps *ana_thread_steps(struct ana_case *c, size_t index, uint32_t thread)
{
    const struct ana_waiting *waiting = waiting_of(c, index, thread);
    bool is_there = thread < trc_threads(ana_case_file(c, index));
    if (!is_there || (waiting && waiting->thread == thread))
        return ana_case_steps(c, index, thread);
    return steps_of(c, index, thread, NULL);
}

void ana_case_free_steps(struct ana_case *c)
{
    for (struct ana_steps *next; c->steps; c->steps = next) {
        next = c->steps->next;
        free(c->steps->step);
        free(c->steps);
    }
}
