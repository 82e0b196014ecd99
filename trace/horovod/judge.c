/* What is the matter with a set of loops, by the signatures of its states. */
#include "trace/horovod/judge.h"
#include "trace/util/trouble.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENOUGH_STEPS 20u  /* before anybody is called a straggler */
#define STRAGGLES    0.67 /* of the steps it comes last in: of two ranks one always does in half of them */
#define DEVIATIONS   3.0  /* and so many standard deviations more than chance between two would have it */
#define LATE_CYCLES  2.5  /* after the first: one cycle is as close as two can be told apart */
#define COSTS        0.1  /* of a step: what would be gained if it came as early as the next slowest */
#define LONG_STEPS   10   /* so many usual steps are long */

const char *ana_hvd_class_name(enum ana_hvd_class id)
{
    static const char *const name[] = {"healthy",          "not-submitted", "name-mismatch", "loop-dead",
                                       "inside-operation", "straggler",     "early-exit",    "wait-cycle"};
    return name[id];
}

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

/* ---- stuck loops ----------------------------------------------------------------------------------------------------
 */

/* Ranks wait in a cycle or in an operation while others have not come to it. */
static bool stuck_loops(struct hvd_judge *j)
{
    const struct ana_hvd_set *set = j->set;
    size_t waiting = 0, operating = 0, outside = 0, silent = 0, seen = 0;
    int64_t since = INT64_MIN, operation_since = INT64_MIN;
    const struct ana_hvd_rank *in_operation = NULL;
    for (size_t m = 0; m < set->ranks; m++) {
        const struct ana_hvd_rank *r = &set->rank[m];
        if (!j->work->member[m].file)
            continue;
        seen++;
        if (r->phase == ANA_HVD_ENDED)
            return false;
        bool operation = r->phase == ANA_HVD_OPERATION;
        bool inside = r->phase == ANA_HVD_ROUND || r->phase == ANA_HVD_NEGOTIATING || operation;
        if (inside && !hvd_is_silent(j, m)) {
            /* The youngest wait is what all have shared. */
            if (r->inside_since_ns > since)
                since = r->inside_since_ns;
            if (operation && r->inside_since_ns > operation_since)
                operation_since = r->inside_since_ns;
            in_operation = operation ? r : in_operation;
            operating += operation;
            waiting += !operation;
            continue;
        }
        outside++;
        silent += inside;
        j->culprit[m] = 1;
    }
    int64_t lasted = set->now_ns - since;
    bool everybody = operating == seen && seen > 1;
    if (waiting + operating == 0 || lasted < j->notable_ns || (outside == 0 && !everybody))
        return false;
    char who[160];
    hvd_names(j, j->culprit, 1, who, sizeof who);
    if (operating) {
        snprintf(j->out->summary, sizeof j->out->summary, "%zu of %zu ranks are inside %s (%llu bytes)%s%s", operating,
                 set->ranks, in_operation->inside, (unsigned long long)in_operation->inside_bytes,
                 outside ? ", which " : ", and it does not end", outside ? who : "");
        if (outside)
            strncat(j->out->summary, " never entered", sizeof j->out->summary - strlen(j->out->summary) - 1);
        hvd_say(j->out, "the operation was agreed on at cycle %llu: what is missing is not a tensor",
                (unsigned long long)set->cycles);
        since = operation_since;
    } else {
        snprintf(j->out->summary, sizeof j->out->summary,
                 "Horovod's loop of %s stands still%s; %zu rank%s wait for it in cycle %llu", who,
                 silent ? "" : " outside MPI", waiting, waiting == 1 ? "" : "s", (unsigned long long)set->cycles);
    }
    for (size_t m = 0; m < set->ranks; m++)
        if (j->culprit[m])
            hvd_say_where(j, m);
    hvd_say(j->out, "Horovod's own stall inspector is silent here: its coordinator is %s",
            operating ? "inside the operation" : "waiting in the cycle, or stopped");
    snprintf(j->out->next, sizeof j->out->next, "%s",
             outside ? "that process: stopped (SIGSTOP), killed, swapping, or a thread of it holds the GIL"
                     : "the transport: all ranks are inside and nothing moves");
    hvd_finish(j, operating ? ANA_HVD_INSIDE_OPERATION : ANA_HVD_LOOP_DEAD, since);
    return true;
}

