/* Verdict from the facts of Horovod's loops (trace/horovod). */
#include "trace/util/rows.h"
#include "trace/util/sort.h"
#include "trace/util/trouble.h"
#include "trace/verdict/horovod_impl.h"
#include "trace/verdict/life.h"
#include "trace/verdict/verdict_impl.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ENOUGH_STEPS 20u  /* before anybody is called a straggler */
#define STRAGGLES    0.67 /* share of steps with one rank last: of two ranks one is last in half of the steps or more */
#define DEVIATIONS   3.0  /* .. and least excess over chance between two, in standard deviations */
#define LATE_CYCLES  2.5  /* after the first: one cycle is as close as two can be distinguished */
#define COSTS        0.1  /* share of a step: the gain if it came as early as the next slowest */
#define LONG_STEPS   10   /* usual steps that make a long time */
#define GAP_BEATS    10   /* a second */
#define ENDING_NS    5000000000 /* a launcher on a busy machine takes so long to end its processes */

/* ---- helpers shared by the rules -------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const size_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

struct ana_ranks hvd_ranks(const struct loops *l, const uint8_t *mark, uint8_t value)
{
    size_t n = 0, *index = ana_case_alloc(l->c, l->set->ranks * sizeof *index);
    for (size_t m = 0; index && m < l->set->ranks; m++)
        if (mark[m] == value && hvd_has_file(l, m))
            index[n++] = l->set->rank[m].index;
    if (n)
        ana_sort(index, n, sizeof *index, ascending);
    return ana_ranks_at(index, n);
}

struct ana_ranks hvd_of_set(const struct loops *l)
{
    uint8_t *all = l->hvd->sets > 1 ? ana_case_alloc(l->c, l->set->ranks) : NULL;
    return all ? hvd_ranks(l, all, 0) : (struct ana_ranks){.n = 0};
}

int32_t hvd_absent_rank(const struct loops *l, size_t member)
{
    for (size_t m = 0; m < l->set->ranks; m++) {
        const struct trc_file *file = hvd_has_file(l, m) ? ana_case_file(l->c, l->set->rank[m].index) : NULL;
        const struct trc_comm *comm;
        for (size_t i = 0; file && (comm = trc_comm_at(file, i, &(uint64_t){0})); i++)
            if (comm->def.identity == l->set->comm_identity)
                return trc_comm_world_rank(comm, (int32_t)member, false);
    }
    return TRC_PEER_UNKNOWN;
}

/* Number of heartbeats a process missed; the process with the most a second tells how many there should be. */
static double missed_beats(const struct loops *l, size_t m)
{
    double best = 0, own = 0, beats = 0;
    for (size_t i = 0; i < l->set->ranks; i++) {
        if (!hvd_has_file(l, i))
            continue;
        const struct ana_process *p = &l->c->members->process[l->set->rank[i].index];
        double life = (double)(l->set->now_ns - p->rank.begin_ns) / 1e9, n = (double)trc_head(p->rank.file)->heartbeats;
        if (life > 0 && n / life > best)
            best = n / life;
        if (i == m) {
            own = life;
            beats = n;
        }
    }
    return best * own - beats;
}

/* Heartbeats of the rank have ended while other heartbeats went on: it is stopped, or was, wherever its loop was
 * then. A launcher that ends a job wakes it once more: then there is a gap. */
static bool is_silent(const struct loops *l, size_t m)
{
    const struct ana_process *p = &l->c->members->process[l->set->rank[m].index];
    if (l->set->now_ns - p->heartbeat_ns >= (l->over ? ENDING_NS : HVD_NOTABLE_NS) &&
        trc_head(p->rank.file)->heartbeats > 0)
        return true;
    double others = 0, missed = l->over ? missed_beats(l, m) : 0;
    if (missed < GAP_BEATS)
        return false;
    for (size_t i = 0; i < l->set->ranks; i++)
        if (i != m && hvd_has_file(l, i) && missed_beats(l, i) > others)
            others = missed_beats(l, i);
    return missed > 3 * others;
}

/* Whether a member waits for no tensor and is in no call of MPI, and shows a sign of life that is not of a thread of
 * Horovod or Gloo: it may still come. */
