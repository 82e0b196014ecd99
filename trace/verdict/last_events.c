/* The last events of a rank: its last collectives, and the requests that are still open. */
#include "trace/job/upper.h"
#include "trace/util/grow.h"
#include "trace/verdict/order.h"
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>
#include <string.h>

#define CHUNKS      2u  /* read of each thread: at least 65,000 events when they are full */
#define COLLECTIVES 64u /* kept of each thread */
#define GAPS_LEAST  20u /* fewer tell nothing of what a rank usually does between calls */
#define FLAG_BYTES  16u /* an access to a window that moves no more may look at a flag, or try a lock */

/* An MPI_Cancel: of a request with this partner and tag. */
struct cancel {
    struct trc_sig sig;
    int64_t begin_ns;
};

struct reading {
    struct ana_case *c;
    struct ana_last_events *last_events;
    size_t index;
    uint32_t thread;
    size_t first_collective; /* first collective of this thread */
    int64_t end_ns;          /* end of its last event; INT64_MIN: none yet */
    struct ana_map requests; /* (thread, number) -> struct ana_open_request */
    struct cancel *cancel;
    size_t cancels, cancel_room;
};

static int64_t time_of(const struct reading *r, uint64_t ticks)
{
    return ana_time_within(ana_clock_job_time(r->c->members->clock, r->index, ticks));
}

/* The request of a record; NULL: it has none, or out of memory. */
static struct ana_open_request *request_of(struct reading *r, uint32_t thread, uint64_t number)
{
    struct ana_open_request *request = number == UINT64_MAX ? NULL : ana_map_add(&r->requests, thread, number, 0);
    r->c->memory |= number != UINT64_MAX && !request;
    return request;
}

static void note_start(struct reading *r, const struct trc_record *rec, const struct trc_call *call)
{
    struct ana_open_request *request = request_of(r, r->thread, rec->request);
    if (request && !request->ended)
        *request = (struct ana_open_request){.sig = *rec->sig,
                                             .call = call,
                                             .thread = r->thread,
                                             .sequence = rec->sequence,
                                             .begin_ns = time_of(r, rec->begin)};
}

/* Notes that MPI_Imrecv receives what this thread has found by MPI_Mprobe: the request of its last such message. */
static void note_imrecv(struct reading *r, const struct trc_record *rec, const struct trc_call *call)
{
    for (size_t i = r->requests.count; i-- > 0;) {
        struct ana_open_request *request = ana_map_value(&r->requests, i);
        if (!request->ended && request->call && request->call->opclass == TRC_OP_MPROBE &&
            request->thread == r->thread && request->sig.comm == rec->sig->comm &&
            request->sig.source == rec->sig->source && request->sig.rtag == rec->sig->rtag) {
            request->call = call;
            request->sig.site = rec->sig->site;
            return;
        }
    }
}

/* Notes a completion; another thread's start may be read later. */
static void note_ending(struct reading *r, const struct trc_record *rec)
{
    struct ana_open_request *request = request_of(r, rec->request_thread, rec->request);
    if (request)
        request->ended = true;
}

static void note_cancel(struct reading *r, const struct trc_record *rec, const struct trc_call *call)
{
    if (rec->sig->comm && strcmp(call->name, "MPI_Cancel") == 0 &&
        ana_grow(&r->cancel, r->cancels, &r->cancel_room, sizeof *r->cancel))
        r->cancel[r->cancels++] = (struct cancel){*rec->sig, time_of(r, rec->begin)};
}