/* A launcher that ends a job wakes stopped processes first: the loops turn once more, and the stall is over a moment
 * before the job is. */
static bool stalled_to_the_end(struct hvd_judge *j)
{
    const struct ana_hvd_set *set = j->set;
    if (!j->over || set->stall.begin_ns == ANA_HVD_NEVER || set->now_ns - set->stall.end_ns > HVD_NOTABLE_NS ||
        set->stall.end_ns - set->stall.begin_ns < j->notable_ns)
        return false;
    j->culprit[set->stall.member] = 1;
    snprintf(j->out->summary, sizeof j->out->summary,
             "Horovod's loop of rank %zu stood still outside MPI in cycle %llu until the job was ended",
             set->stall.member, (unsigned long long)set->stall.cycle);
    hvd_say(j->out, "rank %zu: came to that cycle %.1f s after the first, and %.1f s before the end", set->stall.member,
            (double)(set->stall.end_ns - set->stall.begin_ns) / 1e9, (double)(set->now_ns - set->stall.end_ns) / 1e9);
    hvd_say(j->out, "Horovod's own stall inspector is silent here: its coordinator waits in the cycle, or is stopped");
    snprintf(j->out->next, sizeof j->out->next,
             "why that process stood still: stopped (SIGSTOP), swapping, or its host");
    hvd_finish(j, ANA_HVD_LOOP_DEAD, set->stall.begin_ns);
    return true;
}

/* ---- what is pending ------------------------------------------------------------------------------------------------
 */

static int64_t last_move(const struct hvd_judge *j)
{
    int64_t last = j->set->agreed_ns;
    for (size_t i = 0; i < j->set->tensors; i++) {
        const struct ana_hvd_tensor *t = &j->set->tensor[i];
        for (size_t m = 0; t->pending && m < j->set->ranks; m++)
            if (t->submitted[m] == ANA_HVD_YES && t->submitted_ns[m] > last)
                last = t->submitted_ns[m];
    }
    return last;
}

static bool same_kind(const struct ana_hvd_tensor *a, const struct ana_hvd_tensor *b)
{
    return a->op == b->op && a->dtype == b->dtype && (a->elements == b->elements || !a->elements || !b->elements);
}

/* How many pending tensors the ranks that have submitted `of` lack, and how many they alone have. */
static void balance(const struct hvd_judge *j, const struct ana_hvd_tensor *of, size_t *lack, size_t *alone)
{
    *lack = *alone = 0;
    for (size_t i = 0; i < j->set->tensors; i++) {
        const struct ana_hvd_tensor *t = &j->set->tensor[i];
        bool same = t->pending, other = t->pending;
        for (size_t m = 0; m < j->set->ranks; m++) {
            same &= (t->submitted[m] == ANA_HVD_YES) == (of->submitted[m] == ANA_HVD_YES);
            other &= t->submitted[m] != ANA_HVD_YES || of->submitted[m] != ANA_HVD_YES;
        }
        *alone += same;
        *lack += other;
    }
}

