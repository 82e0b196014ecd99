/* Tensors are pending and nothing moves: finds the ranks that have not submitted them, or did so under another name. */
#include "trace/verdict/horovod_impl.h"
#include <string.h>

#define PAIRS_MOST 64 /* pending tensors each compared with all others: the rest tells nothing new */

static bool has(const struct ana_hvd_tensor *t, size_t m)
{
    return t->submitted[m] == ANA_HVD_YES;
}

static int64_t last_move(const struct loops *l)
{
    int64_t last = l->set->agreed_ns;
    for (size_t i = 0; i < l->set->tensors; i++) {
        const struct ana_hvd_tensor *t = &l->set->tensor[i];
        for (size_t m = 0; t->pending && m < l->set->ranks; m++)
            if (has(t, m) && t->submitted_ns[m] > last)
                last = t->submitted_ns[m];
    }
    return last;
}

/* The tensor that tells most: one that all ranks submitted before (its absence is a change), else the first. */
const struct ana_hvd_tensor *hvd_pending(const struct loops *l)
{
    const struct ana_hvd_tensor *found = NULL;
    for (size_t i = 0; i < l->set->tensors; i++) {
        const struct ana_hvd_tensor *t = &l->set->tensor[i];
        if (t->pending && (!found || (t->done && !found->done)))
            found = t;
    }
    return found;
}

/* ---- one tensor under two names --------------------------------------------------------------------------------- */

static bool same_kind(const struct ana_hvd_tensor *a, const struct ana_hvd_tensor *b)
{
    return a->op == b->op && a->dtype == b->dtype && (a->elements == b->elements || !a->elements || !b->elements);
}

/* Whether the ranks that have submitted `of` lack as many pending tensors as only they have: each of theirs is then one
 * of the others'. */
static bool balanced(const struct loops *l, const struct ana_hvd_tensor *of)
{
    size_t lack = 0, alone = 0;
    for (size_t i = 0; i < l->set->tensors; i++) {
        const struct ana_hvd_tensor *t = &l->set->tensor[i];
        bool same = t->pending, other = t->pending;
        for (size_t m = 0; m < l->set->ranks; m++) {
            same &= has(t, m) == has(of, m);
            other &= !has(t, m) || !has(of, m);
        }
        alone += same;
        lack += other;
    }
    return lack == alone;
}

/* Whether each rank has submitted exactly one of the two. */
static bool split(const struct loops *l, const struct ana_hvd_tensor *x, const struct ana_hvd_tensor *y)
{
    size_t of_x = 0, of_y = 0;
    for (size_t m = 0; m < l->set->ranks; m++) {
        bool hidden = m == 0 && l->set->rank[0].asks && !has(x, m) && !has(y, m);
        if (has(x, m) == has(y, m) && !hidden && x->submitted[m] != ANA_HVD_JOINED)
            return false;
        of_x += has(x, m);
        of_y += has(y, m);
    }
    return of_x && of_y;
}

static bool two_names(struct loops *l, const struct ana_hvd_tensor *x, const struct ana_hvd_tensor *y, int64_t since)
{
    if (!y->pending || (x->done && y->done) || !same_kind(x, y) || !split(l, x, y) || !balanced(l, x->done ? y : x))
        return false;
    size_t of_x = hvd_count(l, x->submitted, ANA_HVD_YES), of_y = hvd_count(l, y->submitted, ANA_HVD_YES);
    const struct ana_hvd_tensor *odd = of_x < of_y ? x : y, *usual = odd == x ? y : x;
    bool tie = of_x == of_y;
    for (size_t m = 0; m < l->set->ranks; m++)
        l->mark[m] = has(odd, m) || (tie && has(usual, m));
    ANA_SUMMARY(l->c, ANA_SENTENCE_HVD_TWO_NAMES, .call.name = ana_hvd_op_name(odd->op),
                .who = hvd_ranks(l, odd->submitted, ANA_HVD_YES), .name = odd->name,
                .others = hvd_ranks(l, usual->submitted, ANA_HVD_YES), .other_name = usual->name);
    ANA_FACT(l->c, ANA_SENTENCE_HVD_BOTH_NAMES, .count = (int64_t)odd->elements);
    if (tie)
        ANA_FACT(l->c, ANA_SENTENCE_HVD_WHICH_NAME, .more = l->set->rank[0].asks);
    l->c->out->next.id = ANA_SENTENCE_HVD_NEXT_NAMES;
    hvd_settle(l, ANA_CLASS_NAME_MISMATCH, ANA_LIKELY, since);
    return true;
}

