/* Time-independent actions, which SimGrid replays: what each rank did in its order, work in ns, messages with partner,
 * tag and bytes, collectives.  How long these took is not in it; that is for the network that they are replayed on.
 * Source: SimGrid's documentation, "SMPI: Offline simulation"; the words and their arguments are those of 3.32. */
#include "trace/export/ti_impl.h"
#include <stdio.h>

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

uint64_t ti_put_message(struct ana_exporting *x, size_t index, enum ti_word word, uint32_t peer, int32_t tag,
                        uint64_t bytes)
{
    static const char *const names[] = {
        [TI_SEND] = "send", [TI_ISEND] = "isend", [TI_RECV] = "recv", [TI_IRECV] = "irecv"};
    char rest[64];
    bool receives = word == TI_RECV || word == TI_IRECV;
    snprintf(rest, sizeof rest, " %d %llu", tag, (unsigned long long)(receives ? TI_ROOM : bytes));
    ti_put(x, index, (struct ti_action){names[word], peer, receives, rest});
    return 0;
}

/* Whom it is from and to, in the order of the action's arguments. */
void ti_put_wait(struct ana_exporting *x, size_t index, const struct ti_request *request, bool receives)
{
    struct ti *ti = x->own;
    struct ti_rank *rank = &ti->rank[index];
    char text[96];
    put_work(x, rank);
    for (unsigned c = 0; c < ti->copies; c++) {
        size_t me = rank->number + c * ti->ranks, other = peer_of(ti, rank->number, request->peer - 1, receives, c);
        snprintf(text, sizeof text, "%zu wait %zu %zu %d\n", me, receives ? other : me, receives ? me : other,
                 request->tag);
        ana_out_text(x->out, text);
    }
}

static void begin_rank(struct ana_exporting *x, size_t index)
{
    ti_put(x, index, (struct ti_action){"init", UINT32_MAX, false, ""});
}

/* SimGrid cannot send to a rank that has ended before. */
static void end_rank(struct ana_exporting *x, size_t index)
{
    ti_put(x, index, (struct ti_action){"barrier", UINT32_MAX, false, ""});
    ti_put(x, index, (struct ti_action){"finalize", UINT32_MAX, false, ""});
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
    static const struct ti_writer writer = {begin_rank, end_rank, ti_put_message, ti_put_wait, ti_put_collective, NULL};
    if (!ti_begin(x, &writer))
        return false;
    put_facts(x);
    return true;
}

const struct ana_export_sink ana_export_ti = {
    .is = {"ti", "ti", "time-independent actions, for SimGrid's replay", false},
    .begin = begin,
    .event = ti_event,
    .finish = ti_finish,
};