/* Two names, not both known before, that between them all ranks have submitted, each one of them. */
static bool name_mismatch(struct hvd_judge *j, int64_t since)
{
    const struct ana_hvd_set *set = j->set;
    for (size_t a = 0; a < set->tensors; a++)
        for (size_t b = a + 1; set->tensor[a].pending && b < set->tensors; b++) {
            const struct ana_hvd_tensor *x = &set->tensor[a], *y = &set->tensor[b];
            bool fits = y->pending && !(x->done && y->done) && same_kind(x, y);
            size_t of_x = 0, of_y = 0, lack, alone;
            for (size_t m = 0; fits && m < set->ranks; m++) {
                bool in_x = x->submitted[m] == ANA_HVD_YES, in_y = y->submitted[m] == ANA_HVD_YES;
                bool hidden = m == 0 && j->work->member[0].uncached_open;
                fits = in_x != in_y || (hidden && !in_x && !in_y) || x->submitted[m] == ANA_HVD_JOINED;
                of_x += in_x;
                of_y += in_y;
            }
            if (!fits || of_x == 0 || of_y == 0)
                continue;
            balance(j, x->done ? y : x, &lack, &alone);
            if (lack != alone) /* it has something of its own, and everything else is what it lacks */
                continue;
            const struct ana_hvd_tensor *odd = of_x < of_y ? x : y, *usual = odd == x ? y : x;
            char who[160], others[160];
            bool tie = of_x == of_y;
            for (size_t m = 0; m < set->ranks; m++)
                j->culprit[m] = odd->submitted[m] == ANA_HVD_YES || (tie && usual->submitted[m] == ANA_HVD_YES);
            hvd_names(j, odd->submitted, ANA_HVD_YES, who, sizeof who);
            hvd_names(j, usual->submitted, ANA_HVD_YES, others, sizeof others);
            snprintf(j->out->summary, sizeof j->out->summary, "one %s under two names: %s submitted %s, %s %s",
                     ana_hvd_op_name(odd->op), who, odd->name, others, usual->name);
            snprintf(j->out->tensor, sizeof j->out->tensor, "%s", odd->name);
            j->out->tensors = 1;
            hvd_say(j->out, "both have %llu elements of the same type, and no rank submitted both",
                    (unsigned long long)odd->elements);
            if (tie)
                hvd_say(j->out, "which of the two is the odd one cannot be told%s",
                        j->work->member[0].uncached_open ? ": what rank 0 submitted is on no wire" : "");
            snprintf(j->out->next, sizeof j->out->next,
                     "the names that the ranks give: they must be equal, and so the order in which the model is built");
            hvd_finish(j, ANA_HVD_NAME_MISMATCH, since);
            return true;
        }
    return false;
}

/* The tensor that tells most: submitted before on all ranks (its absence is a change), else the first. */
static const struct ana_hvd_tensor *telling(const struct hvd_judge *j)
{
    const struct ana_hvd_tensor *found = NULL;
    for (size_t i = 0; i < j->set->tensors; i++) {
        const struct ana_hvd_tensor *t = &j->set->tensor[i];
        if (t->pending && (!found || (t->done && !found->done)))
            found = t;
    }
    return found;
}

/* A new name that only few ranks know: they are the odd ones.  Of a known one, those who have not submitted it. */
static void mark_culprits(struct hvd_judge *j, const struct ana_hvd_tensor *t)
{
    size_t yes = 0, no = 0;
    for (size_t m = 0; m < j->set->ranks; m++) {
        yes += t->submitted[m] == ANA_HVD_YES;
        no += t->submitted[m] == ANA_HVD_NO;
    }
    uint8_t odd = !t->done && yes < no ? ANA_HVD_YES : ANA_HVD_NO;
    for (size_t m = 0; m < j->set->ranks; m++)
        j->culprit[m] = t->submitted[m] == odd;
}

static size_t missing_at(const struct hvd_judge *j, const struct ana_hvd_tensor *like)
{
    size_t n = 0;
    for (size_t i = 0; i < j->set->tensors; i++) {
        const struct ana_hvd_tensor *t = &j->set->tensor[i];
        n += t->pending && !t->done == !like->done;
    }
    return n;
}

static void say_tensors(struct hvd_judge *j)
{
    for (size_t i = 0; i < j->set->tensors && j->out->lines < 4; i++) {
        const struct ana_hvd_tensor *t = &j->set->tensor[i];
        char yes[100], no[100];
        if (!t->pending)
            continue;
        hvd_names(j, t->submitted, ANA_HVD_YES, yes, sizeof yes);
        hvd_names(j, t->submitted, ANA_HVD_NO, no, sizeof no);
        if (memchr(t->submitted, ANA_HVD_NO, j->set->ranks))
            hvd_say(j->out, "%s: submitted by %s, not by %s", t->name, yes, no);
        else
            hvd_say(j->out, "%s: submitted by %s", t->name, yes);
    }
}

