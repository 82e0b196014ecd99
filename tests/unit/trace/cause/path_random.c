/* Random programs, run here with exact arithmetic: their critical path by going back through all steps, and the saving
 * of a mended segment by running them again without it.  The analysis must say just that. */
#include "tests/support/draw.h"
#include "tests/support/planted.h"
#include "trace/job/analysis.h"
#include "trace/cause/path.h"
#include "trace/cause/replay.h"
#include <stdlib.h>

enum { MOST = 6, ACTIONS = 40000 };
enum kind { SEND, SSEND, MEET, BCAST, REDUCE, SCAN, BEGIN, KINDS }; /* BEGIN: a nonblocking MEET, completed at once */

/* Next step of some ranks or all: each first computes for a while. */
struct action {
    enum kind kind;
    int from, to; /* ranks of a message; root */
    uint64_t site;
    int64_t work_ns[MOST], own_ns; /* before it; of the call itself */
    int64_t more_ns[MOST];         /* work between the begin of a nonblocking one and its completion */
};

/* One call of a rank. */
struct call {
    uint64_t site;
    int64_t begin_ns, end_ns, release_ns; /* release: it waited until then; else its begin */
    int by, by_call;                      /* for this call of this rank */
};

struct program {
    int ranks, actions;
    struct action action[ACTIONS];
    struct call *call[MOST]; /* calls of each rank, as it ran */
    int calls[MOST];
};

static struct program program;

/* Difference of a run: none, calls without a time of their own, or the segments of a shadow. */
struct change {
    bool ideal;
    const struct ana_why *why;
    uint32_t scenario;
};

static void make_program(uint64_t seed, int ranks, int actions)
{
    program.ranks = ranks;
    program.actions = actions;
    for (int i = 0; i < actions; i++) {
        struct action *a = &program.action[i];
        *a = (struct action){.kind = draw(&seed, 3) ? draw(&seed, 2) : draw(&seed, KINDS)};
        if (i + 1 == actions || draw(&seed, 40) == 0)
            a->kind = MEET;
        a->from = (int)draw(&seed, (uint32_t)ranks);
        a->to = (a->from + 1 + (int)draw(&seed, (uint32_t)ranks - 1)) % ranks;
        a->site = 0x1000 + 0x100 * a->kind + 0x10 * draw(&seed, 2);
        a->own_ns = 1000 + draw(&seed, 5000);
        for (int r = 0; r < ranks; r++)
            a->work_ns[r] = 1 + draw(&seed, 1000000) * (r == 1 && a->site & 0x10 ? 3 : 1);
        for (int r = 0; r < ranks && a->kind == BEGIN; r++)
            a->more_ns[r] = 1 + draw(&seed, 800000);
    }
}

/* ---- running it ------------------------------------------------------------------------------------------------- */

/* The shadow that a segment is taken out in, if it is in this change, too; NULL: it is not. */
static const struct ana_scenario *scenario_of(const struct change *change, int rank, uint64_t from, uint64_t to)
{
    const struct ana_replay *replay = change->why->causes->replay;
    for (size_t i = 0; i < change->why->segments.count; i++) {
        const struct ana_segment *s = ana_segment_at(change->why, (uint32_t)i + 1);
        const uint32_t scenario = ana_scenario_of(replay, (uint32_t)i + 1);
        const bool then = scenario && replay->scenario[scenario].then && change->scenario == ANA_SCENARIO_SECOND;
        if ((int)s->index != rank || (scenario != change->scenario && !then))
            continue;
        const struct ana_why_place *a = ana_map_value(&change->why->places, s->from - 1);
        const struct ana_why_place *b = ana_map_value(&change->why->places, s->to - 1);
        if (a->address == from && b->address == to)
            return &replay->scenario[scenario];
    }
    return NULL;
}

/* A rank comes to its next call. */
static struct call *come(int rank, uint64_t site, int64_t work_ns, const struct change *change)
{
    struct call *call = &program.call[rank][program.calls[rank]];
    const struct call *before = program.calls[rank] ? call - 1 : NULL;
    const struct ana_scenario *scenario =
        change && change->why && before ? scenario_of(change, rank, before->site, site) : NULL;
    if (scenario)
        work_ns = work_ns < scenario->usual_ns ? work_ns : scenario->usual_ns;
    *call = (struct call){site, (before ? before->end_ns : 0) + work_ns, 0, 0, -1, -1};
    call->release_ns = call->begin_ns;
    return call;
}

static void wait_for(struct call *call, int by, const struct call *other)
{
    if (other->begin_ns <= call->release_ns)
        return;
    call->release_ns = other->begin_ns;
    call->by = by;
    call->by_call = (int)(other - program.call[by]);
}

