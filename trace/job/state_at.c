/* State of a rank at a time: decodes the events around it and looks up their relations. */
#include "trace/job/job_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call found around a time. */
struct found_call {
    bool any;
    int64_t begin_ns, end_ns;
    struct trc_sig sig;
    uint64_t sequence;
    bool open;                 /* not come out of yet */
    struct trc_regions inside; /* regions around its thread at that time */
};

/* A cursor of a thread that begins some way before `at_ns`: in the chunk before the one that holds it. */
static struct trc_cursor *open_cursor_before(struct ana_job *job, size_t index, size_t thread, int64_t at_ns)
{
    struct trc_file *file = job->process[index].rank.file;
    uint64_t ticks = ana_clock_ticks(job->clock, index, ana_time_within(at_ns)), last = 0, before = 0;
    for (size_t c = 0; c < trc_event_chunks(file); c++) {
        struct trc_chunk_info info = trc_event_chunk(file, c);
        if (info.thread == thread && info.first_ticks <= ticks && info.records) {
            before = last;
            last = info.first_ticks;
        }
    }
    struct trc_cursor *cursor = trc_cursor_open(file, thread);
    if (cursor && before)
        trc_cursor_seek(cursor, before);
    return cursor;
}

enum which {
    AT,       /* the call that covers that time, else the last that began before */
    PREVIOUS, /* the last that began before that time */
    NEXT      /* the first that begins after it */
};

static bool is_better(enum which which, const struct found_call *f, int64_t begin_ns, int64_t at_ns)
{
    switch (which) {
    case AT:
        return begin_ns <= at_ns && (!f->any || begin_ns >= f->begin_ns);
    case PREVIOUS:
        return begin_ns < at_ns && (!f->any || begin_ns >= f->begin_ns);
    default:
        return begin_ns > at_ns && (!f->any || begin_ns < f->begin_ns);
    }
}

/* Goes with a thread into a region and out of it. */
static void follow_region(struct trc_regions *inside, const struct trc_record *r)
{
    uint32_t id = (uint32_t)r->sequence;
    if (r->kind == TRC_RECORD_END) {
        trc_regions_leave(inside, id);
        return;
    }
    if (r->kind == TRC_RECORD_OPEN && r->count && r->count <= inside->depth)
        inside->depth = (uint32_t)r->count - 1;
    trc_regions_enter(inside, id);
}

static void search_thread(struct ana_job *job, size_t index, size_t thread, int64_t at_ns, enum which which,
                          struct found_call *f)
{
    struct trc_cursor *cursor = open_cursor_before(job, index, thread, at_ns);
    struct trc_record r;
    struct trc_regions inside = {0};
    bool better = false;
    if (cursor)
        trc_cursor_want_regions(cursor);
    while (cursor && trc_next(cursor, &r) == TRC_OK) {
        if (trc_is_region(r.kind)) {
            if (ana_clock_job_time(job->clock, index, r.begin) <= at_ns)
                follow_region(&inside, &r);
            continue;
        }
        if (r.kind == TRC_RECORD_LOST || (r.sig->flags & (TRC_SIG_SUB | TRC_SIG_NESTED)))
            continue;
        int64_t begin = ana_clock_job_time(job->clock, index, r.begin);
        if (is_better(which, f, begin, at_ns)) {
            *f = (struct found_call){true,  begin, ana_clock_job_time(job->clock, index, r.end), *r.sig, r.sequence,
                                     false, {0}};
            better = true;
        }
        if (begin > at_ns)
            break;
    }
    if (cursor)
        trc_cursor_close(cursor);
    struct trc_file *file = job->process[index].rank.file;
    const struct trc_thread *live = trc_thread(file, thread);
    const struct trc_sig *sig = trc_live_sig(file, thread, live->inside);
    int64_t begin = sig ? ana_clock_job_time(job->clock, index, live->inside_since) : 0;
    if (sig && is_better(which, f, begin, at_ns)) {
        *f = (struct found_call){true, begin, job->process[index].rank.end_ns, *sig, live->inside_sequence, true, {0}};
        better = true;
    }
    if (better)
        f->inside = inside;
}

static struct found_call find_call(struct ana_job *job, size_t index, int64_t at_ns, enum which which)
{
    struct found_call f = {0};
    for (size_t t = 0; t < trc_threads(job->process[index].rank.file); t++)
        if (!trc_is_stream(job->process[index].rank.file, t))
            search_thread(job, index, t, at_ns, which, &f);
    return f;
}

/* Returns the message that the call sends, receives or waits for; if it completes several, the last one. */
static const struct ana_kept_message *find_message(const struct ana_job *job, size_t index, const struct found_call *f)
{
    for (size_t i = 0; i < ana_store_count(job->store.messages, ANA_STORE_MESSAGES); i++) {
        const struct ana_kept_message *m = ana_store_message_at(&job->store, i);
        bool in = m->destination == index && (m->recv_begin_ns == f->begin_ns || m->recv_wait_ns == f->begin_ns);
        bool out = m->source == index && (m->send_begin_ns == f->begin_ns || m->send_wait_ns == f->begin_ns);
        if (in || out)
            return m;
    }
    return NULL;
}

static void add_message(const struct ana_job *job, size_t index, const struct found_call *f, struct ana_state_at *out)
{
    const struct ana_kept_message *m = find_message(job, index, f);
    if (!m)
        return;
    bool in = m->destination == index && (m->recv_begin_ns == f->begin_ns || m->recv_wait_ns == f->begin_ns);
    out->has_other_end = true;
    out->other_index = in ? m->source : m->destination;
    out->other_begin_ns = in ? m->send_begin_ns : m->recv_begin_ns;
}

bool ana_state_at(struct ana_job *job, size_t index, int64_t at_ns, struct ana_state_at *out)
{
    *out = (struct ana_state_at){.last_index = -1};
    if (index >= job->count || !job->store.message)
        return false;
    struct found_call f = find_call(job, index, at_ns, AT);
    if (!f.any)
        return false;
    struct trc_file *file = job->process[index].rank.file;
    out->call = trc_call(file, f.sig.call)->name;
    out->covers = at_ns < f.end_ns || (at_ns == f.end_ns && f.begin_ns == f.end_ns);
    out->begin_ns = f.begin_ns;
    out->end_ns = f.end_ns;
    out->sig = f.sig;
    for (uint32_t i = 0, n = 0; i < f.inside.depth && n + 1 < sizeof out->region; i++) {
        const char *name = trc_region(file, f.inside.id[i]);
        n += (uint32_t)snprintf(out->region + n, sizeof out->region - n, "%s%s", n ? ", " : "", name ? name : "?");
    }
    const struct trc_comm *comm = f.sig.comm ? trc_comm(file, f.sig.comm) : NULL;
    if (comm)
        out->comm_name = ana_comm_name(job, ana_comm_identity(job, index, comm), comm);
    if (!(f.sig.flags & TRC_SIG_COLL)) {
        add_message(job, index, &f, out);
        return true;
    }
    out->sequence = f.sequence;
    const struct ana_kept_instance *k =
        comm ? ana_store_find(&job->store, ana_comm_identity(job, index, comm), f.sequence) : NULL;
    if (k) {
        out->last_index = (int32_t)k->last_index;
        out->late_ns = k->last_ns - k->first_ns;
    }
    return true;
}

int64_t ana_step(struct ana_job *job, size_t index, int64_t at_ns, int step)
{
    if (index >= job->count)
        return at_ns;
    struct found_call f = find_call(job, index, at_ns, step < 0 ? PREVIOUS : NEXT);
    return f.any ? f.begin_ns : at_ns;
}