static bool root_alone(struct hvd_judge *j)
{
    const struct hvd_member *root = &j->work->member[0];
    if (!root->uncached_open || j->work->pending || root->maybe_joined || j->set->rank[0].wants_shutdown ||
        j->set->now_ns - root->uncached_ns < j->notable_ns)
        return false;
    j->culprit[0] = 1;
    snprintf(j->out->summary, sizeof j->out->summary,
             "rank 0 waits for a tensor that no other rank has submitted since cycle %llu",
             (unsigned long long)root->uncached_cycle);
    j->out->tensors = 1;
    hvd_say(j->out, "its name is on no wire: rank 0 of a process set sends no requests; its Python stack has it");
    snprintf(j->out->next, sizeof j->out->next,
             "a collective that only rank 0 comes to: a metric, a broadcast in a branch");
    hvd_finish(j, ANA_HVD_NOT_SUBMITTED, root->uncached_ns);
    return true;
}

/* A new tensor that only the marked ranks have submitted: what they wait for while the others wait for them. */
static const struct ana_hvd_tensor *own_tensor(const struct hvd_judge *j)
{
    for (size_t i = 0; i < j->set->tensors; i++) {
        const struct ana_hvd_tensor *t = &j->set->tensor[i];
        bool own = t->pending && !t->done;
        for (size_t m = 0; m < j->set->ranks && own; m++)
            own = (t->submitted[m] == ANA_HVD_YES) == (j->culprit[m] != 0);
        if (own)
            return t;
    }
    return NULL;
}

static bool not_submitted(struct hvd_judge *j)
{
    const struct ana_hvd_set *set = j->set;
    const struct ana_hvd_tensor *t = telling(j);
    if (!t)
        return root_alone(j);
    int64_t since = last_move(j);
    if (since < t->since_ns)
        since = t->since_ns;
    if (set->now_ns - since < j->notable_ns)
        return false;
    if (name_mismatch(j, since))
        return true;
    mark_culprits(j, t);
    bool minority = false;
    size_t culprit = SIZE_MAX, crossed = SIZE_MAX;
    for (size_t m = set->ranks; m-- > 0;)
        if (j->culprit[m]) {
            culprit = m;
            minority = t->submitted[m] == ANA_HVD_YES;
            if (set->rank[m].main_inside && set->now_ns - set->rank[m].main_since_ns >= j->notable_ns)
                crossed = m;
        }
    size_t others = 0, other = 0; /* that may not have it, for all that is known */
    for (size_t m = 0; m < set->ranks; m++)
        if (t->submitted[m] != ANA_HVD_YES && t->submitted[m] != ANA_HVD_JOINED && ++others)
            other = m;
    if (culprit == SIZE_MAX && others == 1) {
        culprit = other;
        j->culprit[other] = 1;
    }
    char who[160];
    hvd_names(j, j->culprit, 1, who, sizeof who);
    size_t known = 0;
    for (size_t i = 0; i < set->tensors; i++)
        known += set->tensor[i].op == t->op && !set->tensor[i].done == !t->done;
    const struct ana_hvd_tensor *own = minority ? NULL : own_tensor(j);
    bool hidden = culprit == 0 && !minority && j->work->member[0].uncached_open;
    j->out->tensors = missing_at(j, t);
    snprintf(j->out->tensor, sizeof j->out->tensor, "%s", own ? own->name : t->name);
    if (own)
        hvd_say(j->out, "%s: submitted by %s alone, since cycle %llu", own->name, who,
                (unsigned long long)own->submitted_cycle[culprit]);
    if (hidden)
        hvd_say(j->out, "rank 0 has asked for something else, whose name is on no wire: its Python stack has it");
    if (crossed != SIZE_MAX)
        snprintf(j->out->summary, sizeof j->out->summary,
                 "rank %zu is in %s on another communicator while the others wait for its %s", crossed,
                 set->rank[crossed].main_inside, t->name);
    else if (culprit == SIZE_MAX)
        snprintf(j->out->summary, sizeof j->out->summary,
                 "%zu of %zu tensors are waited for since step %llu (first: %s); who has not submitted them cannot be "
                 "told: ranks have no trace file here",
                 j->out->tensors, known, (unsigned long long)set->steps, t->name);
    else if (minority)
        snprintf(j->out->summary, sizeof j->out->summary, "only %s submitted %s", who, t->name);
    else if (own)
        snprintf(j->out->summary, sizeof j->out->summary,
                 "only %s submitted %s, and has not submitted %zu of %zu tensors that the others wait for (first: %s)",
                 who, own->name, j->out->tensors, known, t->name);
    else
        snprintf(j->out->summary, sizeof j->out->summary,
                 "%s %s not submitted %zu of %zu tensors since step %llu (first: %s)", who,
                 strchr(who, 's') ? "have" : "has", j->out->tensors, known, (unsigned long long)set->steps, t->name);
    say_tensors(j);
    if (culprit < set->ranks)
        hvd_say_where(j, culprit);
    hvd_say(j->out, "all loops turn together (cycle %llu): the communication library is idle and healthy",
            (unsigned long long)set->cycles);
    snprintf(j->out->next, sizeof j->out->next, "%s",
             crossed != SIZE_MAX ? "that call: all ranks must make it at the same point between Horovod's operations"
             : minority || own   ? "a collective in a branch that only some ranks take"
                                 : "what that rank does instead: its input, an evaluation, uneven data (hvd.join)");
    bool renamed = hidden && !t->done && j->out->tensors == 1;
    hvd_finish(j,
               crossed != SIZE_MAX ? ANA_HVD_CROSS_LIBRARY
               : renamed           ? ANA_HVD_NAME_MISMATCH
                                   : ANA_HVD_NOT_SUBMITTED,
               since);
    return true;
}