static bool is_at_work(const struct loops *l, size_t m)
{
    const struct ana_hvd_rank *r = &l->set->rank[m];
    bool asks =
        !hvd_has_file(l, m) || r->main_inside || (m == 0 && r->asks) || r->joined || r->maybe_joined || !r->alive;
    for (size_t i = 0; i < l->set->tensors && !asks; i++)
        asks = l->set->tensor[i].pending && l->set->tensor[i].submitted[m] == ANA_HVD_YES;
    return !asks && ana_is_busy_aside(l->c, r->index);
}

void hvd_settle(const struct loops *l, enum ana_verdict_class id, enum ana_confidence confidence, int64_t since_ns)
{
    struct ana_finding *f = l->c->out;
    l->c->loops_since_ns = since_ns;
    bool unseen = false, at_work = id == ANA_CLASS_NOT_SUBMITTED;
    for (size_t m = 0; m < l->set->ranks; m++) {
        unseen |= !hvd_has_file(l, m);
        if (!l->mark[m])
            continue;
        at_work = at_work && is_at_work(l, m);
        if (hvd_has_file(l, m))
            ana_case_blame(l->c, l->set->rank[m].index);
        else if (f->absents < ANA_ABSENTS && hvd_absent_rank(l, m) >= 0)
            f->absent[f->absents++] = hvd_absent_rank(l, m);
    }
    f->id = id;
    f->confidence = f->culprits == 0 ? ANA_POSSIBLE : unseen && confidence == ANA_PROVEN ? ANA_LIKELY : confidence;
    f->since_ns = l->set->now_ns - since_ns;
    f->usual_ns = l->usual_ns;
    at_work &= f->culprits > 0;
    f->state = f->since_ns >= l->hang_ns && !at_work ? ANA_VERDICT_HUNG : ANA_VERDICT_WAITING;
    f->confidence = at_work ? ANA_POSSIBLE : f->confidence;
}

void hvd_where(const struct loops *l, size_t m)
{
    const struct ana_hvd_rank *r = &l->set->rank[m];
    struct ana_fact fact = {ANA_SENTENCE_HVD_TURNS, .who = ana_one_rank(r->index), .number = (int64_t)r->cycles};
    if (!hvd_has_file(l, m)) {
        fact = (struct ana_fact){ANA_SENTENCE_HVD_NO_FILE, .number = hvd_absent_rank(l, m)};
    } else if (!r->alive && l->c->members->process[r->index].rank.state == ANA_RANK_DEAD && !l->over) {
        fact.id = ANA_SENTENCE_HVD_GONE;
    } else if (is_silent(l, m)) {
        fact.id = l->over ? ANA_SENTENCE_HVD_MISSED_BEATS : ANA_SENTENCE_HVD_SILENT;
        fact.time = l->set->now_ns - l->c->members->process[r->index].heartbeat_ns;
    } else if (r->main_inside) {
        fact.id = ANA_SENTENCE_HVD_MAIN_INSIDE;
        fact.call.name = r->main_inside;
        fact.time = l->set->now_ns - r->main_since_ns;
    } else if (r->phase == ANA_HVD_OUTSIDE && l->set->now_ns - r->cycle_ns >= HVD_NOTABLE_NS) {
        fact.id = ANA_SENTENCE_HVD_OUTSIDE;
        fact.time = l->set->now_ns - r->cycle_ns;
    }
    ana_case_fact(l->c, fact);
}

void hvd_submitters(const struct loops *l)
{
    enum { MOST = 3 };
    const struct ana_hvd_set *set = l->set;
    for (size_t i = 0, n = 0; i < set->tensors && n < MOST; i++) {
        const struct ana_hvd_tensor *t = &set->tensor[i];
        if (!t->pending || !++n)
            continue;
        ANA_FACT(l->c, ANA_SENTENCE_HVD_SUBMITTED, .name = t->name, .who = hvd_ranks(l, t->submitted, ANA_HVD_YES),
                 .others = hvd_ranks(l, t->submitted, ANA_HVD_NO));
    }
}

/* ---- loops that stand still -------------------------------------------------------------------------------------- */

/* Places of the loops of a set. */
struct places {
    size_t waiting, operating, outside, silent, seen;
    int64_t since, operation_since; /* the latest begin of a wait: from then on all waited */
    const struct ana_hvd_rank *in_operation;
    bool ended;
};

