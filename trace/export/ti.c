/* Time-independent actions, which SimGrid replays: what each rank did in its order, work in ns, messages with partner, tag
 * and bytes, collectives.  How long these took is not in it; that is for the network that they are replayed on.
 * Source: SimGrid's documentation, "SMPI: Offline simulation"; the words and their arguments are those of 3.32. */
#include "trace/export/ti_impl.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The number of another rank as copy `copy` of a rank sees it: as far away as for the first, around all of them. */
static uint32_t peer_of(const struct ti *ti, uint32_t me, uint32_t peer, bool receives, unsigned copy)
{
    int64_t n = (int64_t)ti->ranks, all = n * ti->copies, away = (int64_t)peer - (int64_t)me;
    if (ti->copies == 1)
        return peer;
    if (2 * away > n || (2 * away == n && receives))
        away -= n;
    else if (2 * away < -n || (2 * away == -n && !receives))
        away += n;
    return (uint32_t)(((int64_t)me + (int64_t)copy * n + away + all) % all);
}

static void put_work(struct ana_exporting *x, struct ti_rank *rank)
{
    struct ti *ti = x->own;
    char text[96];
    for (unsigned c = 0; rank->work_ns >= 0.5 && c < ti->copies; c++) {
        snprintf(text, sizeof text, "%zu compute %.0f\n", rank->number + c * ti->ranks, rank->work_ns);
        ana_out_text(x->out, text);
    }
    rank->work_ns = 0;
}

void ti_put(struct ana_exporting *x, size_t index, struct ti_action action)
{
    struct ti *ti = x->own;
    struct ti_rank *rank = &ti->rank[index];
    char text[160], peer[16] = "";
    put_work(x, rank);
    for (unsigned c = 0; c < ti->copies; c++) {
        if (action.peer != UINT32_MAX)
            snprintf(peer, sizeof peer, " %u", peer_of(ti, rank->number, action.peer, action.receives, c));
        snprintf(text, sizeof text, "%zu %s%s%s\n", rank->number + c * ti->ranks, action.word, peer, action.rest);
        ana_out_text(x->out, text);
    }
}

void ti_put_message(struct ana_exporting *x, size_t index, const char *word, uint32_t peer, int32_t tag, uint64_t bytes)
{
    char rest[64];
    bool receives = strstr(word, "recv");
    snprintf(rest, sizeof rest, " %d %llu", tag, (unsigned long long)(receives ? TI_ROOM : bytes));
    ti_put(x, index, (struct ti_action){word, peer, receives, rest});
}

/* Whom it is from and to, in the order of the action's arguments. */
void ti_put_wait(struct ana_exporting *x, size_t index, uint32_t peer, int32_t tag, bool receives)
{
    struct ti *ti = x->own;
    struct ti_rank *rank = &ti->rank[index];
    char text[96];
    put_work(x, rank);
    for (unsigned c = 0; c < ti->copies; c++) {
        size_t me = rank->number + c * ti->ranks, other = peer_of(ti, rank->number, peer, receives, c);
        snprintf(text, sizeof text, "%zu wait %zu %zu %d\n", me, receives ? other : me, receives ? me : other, tag);
        ana_out_text(x->out, text);
    }
}

int32_t ti_tag(struct ana_exporting *x, const struct ana_event *e, int32_t tag)
{
    const struct ana_export_comm *of =
        e->comm ? ana_export_comm(x, ana_comm_identity(x->job, e->index, e->comm), e->comm) : NULL;
    return (int32_t)((of ? of->number % TI_TAGS : 0) * TI_TAGS + (uint32_t)tag % TI_TAGS);
}

uint32_t ti_number(const struct ana_exporting *x, const struct ana_event *e, int32_t world_rank)
{
    const struct ti *ti = x->own;
    bool is_rank = world_rank >= 0 || world_rank <= TRC_PEER_REMOTE;
    size_t index = is_rank ? ana_partner(x->job, e->index, e->comm, world_rank) : SIZE_MAX;
    return index < x->job->count && ana_selected(x->ask->part.ranks, index) ? ti->rank[index].number : UINT32_MAX;
}