static void leave(int rank, struct call *call, int64_t own_ns)
{
    call->end_ns = call->release_ns + own_ns;
    program.calls[rank]++;
}

static int64_t run(const struct change *change)
{
    struct call *call[MOST];
    int ranks = program.ranks;
    memset(program.calls, 0, sizeof program.calls);
    for (int i = 0; i < program.actions; i++) {
        const struct action *a = &program.action[i];
        int64_t own_ns = change && change->ideal ? 0 : a->own_ns;
        for (int r = 0; r < ranks; r++)
            if (a->kind >= MEET || r == a->from || r == a->to)
                call[r] = come(r, a->site + (a->kind < MEET && r == a->to), a->work_ns[r], change);
        if (a->kind < MEET) {
            wait_for(call[a->to], a->from, call[a->from]);
            if (a->kind == SSEND)
                wait_for(call[a->from], a->to, call[a->to]);
            leave(a->from, call[a->from], a->kind == SSEND ? own_ns : 0); /* else it might have waited */
            leave(a->to, call[a->to], own_ns);
            continue;
        }
        struct call *begun[MOST];
        for (int r = 0; r < ranks && a->kind == BEGIN; r++) {
            begun[r] = call[r];
            leave(r, call[r], own_ns);
        }
        for (int r = 0; r < ranks && a->kind == BEGIN; r++) {
            call[r] = come(r, a->site + 1, a->more_ns[r], change);
            for (int q = 0; q < ranks; q++)
                if (q != r)
                    wait_for(call[r], q, begun[q]);
        }
        for (int r = 0; r < ranks; r++)
            for (int q = 0; q < ranks; q++)
                if (q != r && (a->kind == MEET || (a->kind == BCAST && q == a->from) ||
                               (a->kind == REDUCE && r == a->from) || (a->kind == SCAN && q < r)))
                    wait_for(call[r], q, call[q]);
        for (int r = 0; r < ranks; r++)
            leave(r, call[r], own_ns);
    }
    int64_t last_ns = 0;
    for (int r = 0; r < ranks; r++)
        if (program.call[r][program.calls[r] - 1].end_ns > last_ns)
            last_ns = program.call[r][program.calls[r] - 1].end_ns;
    return last_ns;
}

/* ---- the run as a trace ------------------------------------------------------------------------------------------ */

static void write_call(struct tb *tb, int rank, const struct action *a, const struct call *call, uint64_t sequence)
{
    static const enum tb_call calls[] = {TB_SEND, TB_SSEND, TB_ALLREDUCE, TB_BCAST, TB_REDUCE, TB_SCAN, TB_IALLREDUCE};
    bool receives = a->kind < MEET && rank == a->to;
    struct trc_sig sig = tb_sig(receives ? TB_RECV : calls[a->kind]);
    sig.comm = TB_WORLD;
    sig.site = call->site;
    if (a->kind >= MEET) {
        sig.flags = TRC_SIG_COLL;
        sig.peer = a->kind == BCAST || a->kind == REDUCE ? a->from : TRC_PEER_NONE;
    } else if (receives) {
        sig.flags = TRC_SIG_P2P_IN;
        sig.source = a->from;
        sig.rtag = a->kind;
    } else {
        sig.flags = TRC_SIG_P2P_OUT | (a->kind == SSEND ? TRC_SIG_SYNC : 0);
        sig.peer = a->to;
        sig.tag = a->kind;
    }
    sig.sent = sig.received = 8;
    sig.flags |= a->kind == BEGIN ? TRC_SIG_START : 0;
    uint64_t request = tb_event(tb, 0, &sig, call->begin_ns, call->end_ns, (struct tb_more){.sequence = sequence});
    if (a->kind != BEGIN)
        return;
    struct trc_sig wait = tb_sig(TB_WAIT);
    wait.site = call[1].site;
    tb_event(tb, 0, &wait, call[1].begin_ns, call[1].end_ns, (struct tb_more){0});
    sig.flags = TRC_SIG_COMPLETE;
    tb_sub(tb, 0, &sig, (struct tb_more){.request = request});
}

static struct ana_job *write_job(void)
{
    struct planted p = {.ranks = program.ranks};
    int next[MOST] = {0};
    uint64_t sequence = 0;
    folder_make("random");
    for (int r = 0; r < p.ranks; r++)
        p.tb[r] = tb_new(r, p.ranks);
    for (int i = 0; i < program.actions; i++) {
        const struct action *a = &program.action[i];
        sequence += a->kind >= MEET;
        for (int r = 0; r < p.ranks; r++)
            if (a->kind >= MEET || r == a->from || r == a->to) {
                write_call(p.tb[r], r, a, &program.call[r][next[r]], sequence);
                next[r] += a->kind == BEGIN ? 2 : 1;
            }
    }
    return planted_open(&p);
}