static struct places look_around(struct loops *l)
{
    struct places p = {.since = INT64_MIN, .operation_since = INT64_MIN};
    for (size_t m = 0; m < l->set->ranks; m++) {
        const struct ana_hvd_rank *r = &l->set->rank[m];
        if (!hvd_has_file(l, m))
            continue;
        bool operation = r->phase == ANA_HVD_OPERATION, silent = is_silent(l, m);
        bool inside = r->phase == ANA_HVD_ROUND || r->phase == ANA_HVD_NEGOTIATING || operation;
        p.seen++;
        p.ended |= r->phase == ANA_HVD_ENDED;
        if (r->phase == ANA_HVD_OTHER_SET && !silent)
            continue; /* it waits there: that set tells for whom */
        if (!inside || silent) {
            p.outside++;
            p.silent += inside;
            l->mark[m] = 1;
            continue;
        }
        p.since = r->inside_since_ns > p.since ? r->inside_since_ns : p.since;
        if (operation && r->inside_since_ns > p.operation_since)
            p.operation_since = r->inside_since_ns;
        p.in_operation = operation ? r : p.in_operation;
        p.operating += operation;
        p.waiting += !operation;
    }
    return p;
}

static bool loops_hang(struct loops *l)
{
    const struct places p = look_around(l);
    bool everybody = p.operating == p.seen && p.seen > 1;
    if (p.ended || p.waiting + p.operating == 0 || l->set->now_ns - p.since < l->notable_ns ||
        (p.outside == 0 && !everybody))
        return false;
    int64_t cycle = (int64_t)l->set->cycles;
    l->c->out->summary =
        p.operating ? (struct ana_fact){ANA_SENTENCE_HVD_INSIDE,
                                        .count = (int64_t)p.operating,
                                        .of = (int64_t)l->set->ranks,
                                        .call.name = p.in_operation->inside,
                                        .size = p.in_operation->inside_bytes,
                                        .who = ANA_CULPRITS}
                    : (struct ana_fact){ANA_SENTENCE_HVD_STANDS, .who = ANA_CULPRITS, .more = (int64_t)p.silent,
                                        .count = (int64_t)p.waiting, .number = cycle};
    if (p.operating)
        ANA_FACT(l->c, ANA_SENTENCE_HVD_AGREED, .number = cycle, .who = hvd_of_set(l));
    for (size_t m = 0; m < l->set->ranks; m++)
        if (l->mark[m])
            hvd_where(l, m);
    ANA_FACT(l->c, ANA_SENTENCE_HVD_INSPECTOR_SILENT, .count = (int64_t)p.operating);
    l->c->out->next.id = p.outside ? ANA_SENTENCE_HVD_NEXT_PROCESS : ANA_SENTENCE_HVD_NEXT_TRANSPORT;
    hvd_settle(l, p.operating ? ANA_CLASS_INSIDE : ANA_CLASS_LOOP_DEAD, ANA_LIKELY,
               p.operating ? p.operation_since : p.since);
    if (everybody) /* nobody's fault, as far as is known */
        l->c->out->confidence = ANA_POSSIBLE;
    return true;
}

/* A launcher that ends a job wakes stopped processes first: the loops turn once more, and the stall ends just before
 * the job. */
static bool stalled_to_the_end(struct loops *l)
{
    const struct ana_hvd_set *set = l->set;
    if (!l->over || set->stall.begin_ns == ANA_HVD_NEVER || set->now_ns - set->stall.end_ns > HVD_NOTABLE_NS ||
        set->stall.end_ns - set->stall.begin_ns < l->notable_ns)
        return false;
    l->mark[set->stall.member] = 1;
    ANA_SUMMARY(l->c, ANA_SENTENCE_HVD_STOOD, .who = ANA_CULPRITS, .number = (int64_t)set->stall.cycle);
    ANA_FACT(l->c, ANA_SENTENCE_HVD_CAME_LATE, .who = ANA_CULPRITS, .time = set->stall.end_ns - set->stall.begin_ns,
             .other_time = set->now_ns - set->stall.end_ns);
    ANA_FACT(l->c, ANA_SENTENCE_HVD_INSPECTOR_SILENT);
    l->c->out->next.id = ANA_SENTENCE_HVD_NEXT_STOOD;
    hvd_settle(l, ANA_CLASS_LOOP_DEAD, ANA_LIKELY, set->stall.begin_ns);
    return true;
}