static bool name_mismatch(struct loops *l, int64_t since)
{
    const struct ana_hvd_set *set = l->set;
    for (size_t a = 0, pairs = 0; a < set->tensors && pairs < PAIRS_MOST; a++)
        for (size_t b = a + 1; set->tensor[a].pending && b < set->tensors; pairs += b == a + 1, b++)
            if (two_names(l, &set->tensor[a], &set->tensor[b], since))
                return true;
    return false;
}

/* ---- not submitted ---------------------------------------------------------------------------------------------- */

/* A tensor of another process set that a rank waits for; NULL: none.  What a coordinator asks for has no name. */
static const struct ana_hvd_tensor *waits_elsewhere(const struct loops *l, size_t member)
{
    static const struct ana_hvd_tensor unnamed;
    for (size_t s = 0; s < l->hvd->sets; s++) {
        const struct ana_hvd_set *set = &l->hvd->set[s];
        size_t m = 0;
        while (m < set->ranks && set->rank[m].index != l->set->rank[member].index)
            m++;
        if (set == l->set || m == set->ranks || !hvd_has_file(l, member))
            continue;
        for (size_t i = 0; i < set->tensors; i++)
            if (set->tensor[i].pending && has(&set->tensor[i], m))
                return &set->tensor[i];
        if (m == 0 && set->rank[0].asks)
            return &unnamed;
    }
    return NULL;
}

/* Only member 0 waits, for data that is on no wire. */
static bool root_alone(struct loops *l, bool across)
{
    const struct ana_hvd_rank *root = &l->set->rank[0];
    if (!root->asks || root->maybe_joined || root->wants_shutdown || l->set->now_ns - root->asks_ns < l->notable_ns)
        return false;
    for (size_t m = 1; m < l->set->ranks; m++)
        if (!across && waits_elsewhere(l, m)) /* the other set's verdict names the rank waited for */
            return false;
    l->mark[0] = 1;
    ANA_SUMMARY(l->c, ANA_SENTENCE_HVD_ROOT_ALONE, .who = ANA_CULPRITS, .number = (int64_t)root->asks_cycle);
    ANA_FACT(l->c, ANA_SENTENCE_HVD_NO_WIRE, .who = ANA_CULPRITS);
    l->c->out->next.id = ANA_SENTENCE_HVD_NEXT_BRANCH;
    hvd_settle(l, ANA_CLASS_NOT_SUBMITTED, ANA_LIKELY, root->asks_ns);
    return true;
}

/* A tensor that only the marked ranks have submitted: they wait for it while the others wait for them. */
static const struct ana_hvd_tensor *own_tensor(const struct loops *l)
{
    for (size_t i = 0; i < l->set->tensors; i++) {
        const struct ana_hvd_tensor *t = &l->set->tensor[i];
        bool own = t->pending;
        for (size_t m = 0; m < l->set->ranks && own; m++)
            own = has(t, m) == (l->mark[m] != 0);
        if (own)
            return t;
    }
    return NULL;
}

/* The ranks that keep the others waiting, and facts about their tensors. */
struct lagging {
    const struct ana_hvd_tensor *tensor;    /* tensor that the others wait for, or that only they submitted */
    const struct ana_hvd_tensor *own;       /* tensor of the culprits alone; NULL: none */
    const struct ana_hvd_tensor *elsewhere; /* tensor of another process set, that all culprits wait for */
    size_t culprit;                         /* first culprit; SIZE_MAX: not known */
    size_t crossed;                         /* a culprit that is in a call on another communicator, or SIZE_MAX */
    size_t lacking, of;                     /* tensors that a culprit lacks, out of all tensors of a step */
    bool minority;                          /* the culprits are the ranks that did submit it */
    bool tie;                               /* equal numbers have submitted it and have not, and it is new */
};

/* Whether the ranks that have not submitted a tensor have submitted no other pending tensor either. */
static bool are_idle(const struct loops *l, const struct ana_hvd_tensor *t)
{
    for (size_t i = 0; i < l->set->tensors; i++)
        for (size_t m = 0; l->set->tensor[i].pending && m < l->set->ranks; m++)
            if (t->submitted[m] == ANA_HVD_NO && has(&l->set->tensor[i], m))
                return false;
    return true;
}

