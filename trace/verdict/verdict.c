/* The verdict: gathers all known facts, and asks one detector after the other. */
#include "trace/job/upper.h"
#include "trace/util/grow.h"
#include "trace/util/rows.h"
#include "trace/verdict/death.h"
#include "trace/verdict/order.h"
#include "trace/verdict/verdict.h"
#include "trace/verdict/verdict_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOGETHER_NS 1000000000 /* processes that end within this of the last one were ended together */

const char *ana_verdict_state_name(enum ana_verdict_state state)
{
    static const char *const name[] = {"healthy", "waiting", "stopped", "slow", "hung", "aborted", "unknown"};
    TRC_ASSERT_ROWS(name, ANA_VERDICT_UNKNOWN);
    return name[state];
}

bool ana_verdict_state_alarms(enum ana_verdict_state state)
{
    return state >= ANA_VERDICT_SLOW;
}

const char *ana_confidence_name(enum ana_confidence confidence)
{
    static const char *const name[] = {"possible", "likely", "proven"};
    TRC_ASSERT_ROWS(name, ANA_PROVEN);
    return name[confidence];
}

static const struct {
    const char *name, *next;
} classes[] = {
#define VERDICT_CLASS(id, name, next) {name, next},
#include "trace/verdict/verdict_class.def"
#undef VERDICT_CLASS
};

const char *ana_verdict_class_name(enum ana_verdict_class id)
{
    return id == ANA_CLASS_NONE ? NULL : classes[id].name;
}

/* Validity of a detector's finding as of an earlier moment. */
enum detector_kind {
    NOW,        /* nothing: it is asked about the present only */
    STANDSTILL, /* it was so then if nobody has done anything since */
    PROOF       /* it follows from records alone: it stays true whatever comes later */
};
static const struct {
    bool (*find)(struct ana_case *c);
    bool (*find_need)(struct ana_case *c, struct ana_waiting *waiting, struct ana_dependency *need);
    enum detector_kind kind;
} detectors[] = {
#define DETECTOR(name, kind, looks_for) {ana_find_##name, NULL, kind},
#define NEED(name, kind, looks_for)     {NULL, ana_find_##name, kind},
#include "trace/verdict/detectors.def"
#undef DETECTOR
#undef NEED
};

/* Whether a whole host has stopped.  A single process whose heartbeat has stopped is not frozen by its host or
 * container: its recorder is held up, for example by the loader, and its file is right about its calls. */
static bool is_host_stopped(const struct ana_case *c, size_t index)
{
    size_t others = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_process *p = &c->members->process[i];
        if (i == index || !p->alive || strcmp(p->host, c->members->process[index].host) != 0)
            continue;
        if (ana_case_stop(c, i) == ANA_MOVES)
            return false;
        others++;
    }
    return others > 0;
}

/* Marks ranks that did something between the samples, and ranks that do nothing more. */
static void look_at_ranks(struct ana_case *c)
{
    bool runs = false;
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_process *p = &c->members->process[i];
        c->live |= p->alive;
        if (p->alive && c->samples->taken >= 2)
            c->rank[i].moved = c->samples->seen[0][i].progress != c->samples->seen[1][i].progress;
        c->rank[i].moved |= (p->alive && p->behind) || p->rank.off; /* activity not known, or not yet */
    }
    ana_case_find_quiet(c);
    for (size_t i = 0; i < c->count && !runs; i++)
        runs = c->members->process[i].alive && ana_case_stop(c, i) == ANA_MOVES;
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_process *p = &c->members->process[i];
        const struct ana_rank *r = &p->rank;
        bool early = !p->alive && (c->live || r->end_ns < c->members->end_ns - TOGETHER_NS);
        bool dead = r->state == ANA_RANK_DEAD || (r->state == ANA_RANK_UNKNOWN && r->counted);
        enum ana_stop stop = p->alive && runs ? ana_case_stop(c, i) : ANA_MOVES;
        bool is_stopped = stop == ANA_FROZEN ? is_host_stopped(c, i) : stop != ANA_MOVES;
        c->rank[i].gone = r->state == ANA_RANK_ABORTED || (dead && early) || is_stopped;
        c->rank[i].gone &= c->until_ns == INT64_MAX; /* not yet, then */
    }
}