static void note_collective(struct reading *r, const struct trc_record *rec, const struct trc_call *call)
{
    const struct trc_comm *comm = trc_comm(r->c->members->process[r->index].rank.file, rec->sig->comm);
    if (!comm)
        return;
    uint64_t identity = ana_comm_identity(r->c->job, r->index, comm);
    uint64_t *newest = ana_map_add(&r->last_events->newest, identity, 0, 0);
    if (newest && rec->sequence + 1 > *newest)
        *newest = rec->sequence + 1; /* plus one: 0 is none */
    struct ana_last_events *t = r->last_events;
    struct ana_last_collective one = {identity, rec->sequence, call, *rec->sig,
                                      trc_order_in_doubt(comm, rec->sequence)};
    if (t->collectives - r->first_collective >= 2 * COLLECTIVES) { /* forget the older half */
        memmove(t->collective + r->first_collective, t->collective + r->first_collective + COLLECTIVES,
                COLLECTIVES * sizeof *t->collective);
        t->collectives -= COLLECTIVES;
    }
    if (ana_grow(&t->collective, t->collectives, &t->collective_room, sizeof *t->collective))
        t->collective[t->collectives++] = one;
}

/* Adds or removes a lock.  Locks are of the process: another thread may unlock. */
static void note_lock(struct reading *r, const struct trc_record *rec, const struct trc_call *call)
{
    const struct trc_comm *win = trc_comm(r->c->members->process[r->index].rank.file, rec->sig->comm);
    bool all = strcmp(call->name, "MPI_Win_lock_all") == 0 || strcmp(call->name, "MPI_Win_unlock_all") == 0;
    bool locks = strncmp(call->name, "MPI_Win_lock", 12) == 0, unlocks = strncmp(call->name, "MPI_Win_unlock", 14) == 0;
    struct ana_last_events *t = r->last_events;
    if (!win || (rec->sig->peer < 0 && !all) || (!locks && !unlocks))
        return;
    struct ana_held_lock one = {win->def.identity, rec->sig->peer, all || rec->sig->flags & TRC_SIG_SHARED,
                                rec->sig->site};
    size_t at = 0;
    while (at < t->locks && (t->lock[at].identity != one.identity || t->lock[at].target != one.target))
        at++;
    bool known = at < t->locks;
    if (locks && !known && t->locks == ANA_HELD_LOCKS) /* the oldest makes room */
        at = 0;
    if (at < t->locks && (unlocks || !known))
        memmove(t->lock + at, t->lock + at + 1, (--t->locks - at) * sizeof *t->lock);
    if (locks && !known)
        t->lock[t->locks++] = one;
}

bool ana_may_be_vain(enum trc_opclass opclass)
{
    return opclass == TRC_OP_WAIT || opclass == TRC_OP_TEST || trc_opclass_is_probe(opclass) ||
           trc_opclass_is_one_sided(opclass);
}

static void note_effect(struct reading *r, const struct trc_record *rec, enum trc_opclass opclass)
{
    struct ana_last_events *t = r->last_events;
    uint32_t flags = rec->sig->flags;
    int64_t end_ns = time_of(r, rec->end);
    bool moves = trc_opclass_is_one_sided(opclass) && (rec->sig->sent > FLAG_BYTES || rec->sig->received > FLAG_BYTES);
    bool completes = moves || flags & (TRC_SIG_SUB | TRC_SIG_COMPLETE);
    if (!completes && (ana_may_be_vain(opclass) || !trc_opclass_is(opclass, TRC_FACT_WAITS))) {
        t->vain += rec->count;
    } else if (end_ns > t->effect_ns) {
        t->effect_ns = end_ns;
        t->vain = 0;
    }
}

/* The time outside MPI before a call. */
static void note_gap(struct reading *r, const struct trc_record *rec)
{
    struct ana_last_events *t = r->last_events;
    int64_t begin = time_of(r, rec->begin), gap_ns = r->end_ns == INT64_MIN ? 0 : begin - r->end_ns;
    t->gap_ns = gap_ns > t->gap_ns ? gap_ns : t->gap_ns;
    t->gaps += r->end_ns != INT64_MIN;
    r->end_ns = time_of(r, rec->end);
}

int64_t ana_longest_outside_ns(struct ana_case *c, size_t index)
{
    const struct ana_last_events *t = ana_case_last_events(c, index);
    return t->gaps >= GAPS_LEAST ? t->gap_ns : INT64_MAX;
}

