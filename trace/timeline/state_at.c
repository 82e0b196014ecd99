/* State of a rank at a time: decodes the events around it and looks up their relations. */
#include "trace/job/analysis.h"
#include "trace/job/comms.h"
#include "trace/job/off.h"
#include "trace/job/site_words.h"
#include "trace/timeline/state_at.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct found_call {
    int64_t begin_ns, end_ns;
    struct trc_sig sig;
    uint64_t sequence, polls;  /* polls 0: there is no call */
    bool open;                 /* not come out of yet */
    struct trc_regions inside; /* regions around its thread at that time */
};

/* Calls of a rank around a time. */
struct around {
    int64_t at_ns;
    struct found_call call;   /* the one that covers that time, else the last to end before */
    int64_t last_ns, next_ns; /* begins of the last call up to that time and of the next one */
    bool lost;                /* records since the last call of a thread are lost */
};

/* A cursor of a thread that begins some way before `at_ns`: in the chunk before the one that holds it. */
static struct trc_cursor *open_cursor_before(struct ana_job *job, size_t index, size_t thread, int64_t at_ns)
{
    const struct ana_members *members = ana_job_members(job);
    struct trc_file *file = members->process[index].rank.file;
    uint64_t ticks = ana_clock_ticks(members->clock, index, ana_time_within(at_ns)), last = 0, before = 0;
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

static bool covers(const struct found_call *call, int64_t at_ns)
{
    return call->begin_ns <= at_ns &&
           (at_ns < call->end_ns || (at_ns == call->end_ns && call->begin_ns == call->end_ns));
}

/* Checks a call of a thread.  Returns whether it is the one at that time, as far as known. */
static bool check_call(struct around *a, const struct found_call *call)
{
    if (call->begin_ns > a->at_ns) {
        a->next_ns = ana_earlier(a->next_ns, call->begin_ns);
        return false;
    }
    a->last_ns = call->begin_ns > a->last_ns ? call->begin_ns : a->last_ns;
    bool here = covers(call, a->at_ns), was = covers(&a->call, a->at_ns);
    if (here != was ? was : here ? call->begin_ns < a->call.begin_ns : call->end_ns < a->call.end_ns)
        return false;
    a->call = *call;
    return true;
}

/* Follows a thread into a region and out of it. */
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

static void search_thread(struct ana_job *job, size_t index, size_t thread, struct around *a)
{
    const struct ana_members *members = ana_job_members(job);
    struct trc_file *file = members->process[index].rank.file;
    struct trc_cursor *cursor = open_cursor_before(job, index, thread, a->at_ns);
    struct trc_record r;
    struct trc_regions inside = {0};
    bool found = false, lost = false;
    if (cursor)
        trc_cursor_want_regions(cursor);
    while (cursor && trc_next(cursor, &r) == TRC_OK) {
        if (trc_is_region(r.kind) && ana_clock_job_time(members->clock, index, r.begin) <= a->at_ns)
            follow_region(&inside, &r);
        lost |= r.kind == TRC_RECORD_LOST;
        if (!r.sig || r.sig->flags & (TRC_SIG_SUB | TRC_SIG_NESTED))
            continue;
        struct found_call call = {.begin_ns = ana_clock_job_time(members->clock, index, r.begin),
                                  .end_ns = ana_clock_job_time(members->clock, index, r.end),
                                  .sig = *r.sig,
                                  .sequence = r.sequence,
                                  .polls = r.count};
        found |= check_call(a, &call);
        if (call.begin_ns > a->at_ns)
            break;
        lost = false;
    }
    if (cursor)
        trc_cursor_close(cursor);
    const struct trc_thread *live = trc_thread(file, thread);
    const struct trc_sig *sig = trc_live_sig(file, thread, live->inside);
    if (sig) {
        struct found_call call = {.begin_ns = ana_clock_job_time(members->clock, index, live->inside_since),
                                  .end_ns = members->process[index].rank.end_ns,
                                  .sig = *sig,
                                  .sequence = live->inside_sequence,
                                  .polls = 1,
                                  .open = true};
        found |= check_call(a, &call);
    }
    if (found)
        a->call.inside = inside;
    a->lost |= lost;
}

static struct around look_around(struct ana_job *job, size_t index, int64_t at_ns)
{
    const struct ana_members *members = ana_job_members(job);
    struct around a = {at_ns, {.begin_ns = INT64_MIN, .end_ns = INT64_MIN}, INT64_MIN, INT64_MAX, false};
    for (size_t t = 0; t < trc_threads(members->process[index].rank.file); t++)
        if (!trc_is_stream(members->process[index].rank.file, t))
            search_thread(job, index, t, &a);
    return a;
}

/* Returns the message that the call sends, receives or waits for; if it completes several, the last one. */
static const struct ana_stored_message *find_message(const struct ana_job *job, size_t index,
                                                     const struct found_call *f)
{
    const struct ana_analysis *analysis = ana_job_analysis(job);
    for (size_t i = 0; i < ana_store_count(analysis->store.messages, ANA_STORE_MESSAGES); i++) {
        const struct ana_stored_message *m = ana_store_message_at(&analysis->store, i);
        bool in = m->destination == index && (m->recv_begin_ns == f->begin_ns || m->recv_wait_ns == f->begin_ns);
        bool out = m->source == index && (m->send_begin_ns == f->begin_ns || m->send_wait_ns == f->begin_ns);
        if (in || out)
            return m;
    }
    return NULL;
}

static void add_message(const struct ana_job *job, size_t index, const struct found_call *f, struct ana_state_at *out)
{
    const struct ana_stored_message *m = find_message(job, index, f);
    if (!m)
        return;
    bool in = m->destination == index && (m->recv_begin_ns == f->begin_ns || m->recv_wait_ns == f->begin_ns);
    out->has_other_end = true;
    out->other_index = in ? m->source : m->destination;
    out->other_begin_ns = in ? m->send_begin_ns : m->recv_begin_ns;
}

/* Adds up what the call lost waiting, and finds the longest wait in it. */
static void add_waits(const struct ana_job *job, size_t index, const struct found_call *f, struct ana_state_at *out)
{
    const struct ana_store *store = &ana_job_analysis(job)->store;
    uint32_t call = ana_call_number_of(ana_job_members(job), index, f->sig.call);
    const struct ana_analysis *analysis = ana_job_analysis(job);
    if (f->open || f->end_ns > ana_known_time(job, index).end_ns || store->waits_since_ns > f->begin_ns ||
        (analysis->indexed && analysis->kept_since_ns > f->begin_ns))
        return;
    out->waited_ns = 0;
    const struct ana_stored_wait *w;
    for (uint64_t at = store->last_wait[index]; (w = ana_store_wait_of(store, at)); at = w->before) {
        if (w->call != call || w->kind == ANA_LATE_ON_DEVICE || w->begin_ns < f->begin_ns || w->end_ns > f->end_ns)
            continue;
        if (w->end_ns - w->begin_ns > out->wait.end_ns - out->wait.begin_ns)
            out->wait = (struct ana_state_wait){w->kind, w->culprit, w->begin_ns, w->end_ns};
        out->waited_ns += w->end_ns - w->begin_ns;
    }
    if (!out->waited_ns && !trc_opclass_has_wait_states(ana_job_members(job)->call[call].opclass))
        out->waited_ns = -1;
}

/* Returns why nothing is known of a time; NULL: it is known. */
static const char *why_unknown(const struct ana_job *job, size_t index, const struct around *a)
{
    const struct ana_process *process = &ana_job_members(job)->process[index];
    const struct ana_rank *rank = &process->rank;
    return covers(&a->call, a->at_ns)                               ? NULL
           : a->at_ns < rank->begin_ns                              ? "before the rank's trace begins"
           : a->at_ns > rank->end_ns && process->alive              ? "nothing is recorded yet"
           : a->at_ns > rank->end_ns                                ? "after the rank's trace ends"
           : a->at_ns < ana_known_time(job, index).begin_ns         ? "records of that time were overwritten"
           : ana_off_within(job, index, a->at_ns, a->at_ns + 1) > 0 ? "recording was off"
           : a->lost                                                ? "records of that time were lost"
                                                                    : NULL;
}

/* Adds partners of the call: of its message, or in its collective. */
static void add_partners(struct ana_job *job, size_t index, const struct found_call *f, struct ana_state_at *out)
{
    const struct trc_comm *comm =
        f->sig.comm ? trc_comm(ana_job_members(job)->process[index].rank.file, f->sig.comm) : NULL;
    uint64_t identity = comm ? ana_comm_identity(job, index, comm) : 0;
    if (comm)
        out->comm_name = ana_comm_name(job, identity, comm);
    if (f->sig.flags & TRC_SIG_P2P_OUT)
        out->to = ana_partner(job, index, comm, f->sig.peer);
    if (f->sig.flags & TRC_SIG_P2P_IN)
        out->from = ana_partner(job, index, comm, f->sig.source);
    if (!(f->sig.flags & TRC_SIG_COLL)) {
        add_message(job, index, f, out);
        return;
    }
    out->sequence = f->sequence;
    const struct ana_stored_instance *k =
        comm ? ana_store_find(&ana_job_analysis(job)->store, identity, f->sequence) : NULL;
    if (k) {
        out->last_index = (int32_t)k->last_index;
        out->late_ns = k->last_ns - k->first_ns;
    }
}

bool ana_state_at(struct ana_job *job, size_t index, int64_t at_ns, struct ana_state_at *out)
{
    const struct ana_members *members = ana_job_members(job);
    *out = (struct ana_state_at){.last_index = -1, .waited_ns = -1, .to = SIZE_MAX, .from = SIZE_MAX};
    out->unknown = index >= members->count                 ? "there is no such rank"
                   : !ana_job_analysis(job)->store.message ? "not read yet"
                                                           : NULL;
    if (out->unknown)
        return false;
    struct around a = look_around(job, index, at_ns);
    out->unknown = why_unknown(job, index, &a);
    if (out->unknown)
        return false;
    const struct ana_rank *rank = &members->process[index].rank;
    const struct found_call *f = &a.call;
    out->until_ns = ana_earlier(a.next_ns, rank->end_ns);
    out->begin_ns = out->end_ns = rank->begin_ns;
    if (!f->polls)
        return true;
    out->call = trc_call(rank->file, f->sig.call)->name;
    out->covers = covers(f, at_ns);
    out->open = f->open;
    out->begin_ns = f->begin_ns;
    out->end_ns = f->end_ns;
    out->polls = f->polls;
    out->sig = f->sig;
    const struct trc_path *path = trc_path_of(rank->file, f->sig.site);
    out->path = path ? *path : (struct trc_path){.n = f->sig.site != 0, .site = {f->sig.site}};
    out->place = trc_path_place(rank->file, &out->path);
    for (uint32_t i = 0, n = 0; i < f->inside.depth && n + 1 < sizeof out->region; i++) {
        const char *name = trc_region(rank->file, f->inside.id[i]);
        n += (uint32_t)snprintf(out->region + n, sizeof out->region - n, "%s%s", n ? ", " : "", name ? name : "?");
    }
    add_partners(job, index, f, out);
    if (out->covers)
        add_waits(job, index, f, out);
    return true;
}

int64_t ana_step(struct ana_job *job, size_t index, int64_t at_ns, int step)
{
    if (index >= ana_job_members(job)->count)
        return at_ns;
    struct around a = look_around(job, index, step < 0 && at_ns > INT64_MIN ? at_ns - 1 : at_ns);
    int64_t to_ns = step < 0 ? a.last_ns : a.next_ns;
    return to_ns > INT64_MIN && to_ns < INT64_MAX ? to_ns : at_ns;
}

/* Question about a record that begins in some time. */
typedef bool record_question(const struct ana_job *job, size_t index, const struct trc_record *record,
                             const void *asked);

/* The begin of the longest record of a rank, begun in [begin_ns, end_ns), with the answer yes; INT64_MIN: none. */
static int64_t find_longest(struct ana_job *job, size_t index, int64_t begin_ns, int64_t end_ns, record_question *is,
                            const void *asked)
{
    const struct ana_members *members = ana_job_members(job);
    int64_t at_ns = INT64_MIN, longest_ns = -1;
    struct trc_file *file = members->process[index].rank.file;
    for (size_t t = 0; t < trc_threads(file); t++) {
        struct trc_cursor *cursor = trc_is_stream(file, t) ? NULL : open_cursor_before(job, index, t, begin_ns);
        for (struct trc_record r; cursor && trc_next(cursor, &r) == TRC_OK;) {
            int64_t from_ns = ana_clock_job_time(members->clock, index, r.begin);
            int64_t ns = ana_clock_job_time(members->clock, index, r.end) - from_ns;
            if (from_ns >= end_ns)
                break;
            if (from_ns < begin_ns || ns <= longest_ns || !r.sig || !is(job, index, &r, asked))
                continue;
            at_ns = from_ns;
            longest_ns = ns;
        }
        if (cursor)
            trc_cursor_close(cursor);
    }
    return at_ns;
}

static bool is_at_site(const struct ana_job *job, size_t index, const struct trc_record *record, const void *asked)
{
    const struct ana_site *site = asked;
    const struct trc_file *file = ana_job_members(job)->process[index].rank.file;
    return trc_site_address(file, record->sig->site) == site->address &&
           strcmp(trc_call(file, record->sig->call)->name, site->call) == 0;
}

int64_t ana_longest(struct ana_job *job, const struct ana_site *site, int64_t begin_ns, int64_t end_ns)
{
    return find_longest(job, site->index, begin_ns, end_ns, is_at_site, site);
}

static bool is_send_to(const struct ana_job *job, size_t index, const struct trc_record *record, const void *asked)
{
    const struct trc_sig *sig = record->sig;
    const struct trc_file *file = ana_job_members(job)->process[index].rank.file;
    return (sig->flags & TRC_SIG_P2P_OUT) && !(sig->flags & TRC_SIG_COMPLETE) &&
           ana_partner(job, index, trc_comm(file, sig->comm), sig->peer) == *(const size_t *)asked;
}

int64_t ana_longest_send(struct ana_job *job, size_t source, size_t destination, int64_t begin_ns, int64_t end_ns)
{
    return find_longest(job, source, begin_ns, end_ns, is_send_to, &destination);
}