/* Whether nobody came out of MPI_Finalize since: the records then tell the activity until that moment, too. */
static bool all_as_then(const struct ana_case *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (ana_case_ended(c, i) && c->members->process[i].rank.end_ns > c->until_ns)
            return false;
    return true;
}

/* Whether a rank has come into a call or out of one since, other than into such as complete nothing. */
static bool has_moved_since(struct ana_case *c, size_t index)
{
    const struct ana_process *p = &c->members->process[index];
    bool polls = false;
    for (const struct ana_waiting *waiting = ana_waits(c, index); waiting < ana_waits(c, index + 1); waiting++) {
        polls |= waiting->kind == ANA_WAITING_POLL;
        if (waiting->since_ns > c->until_ns)
            return true;
    }
    return p->rank.off || p->rank.gpu_op || (!polls && p->last_end_ns > c->until_ns);
}

static bool all_stood_since(struct ana_case *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (has_moved_since(c, i))
            return false;
    return true;
}

static bool case_open(struct ana_case *c)
{
    size_t n = c->count + 1;
    ana_map_init(&c->groups, sizeof(struct ana_group));
    ana_map_init(&c->sources, sizeof(size_t));
    c->first_waiting = ana_case_room(c);
    c->last_events = ana_case_alloc(c, n * sizeof *c->last_events);
    c->rank = ana_case_alloc(c, n * sizeof *c->rank);
    c->stacks = ana_case_alloc(c, sizeof *c->stacks);
    return ana_grow(&c->waiting, 0, &c->waiting_room, sizeof *c->waiting) &&
           ana_grow(&c->dependency, 0, &c->dependency_room, sizeof *c->dependency) && !c->memory;
}

static void case_close(struct ana_case *c)
{
    ana_map_free(&c->groups);
    ana_case_close_last_events(c);
    ana_case_free_gpu(c);
    free(c->waiting);
    free(c->dependency);
    ana_graph_free(&c->graph);
    ana_map_free(&c->sources);
    if (c->stacks)
        ana_stacks_free(c->stacks);
    ana_case_free_steps(c);
    ana_case_free_memory(c);
}

static bool ask_needs(struct ana_case *c,
                      bool (*find)(struct ana_case *, struct ana_waiting *, struct ana_dependency *))
{
    for (struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++)
        for (uint32_t k = 0; k < p->dependencies && p->blocked && ana_rank_knot(c, p->index); k++)
            if (find(c, p, ana_need(c, p, k)))
                return true;
    return false;
}

/* Asks the detectors of this kind and all stronger ones, until one finds something.  In a job that is over nobody waits
 * any more: then its end is the answer. */
static void ask(struct ana_case *c, enum detector_kind least)
{
    bool found = false;
    for (size_t i = 0; i < sizeof detectors / sizeof *detectors && !found; i++)
        found = detectors[i].kind >= least &&
                (detectors[i].find ? detectors[i].find(c) : ask_needs(c, detectors[i].find_need));
    if (c->out->state != ANA_VERDICT_WAITING || c->live || c->until_ns != INT64_MAX)
        return;
    free(c->out->culprit);
    *c->out = (struct ana_finding){.since_ns = -1};
    ana_find_killed(c);
}

static void judge(struct ana_case *c)
{
    bool now = c->until_ns == INT64_MAX;
    if (now)
        ask(c, NOW);
    else if (all_stood_since(c))
        ask(c, STANDSTILL);
    else if (all_as_then(c))
        ask(c, PROOF);
    ana_explain_off(c);
    if (c->out->state == ANA_VERDICT_HEALTHY)
        return;
    ana_case_stacks(c);
    if (c->out->state != ANA_VERDICT_UNKNOWN) {
        ana_explain_cut(c);
        ana_explain_stopped(c);
    }
    ana_narrow_culprits(c);
    if (c->out->state == ANA_VERDICT_HUNG)
        ana_explain_failed(c);
    if (c->out->state == ANA_VERDICT_HUNG && c->out->confidence != ANA_PROVEN)
        ana_explain_threads(c);
    if (c->out->state == ANA_VERDICT_HUNG || c->out->state == ANA_VERDICT_ABORTED)
        ana_known_bad(c);
    ana_doubt_files(c);
    ana_explain_children(c);
    if (!now)
        ANA_FACT(c, ANA_SENTENCE_WAS_SO);
}

/* The class whose advice fits: a rank in another call of MPI has come there by a branch; ranks that are outside have
 * something to do there, whatever the others wait for. */