/* ---- refused, left, late ---------------------------------------------------------------------------------------- */

/* Votes for a member's value of a refused tensor; SIZE_MAX: all gave it when the tensor was agreed on before. */
static size_t votes_for(const struct loops *l, const struct ana_hvd_refusal *f, size_t m)
{
    size_t n = 0;
    for (size_t k = 0; *f->said[m] && k < l->set->ranks; k++)
        n += strcmp(f->said[m], f->said[k]) == 0;
    return n && strcmp(f->said[m], f->usual) == 0 ? SIZE_MAX : n;
}

/* Marks who said something else of it than before, else than most.  Of equally many on both sides all are marked.  *odd
 * and *usual: members of the two sides. */
static void mark_odd(struct loops *l, const struct ana_hvd_refusal *f, size_t *odd, size_t *usual)
{
    size_t most = 0, least = SIZE_MAX;
    *odd = *usual = 0;
    for (size_t m = 0; m < l->set->ranks; m++) {
        size_t votes = votes_for(l, f, m);
        if (votes > most) {
            most = votes;
            *usual = m;
        }
        if (votes && votes <= least) {
            least = votes;
            *odd = m;
        }
    }
    bool tie = most == least && most < SIZE_MAX && *odd != *usual;
    for (size_t m = 0; m < l->set->ranks; m++)
        l->mark[m] = *f->said[m] && (tie || strcmp(f->said[m], f->said[*usual]) != 0);
}

/* The coordinator has answered that a tensor cannot be carried out, and the program has not got over it. */
static bool refused(struct loops *l)
{
    static const enum ana_sentence says[] = {
        [ANA_HVD_TYPES] = ANA_SENTENCE_HVD_TYPES,           [ANA_HVD_OPERATIONS] = ANA_SENTENCE_HVD_OPERATIONS,
        [ANA_HVD_SHAPES] = ANA_SENTENCE_HVD_SHAPES,         [ANA_HVD_ROOTS] = ANA_SENTENCE_HVD_ROOTS,
        [ANA_HVD_REDUCTIONS] = ANA_SENTENCE_HVD_REDUCTIONS, [ANA_HVD_WITH_JOIN] = ANA_SENTENCE_HVD_WITH_JOIN,
        [ANA_HVD_OTHER_REASON] = ANA_SENTENCE_HVD_REFUSED};
    TRC_ASSERT_ROWS(says, ANA_HVD_OTHER_REASON);
    const struct ana_hvd_refusal *f = &l->set->refusal;
    size_t odd = 0, usual = 0;
    if (!f->count)
        return false;
    const struct ana_hvd_tensor *t = &l->set->tensor[f->tensor];
    struct ana_fact say = {says[f->reason], .name = t->name, .other_number = (int64_t)f->cycle};
    if (f->reason < ANA_HVD_WITH_JOIN) {
        mark_odd(l, f, &odd, &usual);
        uint8_t *side = ana_case_alloc(l->c, l->set->ranks);
        for (size_t m = 0; side && m < l->set->ranks; m++)
            side[m] = strcmp(f->said[m], f->said[usual]) == 0 ? 1 : strcmp(f->said[m], f->said[odd]) == 0 ? 2 : 3;
        if (side) {
            say.who = hvd_ranks(l, side, 2);
            say.others = hvd_ranks(l, side, 1);
        }
        if (odd == usual) /* the requests do not tell who differs */
            say.id = ANA_SENTENCE_HVD_REFUSED;
        say.value = ana_case_text(l->c, f->said[odd]);
        say.other_value = ana_case_text(l->c, f->said[usual]);
    } else if (f->reason == ANA_HVD_WITH_JOIN) {
        for (size_t m = 0; m < l->set->ranks; m++)
            l->mark[m] = l->set->rank[m].joined || l->set->rank[m].maybe_joined;
        say.who = ANA_CULPRITS;
        say.call.name = ana_hvd_op_name(t->op);
    }
    l->c->out->summary = say;
    ANA_FACT(l->c, ANA_SENTENCE_HVD_ERROR, .name = f->error, .number = (int64_t)f->cycle, .who = hvd_of_set(l),
             .more = (int64_t)f->count - 1);
    hvd_settle(l, ANA_CLASS_MISMATCHED, ANA_PROVEN, f->ns);
    l->c->out->state = ANA_VERDICT_ABORTED;
    l->c->out->next.id = f->reason == ANA_HVD_WITH_JOIN ? ANA_SENTENCE_HVD_NEXT_JOIN : ANA_SENTENCE_HVD_NEXT_TENSOR;
    return true;
}