static void note(struct reading *r, const struct trc_record *rec)
{
    if (rec->kind != TRC_RECORD_EVENT || !rec->sig)
        return;
    uint32_t flags = rec->sig->flags;
    const struct trc_call *call = trc_call(r->c->members->process[r->index].rank.file, rec->sig->call);
    if (flags & TRC_SIG_NESTED) {
        if (trc_opclass_category(call->opclass) == TRC_CAT_COLLECTIVE) {
            r->last_events->nested = (struct ana_last_collective){.call = call, .sig = *rec->sig};
            r->last_events->since_nested = 0;
        }
        return;
    }
    note_gap(r, rec);
    if (rec->sig->peer == TRC_PEER_NULL && trc_opclass_category(call->opclass) == TRC_CAT_P2P)
        r->last_events->null_send = *rec->sig;
    if (flags & TRC_SIG_COMPLETE)
        note_ending(r, rec);
    else if (flags & TRC_SIG_START)
        note_start(r, rec, call);
    else if (call->opclass == TRC_OP_IMRECV && !(flags & TRC_SIG_FAILED))
        note_imrecv(r, rec, call);
    if (flags & TRC_SIG_COLL && !(flags & TRC_SIG_COMPLETE))
        note_collective(r, rec, call);
    if (call->opclass == TRC_OP_RMA_SYNC && !(flags & TRC_SIG_FAILED))
        note_lock(r, rec, call);
    if (call->opclass == TRC_OP_REQUEST)
        note_cancel(r, rec, call);
    if (flags & TRC_SIG_POLL)
        *(trc_opclass_is_probe(call->opclass) ? &r->last_events->probe : &r->last_events->test) =
            (struct ana_last_poll){*rec->sig, r->thread, time_of(r, rec->end)};
    note_effect(r, rec, call->opclass);
    r->last_events->fails |= flags & TRC_SIG_FAILED;
    r->last_events->since_failed += rec->count;
    r->last_events->since_nested += rec->count;
    if (flags & TRC_SIG_FAILED && trc_opclass_is(call->opclass, TRC_FACT_WAITS)) {
        r->last_events->failed = (struct ana_last_collective){.call = call, .sig = *rec->sig};
        r->last_events->since_failed = 0;
    }
    bool test = flags & TRC_SIG_POLL || call->opclass == TRC_OP_TEST; /* includes tests of inactive requests */
    bool moves = flags & (TRC_SIG_SUB | TRC_SIG_COMPLETE) || (!test && trc_opclass_is(call->opclass, TRC_FACT_WAITS));
    if (moves)
        r->last_events->progress_ns[r->thread] = time_of(r, rec->end);
}

static void read_thread(struct reading *r, uint64_t from_ticks)
{
    struct trc_file *file = r->c->members->process[r->index].rank.file;
    struct trc_cursor *cursor = trc_cursor_open(file, r->thread);
    if (!cursor) {
        r->c->memory = true;
        return;
    }
    trc_cursor_seek(cursor, from_ticks);
    r->first_collective = r->last_events->collectives;
    r->end_ns = INT64_MIN;
    for (struct trc_record rec; trc_next(cursor, &rec) == TRC_OK;)
        note(r, &rec);
    trc_cursor_close(cursor);
}

bool ana_same_partner(const struct trc_sig *a, const struct trc_sig *b)
{
    return a->comm == b->comm && a->peer == b->peer && a->tag == b->tag && a->source == b->source && a->rtag == b->rtag;
}

static void store_open(struct reading *r)
{
    struct ana_last_events *t = r->last_events;
    for (size_t i = 0; i < r->requests.count; i++) {
        struct ana_open_request *request = ana_map_value(&r->requests, i);
        for (size_t k = 0; k < r->cancels; k++)
            request->cancelling |=
                r->cancel[k].begin_ns >= request->begin_ns && ana_same_partner(&r->cancel[k].sig, &request->sig);
        if (!request->ended && ana_grow(&t->open, t->opens, &t->open_room, sizeof *t->open))
            t->open[t->opens++] = *request;
    }
}