/* ---- the end, and the slow ------------------------------------------------------------------------------------------
 */

static bool early_exit(struct hvd_judge *j)
{
    const struct ana_hvd_set *set = j->set;
    uint64_t first = UINT64_MAX;
    int64_t since = 0;
    for (size_t m = 0; m < set->ranks; m++)
        if (set->rank[m].wants_shutdown && set->rank[m].shutdown_cycle < first) {
            first = set->rank[m].shutdown_cycle;
            since = set->rank[m].shutdown_ns;
        }
    const struct ana_hvd_tensor *t = telling(j);
    if (first == UINT64_MAX || (!t && (!j->work->member[0].uncached_open || j->work->member[0].maybe_joined)))
        return false;
    bool innocent = false;
    for (size_t m = 0; m < set->ranks; m++) {
        j->culprit[m] = set->rank[m].wants_shutdown && set->rank[m].shutdown_cycle == first;
        innocent |= !j->culprit[m];
    }
    if (!innocent)
        return false;
    char who[160];
    hvd_names(j, j->culprit, 1, who, sizeof who);
    if (t)
        snprintf(j->out->tensor, sizeof j->out->tensor, "%s", t->name);
    j->out->tensors = j->work->pending;
    char under_way[64] = "rank 0 waited for a tensor whose name is on no wire";
    if (j->work->pending)
        snprintf(under_way, sizeof under_way, "others had %zu tensor%s under way", j->work->pending,
                 j->work->pending == 1 ? "" : "s");
    snprintf(j->out->summary, sizeof j->out->summary, "%s asked for shutdown at cycle %llu, after step %llu, while %s",
             who, (unsigned long long)first, (unsigned long long)set->steps, under_way);
    say_tensors(j);
    snprintf(j->out->next, sizeof j->out->next,
             "the output of that rank: an exception or an exit; the errors of the others follow from it");
    hvd_finish(j, ANA_HVD_EARLY_EXIT, since);
    j->out->hung = false;
    return true;
}