/* Marks the culprits: few ranks that alone know a new name; for a known name, the ranks that have not submitted it. */
static void find_culprits(struct loops *l, struct lagging *g)
{
    const struct ana_hvd_tensor *t = g->tensor;
    size_t yes = hvd_count(l, t->submitted, ANA_HVD_YES), no = hvd_count(l, t->submitted, ANA_HVD_NO);
    size_t unknown = hvd_count(l, t->submitted, ANA_HVD_UNKNOWN);
    g->minority = !t->done && yes + unknown < no;
    g->tie = !t->done && !g->minority && yes <= no && !(unknown && are_idle(l, t));
    bool only_root = no == 0 && unknown == 1; /* all others have: so it has not */
    g->tie |= only_root && yes == 1 && l->set->rank[0].asks;
    uint8_t odd = g->minority ? ANA_HVD_YES : only_root ? ANA_HVD_UNKNOWN : ANA_HVD_NO;
    size_t victims = 0, marked = 0;
    for (size_t m = 0; m < l->set->ranks; m++)
        if (t->submitted[m] == odd) {
            const struct ana_hvd_tensor *other = g->minority ? NULL : waits_elsewhere(l, m);
            l->mark[m] = other ? 2 : 1;
            g->elsewhere = other ? other : g->elsewhere;
            victims += other != NULL;
            marked++;
        }
    if (victims < marked) /* a rank that waits in another process set only waits, where another does not */
        g->elsewhere = NULL;
    for (size_t m = l->set->ranks; m-- > 0;) {
        l->mark[m] = l->mark[m] == 1 || (l->mark[m] && g->elsewhere);
        if (!l->mark[m])
            continue;
        g->culprit = m;
        if (l->set->rank[m].main_inside && l->set->now_ns - l->set->rank[m].main_since_ns >= l->notable_ns)
            g->crossed = m;
    }
}

/* Counts the tensors that a culprit lacks, and the tensors of a step: of the last step, and all lacking ones. */
static void count_lacking(const struct loops *l, struct lagging *g)
{
    for (size_t i = 0; i < l->set->tensors; i++) {
        const struct ana_hvd_tensor *t = &l->set->tensor[i];
        bool lacking = false;
        for (size_t m = 0; t->pending && m < l->set->ranks; m++)
            lacking |= (l->mark[m] || g->culprit == SIZE_MAX) && t->submitted[m] != ANA_HVD_YES;
        g->lacking += lacking;
        g->of += lacking || (t->done && t->step >= l->set->steps);
    }
}

/* Two sides with a new tensor each: the smaller one is odd; of equal ones neither. */
static void weigh_sides(struct loops *l, struct lagging *g)
{
    size_t waiting = hvd_count(l, g->tensor->submitted, ANA_HVD_YES), own = hvd_count(l, l->mark, 1);
    if (waiting == own) {
        g->own = NULL;
        return;
    }
    g->tie = false;
    if (waiting > own)
        return;
    const struct ana_hvd_tensor *swapped = g->tensor;
    g->tensor = g->own;
    g->own = swapped;
    for (size_t m = l->set->ranks; m-- > 0;)
        if ((l->mark[m] = has(swapped, m)))
            g->culprit = m;
}

static void explain_lagging(const struct loops *l, const struct lagging *g)
{
    const struct ana_hvd_tensor *t = g->tensor;
    bool absent = g->culprit != SIZE_MAX && !hvd_has_file(l, g->culprit);
    struct ana_fact say = {.who = ANA_CULPRITS,
                           .name = t->name,
                           .count = (int64_t)g->lacking,
                           .of = (int64_t)g->of,
                           .more = (int64_t)l->set->steps,
                           .others = hvd_of_set(l)};
    if (g->crossed != SIZE_MAX) {
        say.id = ANA_SENTENCE_HVD_CROSSED;
        say.who = ana_one_rank(l->set->rank[g->crossed].index);
        say.call.name = l->set->rank[g->crossed].main_inside;
    } else if (g->culprit == SIZE_MAX) {
        say.id = ANA_SENTENCE_HVD_WHO_UNKNOWN;
    } else if (absent) {
        say.id = ANA_SENTENCE_HVD_ABSENT;
        say.number = hvd_absent_rank(l, g->culprit);
    } else if (g->elsewhere) {
        say.id = ANA_SENTENCE_HVD_ELSEWHERE;
        say.other_name = g->elsewhere->name;
    } else if (g->minority) {
        say.id = ANA_SENTENCE_HVD_ONLY;
    } else if (g->own) {
        say.id = t->done && g->own->done ? ANA_SENTENCE_HVD_CIRCLE : ANA_SENTENCE_HVD_ONLY_AND;
        say.who = hvd_ranks(l, l->mark, 1);
        say.other_name = g->own->name;
        say.others = hvd_ranks(l, t->submitted, ANA_HVD_YES);
    } else if (g->tie) {
        say.id = ANA_SENTENCE_HVD_HALF;
        say.who = hvd_ranks(l, t->submitted, ANA_HVD_YES);
        say.others = hvd_ranks(l, l->mark, 1);
    } else {
        say.id = ANA_SENTENCE_HVD_LACKS;
    }
    l->c->out->summary = say;
}