static void read_last_events(struct ana_case *c, size_t index, struct ana_last_events *last_events)
{
    struct trc_file *file = ana_case_file(c, index);
    struct reading r = {.c = c, .last_events = last_events, .index = index};
    uint64_t from[TRC_MAX_THREADS] = {0};
    unsigned chunks[TRC_MAX_THREADS] = {0};
    ana_map_init(&r.requests, sizeof(struct ana_open_request));
    for (size_t i = trc_event_chunks(file); i-- > 0;) {
        struct trc_chunk_info chunk = trc_event_chunk(file, i);
        if (chunk.thread < TRC_MAX_THREADS && chunks[chunk.thread] < CHUNKS) {
            chunks[chunk.thread]++;
            from[chunk.thread] = chunk.first_ticks;
        }
    }
    for (uint32_t t = 0; t < TRC_MAX_THREADS; t++)
        if (chunks[t]) {
            r.thread = t;
            read_thread(&r, from[t]);
        }
    store_open(&r);
    ana_map_free(&r.requests);
    free(r.cancel);
}

/* ---- state kept from verdict to verdict -------------------------------------------------------------------------- */

/* Place where the last events of a rank stay known; NULL: they do not. Data written back is seen late, without a
 * refresh. */
static struct ana_known *place_of(const struct ana_case *c, size_t index)
{
    bool stays = c->members->bundle.watch.on && !(ana_case_head(c, index)->flags & TRC_HEAD_WRITE_BACK);
    return stays ? ana_known_of(c, index) : NULL;
}

static void note_known(const struct ana_case *c, size_t index, struct ana_known *known)
{
    known->events = c->last_events[index];
    known->revision = trc_revision(ana_case_file(c, index));
    known->line = ana_clock_line(c->members->clock, index);
}

/* Whether the kept knowledge of a rank is still valid. */
static bool is_still_so(const struct ana_case *c, size_t index, const struct ana_known *known)
{
    struct ana_clock_line line = ana_clock_line(c->members->clock, index);
    return known && known->events && known->revision == trc_revision(ana_case_file(c, index)) &&
           known->line.base == line.base && known->line.job_ns == line.job_ns && known->line.rate == line.rate;
}

void ana_case_close_last_events(struct ana_case *c)
{
    for (size_t i = 0; c->last_events && i < c->count; i++) {
        struct ana_known *known = c->last_events[i] ? place_of(c, i) : NULL;
        if (!c->last_events[i] || (known && known->events == c->last_events[i]))
            continue;
        if (known && !c->memory) {
            ana_last_events_free(known->events);
            note_known(c, i, known);
        } else {
            ana_last_events_free(c->last_events[i]);
        }
    }
}

struct ana_last_events *ana_case_last_events(struct ana_case *c, size_t index)
{
    static struct ana_last_events none;
    if (c->last_events[index])
        return c->last_events[index];
    const struct ana_known *known = place_of(c, index);
    if (is_still_so(c, index, known))
        return c->last_events[index] = known->events;
    struct ana_last_events *last_events = calloc(1, sizeof *last_events);
    if (!last_events) {
        c->memory = true;
        return &none;
    }
    ana_map_init(&last_events->newest, sizeof(uint64_t));
    last_events->effect_ns = INT64_MIN;
    for (size_t t = 0; t < TRC_MAX_THREADS; t++)
        last_events->progress_ns[t] = INT64_MIN;
    read_last_events(c, index, last_events);
    return c->last_events[index] = last_events;
}

const struct ana_last_collective *ana_past_collective(struct ana_case *c, size_t index, uint64_t identity,
                                                      uint64_t sequence)
{
    const struct ana_last_events *last_events = ana_case_last_events(c, index);
    for (size_t k = last_events->collectives; k-- > 0;)
        if (last_events->collective[k].identity == identity && last_events->collective[k].sequence == sequence)
            return &last_events->collective[k];
    return NULL;
}

void ana_last_events_free(struct ana_last_events *last_events)
{
    if (!last_events)
        return;
    ana_map_free(&last_events->newest);
    free(last_events->collective);
    free(last_events->open);
    free(last_events);
}