static bool straggler(struct hvd_judge *j)
{
    const struct ana_hvd_set *set = j->set;
    if (set->steps < ENOUGH_STEPS || set->kept_steps < 2)
        return false;
    size_t worst = 0;
    for (size_t m = 1; m < set->ranks; m++)
        if (set->rank[m].last > set->rank[worst].last)
            worst = m;
    const struct ana_hvd_rank *r = &set->rank[worst];
    double steps = (double)set->steps, next_late = 0;
    double step_ms = ms(set->step[set->kept_steps - 1].end_ns - set->step[0].begin_ns) / (double)set->kept_steps;
    for (size_t m = 0; m < set->ranks; m++)
        if (m != worst && set->rank[m].late_ms > next_late)
            next_late = set->rank[m].late_ms;
    double gain = r->late_ms - next_late, chance = steps / 2 + DEVIATIONS * sqrt(steps) / 2;
    if ((double)r->last < STRAGGLES * steps || (double)r->last < chance || r->last_cycles < LATE_CYCLES ||
        step_ms <= 0 || gain < COSTS * step_ms || steps * step_ms * 1e6 < SLOW_RUN_NS ||
        steps * gain * 1e6 < SLOW_LOST_NS)
        return false;
    j->culprit[worst] = 1;
    snprintf(j->out->summary, sizeof j->out->summary,
             "rank %zu comes last in %llu of %llu steps, %.1f cycles or %.1f ms after the first; it costs all %.0f%%",
             worst, (unsigned long long)r->last, (unsigned long long)set->steps, r->last_cycles, r->last_ms,
             100 * fmin(gain / step_ms, 1));
    for (size_t m = 0; m < set->ranks && m < 4; m++)
        hvd_say(j->out, "rank %zu: last in %llu steps, %.1f cycles or %.1f ms late on average", m,
                (unsigned long long)set->rank[m].last, set->rank[m].late_cycles, set->rank[m].late_ms);
    snprintf(j->out->next, sizeof j->out->next, "what rank %zu computes or reads between steps", worst);
    hvd_finish(j, ANA_HVD_STRAGGLER, set->step[0].begin_ns);
    j->out->hung = false;
    return true;
}

static int64_t usual_step_ns(const struct ana_hvd_set *set)
{
    if (set->kept_steps < 2)
        return 0;
    return (set->step[set->kept_steps - 1].end_ns - set->step[0].end_ns) / (int64_t)(set->kept_steps - 1);
}

bool ana_hvd_judge(const struct ana_job *job, const struct ana_hvd *hvd, int64_t hang_ns, struct ana_hvd_finding *out)
{
    bool (*const rule[])(struct hvd_judge *) = {early_exit, stuck_loops, stalled_to_the_end, not_submitted, straggler};
    for (size_t k = 0; k < sizeof rule / sizeof *rule; k++)
        for (size_t s = 0; s < hvd->sets; s++) {
            struct hvd_judge j = {.job = job,
                                  .set = &hvd->set[s],
                                  .work = &job->horovod->work[s],
                                  .out = out,
                                  .hang_ns = hang_ns,
                                  .over = true,
                                  .culprit = calloc(hvd->set[s].ranks, 1)};
            *out = (struct ana_hvd_finding){.set = s};
            for (size_t m = 0; m < j.set->ranks; m++)
                j.over &= !j.set->rank[m].alive;
            j.notable_ns = LONG_STEPS * usual_step_ns(j.set);
            if (j.notable_ns < HVD_NOTABLE_NS)
                j.notable_ns = HVD_NOTABLE_NS;
            if (j.notable_ns > hang_ns)
                j.notable_ns = hang_ns;
            if (j.over && hang_ns > j.notable_ns)
                j.hang_ns = j.notable_ns; /* nothing will move any more */
            bool found = j.culprit && rule[k](&j);
            free(j.culprit);
            if (found) {
                out->usual_ns = usual_step_ns(&hvd->set[s]);
                return true;
            }
        }
    *out = (struct ana_hvd_finding){.id = ANA_HVD_FINE};
    return false;
}