/* ---- the path --------------------------------------------------------------------------------------------------- */

/* Part of the path that a rank's segment from one place to another has, by going back through everything. */
static int64_t on_path(int rank, uint64_t from, uint64_t to)
{
    int r = 0, n;
    int64_t sum = 0;
    for (int q = 1; q < program.ranks; q++)
        if (program.call[q][program.calls[q] - 1].begin_ns > program.call[r][program.calls[r] - 1].begin_ns)
            r = q;
    for (n = program.calls[r] - 1; n > 0;) {
        const struct call *call = &program.call[r][n], *before = call - 1;
        if (r == rank && before->site == from && call->site == to)
            sum += call->begin_ns - before->end_ns;
        n = before->by < 0 ? n - 1 : before->by_call;
        r = before->by < 0 ? r : before->by;
    }
    return sum;
}

static void check_path(const char *what, struct ana_why *why, int64_t last_ns)
{
    struct ana_path_end end[MOST];
    struct ana_path_sums sums;
    for (int r = 0; r < MOST; r++)
        end[r] = (struct ana_path_end){INT64_MIN, true};
    CHECK(ana_path_decode(why->causes, end, 0, last_ns, &sums));
    CHECK(ana_path_length(&sums) == last_ns && sums.unknown_ns == 0, "%s: %lld of %lld, unknown %lld", what,
          (long long)ana_path_length(&sums), (long long)last_ns, (long long)sums.unknown_ns);
    CHECK(why->causes->path->cuts == 0);
    for (size_t i = 0; i < why->segments.count; i++) {
        const struct ana_segment *s = ana_segment_at(why, (uint32_t)i + 1);
        const struct ana_why_place *a = ana_map_value(&why->places, s->from - 1);
        const struct ana_why_place *b = ana_map_value(&why->places, s->to - 1);
        int64_t truth = on_path((int)s->index, a->address, b->address);
        CHECK(sums.segment[i] == truth, "%s: rank %u, %#llx -> %#llx: %lld on the path, not %lld", what, s->index,
              (unsigned long long)a->address, (unsigned long long)b->address, (long long)truth,
              (long long)sums.segment[i]);
    }
    ana_path_sums_free(&sums);
}

/* ---- one program ------------------------------------------------------------------------------------------------ */

static uint32_t one(uint64_t seed, int ranks, int actions, bool all)
{
    char what[64];
    uint32_t priced = 0;
    static const bool over[MOST] = {true, true, true, true, true, true};
    snprintf(what, sizeof what, "program %llu", (unsigned long long)seed);
    make_program(seed, ranks, actions);
    int64_t last_ns = run(NULL), changed_ns;
    struct ana_job *job = write_job();
    struct ana_summary s = folder_summary(job);
    struct ana_why *why = &ana_job_analysis(job)->pass.why;
    check_path(what, why, last_ns);
    changed_ns = run(&(struct change){.ideal = true});
    CHECK(ana_replay_saves(why->causes, ANA_SCENARIO_IDEAL, over) == last_ns - changed_ns,
          "%s: ideal saves %lld, not %lld", what, (long long)(last_ns - changed_ns),
          (long long)ana_replay_saves(why->causes, ANA_SCENARIO_IDEAL, over));
    for (uint32_t scenario = 1; all && scenario < ANA_SCENARIO_CALLS; scenario++) {
        if (!why->causes->replay->scenario[scenario].what)
            continue;
        changed_ns = run(&(struct change){.why = why, .scenario = scenario});
        CHECK(ana_replay_saves(why->causes, scenario, over) == last_ns - changed_ns,
              "%s: shadow %u saves %lld, not %lld", what, scenario, (long long)(last_ns - changed_ns),
              (long long)ana_replay_saves(why->causes, scenario, over));
        priced += last_ns > changed_ns;
    }
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
    return priced;
}

int main(void)
{
    uint32_t priced = 0;
    for (int r = 0; r < MOST; r++)
        program.call[r] = calloc(2 * ACTIONS, sizeof *program.call[r]);
    for (uint64_t seed = 1; seed <= 150; seed++)
        priced += one(seed, 2 + (int)(seed % (MOST - 1)), 20 + (int)(seed * 7 % 400), true);
    CHECK(priced > 150, "%u prices", priced);
    one(1000, 3, ACTIONS, false); /* many times as many steps as are kept */
    one(1001, 6, ACTIONS, false);
    for (int r = 0; r < MOST; r++)
        free(program.call[r]);
    return check_result();
}