static enum ana_verdict_class advice_of(struct ana_case *c)
{
    const struct ana_finding *f = c->out;
    size_t inside = 0;
    for (size_t i = 0; i < f->culprits; i++)
        inside += !c->rank[f->culprit[i]].lives && ana_rank_waiting(c, f->culprit[i]);
    bool waits = f->culprits && !inside && (f->id == ANA_CLASS_UNMATCHED || f->id == ANA_CLASS_CYCLE);
    return waits ? ANA_CLASS_MISSING : inside && f->id == ANA_CLASS_MISSING ? ANA_CLASS_MISMATCHED : f->id;
}

/* Whether a culprit is in an MPI_Finalize that the end of its Python program has called. */
static bool has_left_python(struct ana_case *c)
{
    char place[200];
    bool left = false;
    for (size_t i = 0; i < c->out->culprits && !left; i++) {
        const struct ana_waiting *p = ana_rank_waiting(c, c->out->culprit[i]);
        if (!p || p->kind != ANA_WAITING_FINALIZE)
            continue;
        ana_site_words(c->job, c->out->culprit[i], p->sig->site, place, sizeof place);
        left = strstr(place, "Py_Fin") || strstr(place, "Py_Exit");
    }
    return left;
}

/* The next step by the stack of a culprit: in a signal's handler, or blocked outside MPI in a system call. */
static enum ana_sentence next_by_stack(struct ana_case *c, size_t index)
{
    static const struct {
        const char *on;
        enum ana_sentence next;
    } held[] = {{"wait()", ANA_SENTENCE_NEXT_CHILD}, {"read()", ANA_SENTENCE_NEXT_READ}};
    const struct ana_stack *stack = ana_stack_of(ana_case_stacks(c), index);
    if (!stack || ana_clock_job_time(c->members->clock, index, stack->ticks) < c->members->process[index].last_end_ns)
        return ANA_SENTENCE_NOTHING;
    if (stack->flags & TRC_STACK_IN_HANDLER)
        return ANA_SENTENCE_NEXT_HANDLER;
    if (stack->state == 'Z')
        return ANA_SENTENCE_NEXT_ENDED;
    bool outside = c->rank[index].lives || !ana_rank_waiting(c, index);
    for (size_t i = 0; i < sizeof held / sizeof *held && outside; i++)
        if (strncmp(stack->on, held[i].on, strlen(held[i].on)) == 0)
            return held[i].next;
    return ANA_SENTENCE_NOTHING;
}

/* Makes the verdict of the finding. */
static bool publish(struct ana_case *c, struct ana_verdict *out)
{
    struct ana_finding *f = c->out;
    *out = (struct ana_verdict){.state = f->state,
                                .id = f->id,
                                .confidence = f->confidence,
                                .since_ns = f->since_ns,
                                .usual_ns = f->usual_ns,
                                .absents = f->absents};
    memcpy(out->absent, f->absent, sizeof out->absent);
    out->fact = calloc(f->facts + 1, sizeof *out->fact);
    bool done = out->fact && ana_render_fact(c, f, &f->summary, &out->summary);
    for (size_t i = 0; done && i < f->facts; i++) {
        done = ana_render_fact(c, f, &f->fact[i], &out->fact[i]);
        out->facts += done;
    }
    if (f->state == ANA_VERDICT_HUNG && has_left_python(c))
        f->next = (struct ana_fact){.id = ANA_SENTENCE_NEXT_PYTHON};
    else if (f->state == ANA_VERDICT_HUNG && f->culprits == 1 && f->next.id == ANA_SENTENCE_NOTHING)
        f->next = (struct ana_fact){.id = next_by_stack(c, f->culprit[0])};
    if (f->next.id != ANA_SENTENCE_NOTHING)
        ana_render(c, f, &f->next, out->next, sizeof out->next);
    else if (f->state != ANA_VERDICT_HEALTHY)
        snprintf(out->next, sizeof out->next, "%s", classes[advice_of(c)].next);
    ana_case_groups(c, out);
    out->culprits = f->culprits; /* they are the verdict's now */
    out->culprit = f->culprit;
    f->culprit = NULL;
    return done;
}

/* Judges the job as of `until_ns`.  INT64_MAX: now.  *death_ns becomes ana_first_killed_ns.  *proven: that it hangs
 * is. */