static enum ana_sentence next_of(const struct lagging *g, bool circle)
{
    return g->crossed != SIZE_MAX            ? ANA_SENTENCE_HVD_NEXT_CALL
           : circle                          ? ANA_SENTENCE_HVD_NEXT_ORDER
           : g->minority || g->own || g->tie ? ANA_SENTENCE_HVD_NEXT_BRANCH
                                             : ANA_SENTENCE_HVD_NEXT_INPUT;
}

/* Two sides that wait for each other's known tensors: the smaller one differs; of equal ones both do. */
static void blame_circle(struct loops *l, const struct lagging *g)
{
    size_t waiting = hvd_count(l, g->tensor->submitted, ANA_HVD_YES), own = hvd_count(l, l->mark, 1);
    for (size_t m = 0; m < l->set->ranks; m++)
        if (own >= waiting)
            l->mark[m] = has(g->tensor, m) || (own == waiting && l->mark[m]);
}

/* `across`: those whose culprits all wait in other process sets count, too. */
static bool pending(struct loops *l, bool across)
{
    const struct ana_hvd_set *set = l->set;
    struct lagging g = {.tensor = hvd_pending(l), .culprit = SIZE_MAX, .crossed = SIZE_MAX};
    if (!g.tensor)
        return root_alone(l, across);
    int64_t since = last_move(l);
    if (since < g.tensor->since_ns)
        since = g.tensor->since_ns;
    if (set->now_ns - since < l->notable_ns)
        return false;
    if (name_mismatch(l, since))
        return true;
    find_culprits(l, &g);
    if (g.elsewhere && !across)
        return false;
    g.own = g.minority ? NULL : own_tensor(l);
    if (g.own && g.tie)
        weigh_sides(l, &g);
    count_lacking(l, &g);
    bool hidden = g.culprit == 0 && !g.minority && set->rank[0].asks;
    bool circle = g.own && g.tensor->done && g.own->done && g.crossed == SIZE_MAX;
    explain_lagging(l, &g);
    if (hidden)
        ANA_FACT(l->c, ANA_SENTENCE_HVD_HIDDEN, .who = ana_one_rank(set->rank[0].index));
    hvd_submitters(l);
    if (g.culprit != SIZE_MAX)
        hvd_where(l, g.culprit);
    ANA_FACT(l->c, ANA_SENTENCE_HVD_TOGETHER, .number = (int64_t)set->cycles);
    if (circle)
        blame_circle(l, &g);
    for (size_t m = 0; m < set->ranks && g.tie && !g.own; m++)
        l->mark[m] |= has(g.tensor, m);
    bool renamed = hidden && !g.tensor->done && g.lacking == 1;
    l->c->out->next.id = next_of(&g, circle);
    hvd_settle(l,
               g.crossed != SIZE_MAX || circle || g.elsewhere ? ANA_CLASS_CYCLE
               : renamed                                      ? ANA_CLASS_NAME_MISMATCH
                                                              : ANA_CLASS_NOT_SUBMITTED,
               g.tie ? ANA_POSSIBLE : ANA_LIKELY, since);
    return true;
}

bool hvd_not_submitted(struct loops *l)
{
    return pending(l, false);
}

bool hvd_sets_wait(struct loops *l)
{
    return pending(l, true);
}

bool hvd_joined_alone(struct loops *l)
{
    const struct ana_hvd_set *set = l->set;
    int64_t since = set->agreed_ns;
    size_t joined = 0, others = 0;
    for (size_t m = 0; m < set->ranks; m++) {
        const struct ana_hvd_rank *r = &set->rank[m];
        bool in = r->joined || r->maybe_joined;
        if (r->phase == ANA_HVD_ENDED || !hvd_has_file(l, m))
            return false;
        joined += in;
        others += !in;
        int64_t at = r->joined ? r->joined_ns : r->asks_ns;
        since = in && at > since ? at : since;
        l->mark[m] = in;
    }
    if (!joined || !others || set->pending || set->now_ns - since < l->notable_ns)
        return false;
    struct ana_ranks in = hvd_ranks(l, l->mark, 1), out = hvd_ranks(l, l->mark, 0);
    ANA_SUMMARY(l->c, joined < others ? ANA_SENTENCE_HVD_JOINED_ALONE : ANA_SENTENCE_HVD_NOT_JOINED,
                .who = joined < others ? in : out, .others = joined < others ? out : in);
    ANA_FACT(l->c, ANA_SENTENCE_HVD_TOGETHER, .number = (int64_t)set->cycles);
    for (size_t m = 0; m < set->ranks && joined >= others; m++)
        l->mark[m] = !l->mark[m];
    l->c->out->next.id = ANA_SENTENCE_HVD_NEXT_JOIN_ALL;
    hvd_settle(l, ANA_CLASS_NOT_SUBMITTED, joined == others ? ANA_POSSIBLE : ANA_LIKELY, since);
    return true;
}