static bool early_exit(struct loops *l)
{
    const struct ana_hvd_set *set = l->set;
    uint64_t first = UINT64_MAX;
    int64_t since = 0;
    size_t joined = 0;
    for (size_t m = 0; m < set->ranks; m++) {
        const struct ana_hvd_rank *r = &set->rank[m];
        joined += r->joined && !r->wants_shutdown;
        if (r->wants_shutdown && r->shutdown_cycle < first) {
            first = r->shutdown_cycle;
            since = r->shutdown_ns;
        }
    }
    bool unseen = set->rank[0].asks;
    if (first == UINT64_MAX || (!set->pending && !unseen && !joined))
        return false;
    bool innocent = false;
    for (size_t m = 0; m < set->ranks; m++) {
        l->mark[m] = set->rank[m].wants_shutdown && set->rank[m].shutdown_cycle == first;
        innocent |= !l->mark[m];
    }
    if (!innocent)
        return false;
    ANA_SUMMARY(l->c, ANA_SENTENCE_HVD_LEFT, .who = ANA_CULPRITS, .number = (int64_t)first,
                .other_number = (int64_t)set->steps, .count = (int64_t)set->pending,
                .more = set->pending ? 0 : (int64_t)joined);
    hvd_submitters(l);
    l->c->out->next.id = ANA_SENTENCE_HVD_NEXT_OUTPUT;
    hvd_settle(l, ANA_CLASS_EARLY_EXIT, ANA_PROVEN, since);
    l->c->out->state = ANA_VERDICT_ABORTED;
    return true;
}

static bool straggler(struct loops *l)
{
    const struct ana_hvd_set *set = l->set;
    if (set->steps < ENOUGH_STEPS || set->kept_steps < 2)
        return false;
    size_t worst = 0;
    for (size_t m = 1; m < set->ranks; m++)
        if (set->rank[m].last > set->rank[worst].last)
            worst = m;
    const struct ana_hvd_rank *r = &set->rank[worst];
    double steps = (double)set->steps, next_late = 0;
    double step_ms =
        (double)(set->step[set->kept_steps - 1].end_ns - set->step[0].begin_ns) / 1e6 / (double)set->kept_steps;
    for (size_t m = 0; m < set->ranks; m++)
        if (m != worst && set->rank[m].late_ms > next_late)
            next_late = set->rank[m].late_ms;
    double gain = r->late_ms - next_late, chance = steps / 2 + DEVIATIONS * sqrt(steps) / 2;
    if ((double)r->last < STRAGGLES * steps || (double)r->last < chance || r->last_cycles < LATE_CYCLES ||
        step_ms <= 0 || gain < COSTS * step_ms || steps * step_ms * 1e6 < SLOW_RUN_NS ||
        steps * gain * 1e6 < SLOW_LOST_NS)
        return false;
    l->mark[worst] = 1;
    ANA_SUMMARY(l->c, ANA_SENTENCE_HVD_LAST, .who = ANA_CULPRITS, .count = (int64_t)r->last, .of = (int64_t)set->steps,
                .number = (int64_t)(r->last_cycles + 0.5), .time = (int64_t)(r->last_ms * 1e6),
                .more = (int64_t)(100 * fmin(gain / step_ms, 1) + 0.5));
    for (size_t m = 0; m < set->ranks && m < 4; m++)
        if (hvd_has_file(l, m))
            ANA_FACT(l->c, ANA_SENTENCE_HVD_LATE, .who = ana_one_rank(set->rank[m].index),
                     .count = (int64_t)set->rank[m].last, .number = (int64_t)(set->rank[m].late_cycles + 0.5),
                     .time = (int64_t)(set->rank[m].late_ms * 1e6));
    l->c->out->next.id = ANA_SENTENCE_HVD_NEXT_LATE;
    hvd_settle(l, ANA_CLASS_STRAGGLER, ANA_PROVEN, set->step[0].begin_ns);
    l->c->out->state = ANA_VERDICT_SLOW;
    l->c->out->usual_ns = 0;
    return true;
}