static bool judge_at(const struct ana_job *job, int64_t until_ns, int64_t *death_ns, bool *proven,
                     struct ana_verdict *out)
{
    const struct ana_members *members = ana_job_members(job);
    *out = (struct ana_verdict){.since_ns = -1};
    struct ana_judgement *judgement = ana_job_judgement(job);
    const struct ana_straggler *straggler = &judgement->straggler;
    struct ana_finding finding = {.since_ns = -1};
    struct ana_case c = {.job = job,
                         .members = members,
                         .rules = judgement->rules,
                         .samples = &judgement->samples,
                         .straggler =
                             straggler->known && straggler->generation == members->generation ? straggler : NULL,
                         .until_ns = until_ns,
                         .count = members->count,
                         .out = &finding};
    bool done = case_open(&c);
    if (done) {
        look_at_ranks(&c);
        *death_ns = ana_first_killed_ns(&c);
        done = ana_case_gpu(&c) && ana_case_waiting(&c);
        if (done && c.rules.by_past)
            c.rules.hang_ns = ana_patience(&c);
        done = done && ana_case_graph(&c);
    }
    if (done) {
        judge(&c);
        done = publish(&c, out);
        *proven = finding.state == ANA_VERDICT_HUNG && (finding.deadlock || finding.confidence == ANA_PROVEN);
    }
    case_close(&c);
    free(finding.culprit);
    if (done && !c.memory)
        return true;
    ana_verdict_free(out);
    return false;
}

/* Moves summary and evidence of a verdict to another: ranks that were killed may have waited for one at work. */
static void move_facts(struct ana_verdict *from, struct ana_verdict *to)
{
    struct ana_verdict_fact *grown = realloc(to->fact, (to->facts + from->facts + 1) * sizeof *grown);
    if (!grown)
        return;
    to->fact = grown;
    to->fact[to->facts++] = from->summary;
    memcpy(to->fact + to->facts, from->fact, from->facts * sizeof *grown);
    to->facts += from->facts;
    from->facts = 0;
    from->summary = (struct ana_verdict_fact){0};
}

bool ana_judge(const struct ana_job *job, struct ana_verdict *out)
{
    int64_t death_ns, none;
    bool proven = false;
    if (!judge_at(job, INT64_MAX, &death_ns, &proven, out))
        return false;
    /* A proven deadlock stays the verdict after its ranks were killed: no killed rank is its cause. A standstill
     * stays it, too, where no rank is to blame, or where it had lasted longer than the trouble after it. */
    struct ana_verdict before;
    if ((out->id != ANA_CLASS_DEAD && out->id != ANA_CLASS_KILLED) || death_ns == INT64_MAX ||
        !judge_at(job, death_ns, &none, &proven, &before))
        return true;
    bool longer = before.since_ns > ana_job_members(job)->end_ns - death_ns;
    bool stays = before.state == ANA_VERDICT_HUNG && (proven || longer || out->id == ANA_CLASS_KILLED);
    if (before.state == ANA_VERDICT_WAITING)
        move_facts(&before, out);
    ana_verdict_free(stays ? out : &before);
    if (stays)
        *out = before;
    return true;
}

void ana_verdict_free(struct ana_verdict *v)
{
    for (size_t i = 0; i < v->facts; i++)
        ana_verdict_fact_free(&v->fact[i]);
    free(v->fact);
    ana_verdict_fact_free(&v->summary);
    free(v->culprit);
    free(v->group);
    free(v->divergence);
    *v = (struct ana_verdict){.since_ns = -1};
}

void ana_verdict_headline(const struct ana_verdict *v, char *out, size_t size)
{
    char since[ANA_TEXT], usual[ANA_TEXT];
    bool waits = v->state == ANA_VERDICT_WAITING && v->usual_ns > 0;
    bool lasts = (v->state == ANA_VERDICT_HUNG || v->state == ANA_VERDICT_WAITING) && v->since_ns >= 0;
    if (lasts)
        snprintf(out, size, "%s for %s: %s%s%s%s", ana_verdict_state_name(v->state),
                 ana_spoken(since, sizeof since, (double)v->since_ns), v->summary.text,
                 waits ? " (a step usually takes " : "",
                 waits ? ana_spoken(usual, sizeof usual, (double)v->usual_ns) : "", waits ? ")" : "");
    else
        snprintf(out, size, "%s", v->summary.text);
}