/* Whether a message was meant for a rank: not for MPI_PROC_NULL. */
static bool is_meant(int32_t peer)
{
    return peer != TRC_PEER_NONE && peer != TRC_PEER_NULL;
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

static struct ti_request *request_of(struct ana_exporting *x, const struct ana_event *e, bool receives, bool make)
{
    struct ti *ti = x->own;
    uint64_t half = (uint64_t)e->request_thread << 1 | receives;
    if (e->request == UINT64_MAX)
        return NULL;
    return make ? ana_map_add(&ti->posted, e->index, half, e->request)
                : ana_map_find(&ti->posted, e->index, half, e->request);
}

static uint64_t known(uint64_t bytes)
{
    return bytes == TRC_BYTES_UNKNOWN ? 0 : bytes;
}

/* A half of a message that a request stands for.  Of a receive from anywhere there is no action before it is complete. */
static void start_half(struct ana_exporting *x, const struct ana_event *e, bool receives)
{
    struct ti *ti = x->own;
    const struct trc_sig *sig = e->sig;
    int32_t peer = receives ? sig->source : sig->peer, tag = receives ? sig->rtag : sig->tag;
    uint32_t number = ti_number(x, e, peer);
    struct ti_request *request = request_of(x, e, receives, true);
    bool exact = number != UINT32_MAX && tag >= 0;
    if (!request)
        return;
    *request = (struct ti_request){exact ? number + 1 : 0, exact ? ti_tag(x, e, tag) : 0};
    if (exact)
        ti_put_message(x, e->index, receives ? "irecv" : "isend", number, request->tag, known(sig->sent));
    ti->left_out += !exact && !receives && is_meant(peer);
}

/* A receive that was cancelled would stay open: who was to send to it sends nothing. */
static void answer_cancelled(struct ana_exporting *x, size_t index, const struct ti_request *request)
{
    struct ti *ti = x->own;
    for (size_t i = 0; i < x->job->count; i++)
        if (ti->rank[i].number == request->peer - 1 && ti->rank[i].begun && !ti->rank[i].ended) {
            ti_put_message(x, i, "isend", ti->rank[index].number, request->tag, 0);
            return;
        }
}

/* A half that has ended, by a request or at once. */
static void end_half(struct ana_exporting *x, const struct ana_event *e, bool receives)
{
    struct ti *ti = x->own;
    struct ti_request *request = request_of(x, e, receives, false);
    if (request && request->peer) {
        if (receives && e->sig->flags & TRC_SIG_CANCELLED)
            answer_cancelled(x, e->index, request);
        ti_put_wait(x, e->index, request->peer - 1, request->tag, receives);
    } else if (receives && !(e->sig->flags & TRC_SIG_CANCELLED)) {
        uint32_t number = ti_number(x, e, e->sig->source);
        if (number != UINT32_MAX && e->sig->rtag >= 0)
            ti_put_message(x, e->index, "recv", number, ti_tag(x, e, e->sig->rtag), 0);
        ti->left_out += (number == UINT32_MAX || e->sig->rtag < 0) && is_meant(e->sig->source);
    }
    if (request)
        ana_map_remove(&ti->posted, request);
}

/* A blocking call: what it sends leaves first, where it does both. */
static void put_blocking(struct ana_exporting *x, const struct ana_event *e)
{
    struct ti *ti = x->own;
    const struct trc_sig *sig = e->sig;
    bool sends = sig->flags & TRC_SIG_P2P_OUT, receives = sig->flags & TRC_SIG_P2P_IN;
    uint32_t to = sends ? ti_number(x, e, sig->peer) : UINT32_MAX;
    int32_t tag = to != UINT32_MAX ? ti_tag(x, e, sig->tag) : 0;
    ti->left_out += sends && to == UINT32_MAX && is_meant(sig->peer);
    if (to != UINT32_MAX)
        ti_put_message(x, e->index, receives ? "isend" : "send", to, tag, known(sig->sent));
    if (receives)
        end_half(x, e, true);
    if (to != UINT32_MAX && receives)
        ti_put_wait(x, e->index, to, tag, false);
}

static void put_call(struct ana_exporting *x, const struct ana_event *e)
{
    struct ti *ti = x->own;
    uint32_t flags = e->sig->flags;
    bool message = flags & (TRC_SIG_P2P_OUT | TRC_SIG_P2P_IN);
    if (flags & TRC_SIG_COMPLETE) {
        if (!(flags & TRC_SIG_P2P_IN))
            end_half(x, e, false);
        else
            end_half(x, e, true);
    } else if (flags & TRC_SIG_START && message && e->call->opclass != TRC_OP_MPROBE) {
        if (flags & TRC_SIG_P2P_OUT)
            start_half(x, e, false);
        if (flags & TRC_SIG_P2P_IN)
            start_half(x, e, true);
    } else if (message && e->call->opclass != TRC_OP_MPROBE && !trc_opclass_is_probe(e->call->opclass)) {
        put_blocking(x, e);
    } else if (flags & TRC_SIG_COLL && !(flags & TRC_SIG_CONTROL) && e->comm) {
        ti->left_out += !ti_put_collective(x, e);
    }
}

/* ---- the walk ----------------------------------------------------------------------------------------------------- */

static bool number_ranks(struct ana_exporting *x, struct ti *ti)
{
    ti->rank = calloc(x->job->count + 1, sizeof *ti->rank);
    for (size_t i = 0; ti->rank && i < x->job->count; i++) {
        ti->rank[i].clock.until_ns = INT64_MIN;
        if (ana_selected(x->ask->part.ranks, i))
            ti->rank[i].number = (uint32_t)ti->ranks++;
    }
    return ti->rank;
}

static void put_facts(struct ana_exporting *x)
{
    struct ana_job_info info = ana_job_info(x->job);
    char text[64];
    ana_out_text(x->out, "# hpctop: work in ns\n# command ");
    ana_out_json(x->out, info.command); /* quotes keep it on its line */
    snprintf(text, sizeof text, "\n# ranks %zu\n", ((struct ti *)x->own)->ranks);
    ana_out_text(x->out, text);
}

static bool begin(struct ana_exporting *x)
{
    const struct ana_ti *change = x->ask->ti;
    struct ti *ti = x->own = calloc(1, sizeof *ti);
    if (x->ask->part.begin_ns > 0 || x->ask->part.end_ns != INT64_MAX) {
        ana_export_fail(x, "a part of the time cannot be replayed: whom its messages went to is not in it");
        return false;
    }
    if (ti) {
        ti->copies = change && change->copies > 1 ? change->copies : 1;
        ana_map_init(&ti->posted, sizeof(struct ti_request));
        ana_map_init(&ti->levels, sizeof(struct ti_level));
    }
    if (!ti || !number_ranks(x, ti) || (change && change->level && !ti_find_levels(x, ti, change->level))) {
        ana_export_fail(x, "out of memory");
        return false;
    }
    if (x->ask->ti)
        *x->ask->ti = (struct ana_ti){change->level, change->copies, INT64_MAX, INT64_MIN, ti->ranks, 0};
    put_facts(x);
    return true;
}

static void end_rank(struct ana_exporting *x, size_t index)
{
    struct ti_rank *rank = &((struct ti *)x->own)->rank[index];
    if (rank->begun && !rank->ended) { /* SimGrid cannot send to one that has ended before */
        ti_put(x, index, (struct ti_action){"barrier", UINT32_MAX, false, ""});
        ti_put(x, index, (struct ti_action){"finalize", UINT32_MAX, false, ""});
    }
    rank->ended = true;
}

static void begin_rank(struct ana_exporting *x, size_t index, int64_t at_ns)
{
    struct ti_rank *rank = &((struct ti *)x->own)->rank[index];
    struct ana_ti *told = x->ask->ti;
    rank->work_ns = 0; /* what it did before is in no rank's run */
    if (!rank->begun)
        ti_put(x, index, (struct ti_action){"init", UINT32_MAX, false, ""});
    if (told && !rank->begun && at_ns < told->begin_ns)
        told->begin_ns = at_ns;
    rank->begun = true;
}

static void event(struct ana_exporting *x, struct ana_export_thread *thread, const struct ana_event *e)
{
    struct ti *ti = x->own;
    struct ti_rank *rank = &ti->rank[e->index];
    enum ana_export_what what = ana_export_what(e);
    (void)thread;
    if ((what != ANA_EXPORT_CALL && what != ANA_EXPORT_POLL && what != ANA_EXPORT_PART) || rank->ended)
        return;
    bool inits = e->call->opclass == TRC_OP_INIT, ends = e->call->opclass == TRC_OP_FINALIZE;
    struct ti_span span = ti_work(x, &rank->clock, e);
    if (!rank->begun)
        begin_rank(x, e->index, inits ? e->end_ns : e->begin_ns);
    else
        rank->work_ns += ti_levelled(ti, x->ask->ti ? x->ask->ti->level : NULL, e->index, span);
    if (ends)
        end_rank(x, e->index);
    else if (what != ANA_EXPORT_POLL)
        put_call(x, e);
    int64_t at_ns = ends ? e->begin_ns : e->end_ns;
    if (x->ask->ti && at_ns > x->ask->ti->end_ns)
        x->ask->ti->end_ns = at_ns;
}

static void finish(struct ana_exporting *x)
{
    struct ti *ti = x->own;
    if (!ti)
        return;
    for (size_t i = 0; ti->rank && i < x->job->count; i++)
        end_rank(x, i);
    if (x->ask->ti)
        x->ask->ti->left_out = ti->left_out * ti->copies;
    ana_map_free(&ti->posted);
    ana_map_free(&ti->levels);
    free(ti->alone);
    free(ti->rank);
    free(ti);
}

const struct ana_export_sink ana_export_ti = {
    .is = {"ti", "ti", "time-independent actions, for SimGrid's replay", false},
    .begin = begin,
    .event = event,
    .finish = finish,
};