/* ---- asking the rules ------------------------------------------------------------------------------------------- */

static int64_t usual_step_ns(const struct ana_hvd_set *set)
{
    if (set->kept_steps < 2)
        return 0;
    return (set->step[set->kept_steps - 1].end_ns - set->step[0].end_ns) / (int64_t)(set->kept_steps - 1);
}

static struct loops loops_of(struct ana_case *c, const struct ana_hvd *hvd, size_t s)
{
    struct loops l = {.c = c,
                      .hvd = hvd,
                      .set = &hvd->set[s],
                      .hang_ns = c->rules.hang_ns,
                      .usual_ns = usual_step_ns(&hvd->set[s]),
                      .over = true,
                      .mark = ana_case_alloc(c, hvd->set[s].ranks)};
    for (size_t m = 0; m < l.set->ranks; m++)
        l.over &= !l.set->rank[m].alive;
    l.notable_ns = LONG_STEPS * l.usual_ns > HVD_NOTABLE_NS ? LONG_STEPS * l.usual_ns : HVD_NOTABLE_NS;
    if (l.notable_ns > l.hang_ns)
        l.notable_ns = l.hang_ns;
    if (l.over)
        l.hang_ns = l.notable_ns; /* nothing will move any more */
    return l;
}

/* Asks each rule about each set; *found: the set that the finding is on.  False: nothing is wrong. */
static bool ask(struct ana_case *c, bool (*const *rule)(struct loops *), size_t rules, const struct ana_hvd_set **found)
{
    const struct ana_hvd *hvd = ana_job_horovod(c->job);
    for (size_t k = 0; k < rules; k++)
        for (size_t s = 0; s < hvd->sets; s++) {
            struct loops l = loops_of(c, hvd, s);
            c->out->culprits = c->out->absents = c->out->facts = 0;
            *found = l.mark && rule[k](&l) ? &hvd->set[s] : NULL;
            if (*found)
                return true;
        }
    return false;
}

static bool (*const hanging[])(struct loops *) = {early_exit,        loops_hang,    stalled_to_the_end,
                                                  hvd_not_submitted, hvd_sets_wait, hvd_joined_alone};

/* Withdraws a finding. */
static bool withdraw(struct ana_case *c)
{
    free(c->out->culprit);
    *c->out = (struct ana_finding){.since_ns = -1};
    return false;
}

bool ana_find_horovod(struct ana_case *c)
{
    const struct ana_hvd_set *set;
    if (!ask(c, hanging, sizeof hanging / sizeof *hanging, &set))
        return withdraw(c);
    for (size_t i = 0; i < c->out->culprits; i++) /* the rest of its file may say otherwise */
        if (!ana_case_events_known(c, c->out->culprit[i]))
            return withdraw(c);
    /* A killed rank is not at fault for tensors that it had not submitted. */
    enum ana_verdict_class id = c->out->id;
    if (id != ANA_CLASS_EARLY_EXIT && ana_died_first(c))
        return withdraw(c);
    if (id == ANA_CLASS_NOT_SUBMITTED || id == ANA_CLASS_NAME_MISMATCH || id == ANA_CLASS_CYCLE) {
        c->loops = set;
        c->loops_since_ns = set->now_ns - c->out->since_ns;
    }
    return true;
}

bool ana_find_horovod_refused(struct ana_case *c)
{
    const struct ana_hvd_set *set;
    return ask(c, (bool (*const[])(struct loops *)){refused}, 1, &set) || withdraw(c);
}

bool ana_find_horovod_straggler(struct ana_case *c)
{
    const struct ana_hvd_set *set;
    return ask(c, (bool (*const[])(struct loops *)){straggler}, 1, &set) || withdraw(c);
}

int64_t ana_loops_hung_since(struct ana_case *c)
{
    const struct ana_hvd_set *set = NULL;
    struct ana_finding other = {.since_ns = -1}, *own = c->out;
    c->out = &other;
    bool hung = ask(c, hanging, sizeof hanging / sizeof *hanging, &set) && other.state == ANA_VERDICT_HUNG;
    int64_t since_ns = hung ? set->now_ns - other.since_ns : INT64_MAX;
    withdraw(c);
    c->out = own;
    return since_ns;
}
