/* What is the matter where tensors are pending: who has not submitted them, or has done so under another name. */
#include "trace/horovod/judge.h"
#include <stdio.h>
#include <string.h>

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

/* Counts pending tensors: how many the ranks that have submitted `of` lack, and how many only they have. */
static void count_balance(const struct hvd_judge *j, const struct ana_hvd_tensor *of, size_t *lack, size_t *alone)
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

/* Finds two names of one tensor: not both known before, and each rank has submitted exactly one of them. */
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
            count_balance(j, x->done ? y : x, &lack, &alone);
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

/* The tensor that tells most: one that all ranks submitted before (its absence is a change), else the first. */
const struct ana_hvd_tensor *hvd_pending(const struct hvd_judge *j)
{
    const struct ana_hvd_tensor *found = NULL;
    for (size_t i = 0; i < j->set->tensors; i++) {
        const struct ana_hvd_tensor *t = &j->set->tensor[i];
        if (t->pending && (!found || (t->done && !found->done)))
            found = t;
    }
    return found;
}

/* Marks the culprits: few ranks that alone know a new name; for a known name, those who have not submitted it. */
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

/* A new tensor that only the marked ranks have submitted: they wait for it while the others wait for them. */
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

/* Who keeps the others waiting, and what of theirs can be told. */
struct lagging {
    const struct ana_hvd_tensor *tensor; /* that the others wait for, or that only they submitted */
    const struct ana_hvd_tensor *own;    /* of the culprits alone; NULL: none */
    size_t culprit;                      /* the first of them; SIZE_MAX: not known */
    size_t crossed;                      /* one of them that is in a call on another communicator, or SIZE_MAX */
    size_t known;                        /* tensors like it */
    bool minority;                       /* the culprits are those who did submit it */
    bool hidden;                         /* rank 0 asked for something whose name is on no wire */
    char who[160];
};

static void find_culprit(struct hvd_judge *j, struct lagging *l)
{
    const struct ana_hvd_set *set = j->set;
    for (size_t m = set->ranks; m-- > 0;)
        if (j->culprit[m]) {
            l->culprit = m;
            l->minority = l->tensor->submitted[m] == ANA_HVD_YES;
            if (set->rank[m].main_inside && set->now_ns - set->rank[m].main_since_ns >= j->notable_ns)
                l->crossed = m;
        }
    size_t others = 0, other = 0; /* that may not have it, for all that is known */
    for (size_t m = 0; m < set->ranks; m++)
        if (l->tensor->submitted[m] != ANA_HVD_YES && l->tensor->submitted[m] != ANA_HVD_JOINED && ++others)
            other = m;
    if (l->culprit == SIZE_MAX && others == 1) {
        l->culprit = other;
        j->culprit[other] = 1;
    }
}

static struct lagging lagging_of(struct hvd_judge *j, const struct ana_hvd_tensor *t)
{
    struct lagging l = {.tensor = t, .culprit = SIZE_MAX, .crossed = SIZE_MAX};
    mark_culprits(j, t);
    find_culprit(j, &l);
    hvd_names(j, j->culprit, 1, l.who, sizeof l.who);
    for (size_t i = 0; i < j->set->tensors; i++)
        l.known += j->set->tensor[i].op == t->op && !j->set->tensor[i].done == !t->done;
    l.own = l.minority ? NULL : own_tensor(j);
    l.hidden = l.culprit == 0 && !l.minority && j->work->member[0].uncached_open;
    return l;
}

static void say_lagging(struct hvd_judge *j, const struct lagging *l)
{
    const struct ana_hvd_set *set = j->set;
    const struct ana_hvd_tensor *t = l->tensor;
    char *out = j->out->summary;
    const size_t size = sizeof j->out->summary;
    if (l->crossed != SIZE_MAX)
        snprintf(out, size, "rank %zu is in %s on another communicator while the others wait for its %s", l->crossed,
                 set->rank[l->crossed].main_inside, t->name);
    else if (l->culprit == SIZE_MAX)
        snprintf(out, size,
                 "%zu of %zu tensors are waited for since step %llu (first: %s); who has not submitted them cannot be "
                 "told: ranks have no trace file here",
                 j->out->tensors, l->known, (unsigned long long)set->steps, t->name);
    else if (l->minority)
        snprintf(out, size, "only %s submitted %s", l->who, t->name);
    else if (l->own)
        snprintf(out, size,
                 "only %s submitted %s, and has not submitted %zu of %zu tensors that the others wait for (first: %s)",
                 l->who, l->own->name, j->out->tensors, l->known, t->name);
    else
        snprintf(out, size, "%s %s not submitted %zu of %zu tensors since step %llu (first: %s)", l->who,
                 strchr(l->who, 's') ? "have" : "has", j->out->tensors, l->known, (unsigned long long)set->steps,
                 t->name);
}

bool hvd_not_submitted(struct hvd_judge *j)
{
    const struct ana_hvd_set *set = j->set;
    const struct ana_hvd_tensor *t = hvd_pending(j);
    if (!t)
        return root_alone(j);
    int64_t since = last_move(j);
    if (since < t->since_ns)
        since = t->since_ns;
    if (set->now_ns - since < j->notable_ns)
        return false;
    if (name_mismatch(j, since))
        return true;
    const struct lagging l = lagging_of(j, t);
    j->out->tensors = missing_at(j, t);
    snprintf(j->out->tensor, sizeof j->out->tensor, "%s", l.own ? l.own->name : t->name);
    if (l.own)
        hvd_say(j->out, "%s: submitted by %s alone, since cycle %llu", l.own->name, l.who,
                (unsigned long long)l.own->submitted_cycle[l.culprit]);
    if (l.hidden)
        hvd_say(j->out, "rank 0 has asked for something else, whose name is on no wire: its Python stack has it");
    say_lagging(j, &l);
    hvd_say_tensors(j);
    if (l.culprit < set->ranks)
        hvd_say_where(j, l.culprit);
    hvd_say(j->out, "all loops turn together (cycle %llu): the communication library is idle and healthy",
            (unsigned long long)set->cycles);
    bool crossed = l.crossed != SIZE_MAX, renamed = l.hidden && !t->done && j->out->tensors == 1;
    snprintf(j->out->next, sizeof j->out->next, "%s",
             crossed               ? "that call: all ranks must make it at the same point between Horovod's operations"
             : l.minority || l.own ? "a collective in a branch that only some ranks take"
                                   : "what that rank does instead: its input, an evaluation, uneven data (hvd.join)");
    hvd_finish(j, crossed ? ANA_HVD_CROSS_LIBRARY : renamed ? ANA_HVD_NAME_MISMATCH : ANA_HVD_NOT_SUBMITTED, since);
    return true;
}
