/* Loops that are seen in the kinds of calls only: their places are called in other loops, too. */
#include "trace/iter/loop_impl.h"

#define LEAST_TIMES 3 /* calls of a kind that say whether it is regular */
#define SURE_TIMES  6 /* calls of which some may be unlike the others */

/* Counts that differ by no more are those of one loop, but for an iteration that was begun only. */
static uint64_t slack_of(uint64_t count)
{
    return 1 + count / 20;
}

/* Whether a number of a kind was mostly the same. */
static bool is_usual(const struct ana_iter_usual *usual, uint64_t times)
{
    uint64_t misses = times > usual->times ? times - usual->times : 0;
    return misses * 4 <= times && (misses == 0 || times >= SURE_TIMES);
}

/* Whether what is between two of its calls is mostly the same, and as many of it come in a row. */
static bool is_regular(const struct ana_iter_kind *kind)
{
    uint64_t n = kind->mark.count;
    return kind->turn && n >= LEAST_TIMES && is_usual(&kind->row, n - 1) &&
           (is_usual(&kind->changed, n - 1) || is_usual(&kind->gap, n - 1));
}

/* The kinds of a place's calls, one after the other; NULL: there is no more. */
static const struct ana_iter_kind *first_kind(const struct ana_loop_graph *g, const struct ana_loop_node *node)
{
    return ana_iter_kind_at(g->iter, ana_iter_mark_at(g->iter, node->mark)->kind);
}
static const struct ana_iter_kind *next_kind(const struct ana_loop_graph *g, const struct ana_iter_kind *kind)
{
    return ana_iter_kind_at(g->iter, kind->mark.before);
}

/* Calls at a place, without those that directly follow another there. */
static uint64_t rows_of(const struct ana_loop_graph *g, const struct ana_loop_node *node)
{
    uint64_t rows = node->count;
    for (const struct ana_iter_kind *k = first_kind(g, node); k; k = next_kind(g, k))
        if (!(k->after & ~node->bits))
            rows -= k->calls;
    return rows;
}

/* Whether a kind comes after a call at a place that is called too seldom to be a node of the loop. */
static bool is_foreign(const struct ana_loop_graph *g, const struct ana_loop *loop, const struct ana_iter_kind *kind)
{
    uint64_t known = 0;
    for (size_t i = 0; i < g->loops->nodes; i++)
        known |= ana_loop_has(&loop->in, i) ? g->loops->node[i].bits : 0;
    return kind->after & ~known;
}

/* Whether a place of its own tells a kind from others: one that is called less often than the kind's place. */
static bool is_explained(const struct ana_loop_graph *g, const struct ana_loop *loop, const struct ana_loop_node *node,
                         const struct ana_iter_kind *kind)
{
    uint64_t count = kind->mark.count;
    for (size_t i = 0; i < g->loops->nodes; i++) {
        const struct ana_loop_node *other = &g->loops->node[i];
        uint64_t of = other->count + slack_of(other->count);
        if (ana_loop_has(&loop->in, i) && !ana_loop_has(&g->shared, i) && of >= count && other->rows + 1 >= count &&
            of < node->count && (other->rows * 4 < node->rows * 3 || other->rows * 2 > other->count))
            return true;
    }
    return is_foreign(g, loop, kind);
}

/* The kind of most of a place's calls which do not come after a call at a place; `without` 0: of all. */
static const struct ana_iter_kind *usual_kind(const struct ana_loop_graph *g, const struct ana_loop_node *node,
                                              uint64_t without)
{
    const struct ana_iter_kind *usual = NULL;
    for (const struct ana_iter_kind *k = first_kind(g, node); k; k = next_kind(g, k))
        if (!(k->after & without) && (!usual || k->mark.count * k->row.value > usual->mark.count * usual->row.value))
            usual = k;
    return usual;
}

/* What comes after the usual calls is told from what comes before them: whether that is not explained. */
static bool is_own(const struct ana_loop_graph *g, const struct ana_loop *loop, const struct ana_loop_node *node,
                   const struct ana_iter_kind *kind)
{
    uint64_t others = 0;
    if (kind != usual_kind(g, node, 0))
        return true;
    for (const struct ana_iter_kind *k = first_kind(g, node); k; k = next_kind(g, k))
        others += k != kind && !is_explained(g, loop, node, k) ? k->mark.count : 0;
    return others * 2 >= kind->mark.count;
}

static bool may_end(const struct ana_loop_graph *g, const struct ana_loop *loop, const struct ana_loop_node *node,
                    const struct ana_iter_kind *kind, uint64_t outer)
{
    const struct ana_iter_mark *mark = &kind->mark;
    double span_ns = (double)mark->last_ns - (double)mark->first_ns;
    return is_regular(kind) && mark->count >= ANA_LOOP_TIMES && mark->count > outer + outer / 4 + 1 &&
           mark->count * 3 <= node->count * 2 && span_ns > node->span_ns / node->ranks / 2 &&
           !is_explained(g, loop, node, kind) && is_own(g, loop, node, kind);
}

/* Whether it was cut off at begin or end: its iterations do not make up the whole.  A few calls more come from what is
 * done before and after. */
static bool is_cut(const struct ana_loop_node *node, const struct ana_iter_kind *kind)
{
    uint64_t n = kind->mark.count, part = kind->gap.value ? node->count % kind->gap.value : 0;
    return is_usual(&kind->gap, n - 1) && part > ANA_LOOP_BEFORE && part + ANA_LOOP_BEFORE < kind->gap.value;
}

struct pick {
    size_t node;
    const struct ana_iter_kind *kind;
};

/* Whether of two kinds that may end the iterations of one loop the first is the one that rather does. */
static bool ends_rather(const struct ana_loop_graph *g, const struct pick *x, const struct pick *than)
{
    if (!than->kind)
        return true;
    uint64_t of = x->kind->mark.count, other = than->kind->mark.count;
    return of != other ? of > other : g->loops->node[x->node].members > g->loops->node[than->node].members;
}

/* Goes through the kinds of all places in a loop: finds the one with the least count above `outer`; of those with about
 * as many the one with most.  So it finds what is done in each iteration, and not in most only, if what is done in the
 * others is done `outer` times. */
static struct pick pick_kind(const struct ana_loop_graph *g, const struct ana_loop *raw, size_t levels, uint64_t outer)
{
    const struct ana_loop *loop = &raw[0];
    struct pick best = {0};
    uint64_t least = UINT64_MAX, around = outer;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < levels; i++)
            if (pass && raw[i].count < least && raw[i].count > around)
                around = raw[i].count;
        for (size_t i = 0; i < g->loops->nodes; i++) {
            const struct ana_loop_node *node = &g->loops->node[i];
            for (const struct ana_iter_kind *k = first_kind(g, node); k && ana_loop_has(&loop->in, i);
                 k = next_kind(g, k)) {
                uint64_t count = k->mark.count;
                struct pick pick = {i, k};
                if (!may_end(g, loop, node, k, outer))
                    continue;
                if (pass == 0)
                    least = count < least ? count : least;
                else if (count <= least + slack_of(least) + around && ends_rather(g, &pick, &best))
                    best = pick;
            }
        }
    }
    return best;
}

/* Whether the calls that end a loop are several in each of its iterations, each after other calls. */
static bool is_shared(const struct ana_loop_graph *g, const struct ana_loop *whole, const struct ana_loop *loop)
{
    const struct ana_loop_node *node = &g->loops->node[loop->end];
    uint64_t covered = 0;
    for (const struct ana_iter_kind *k = first_kind(g, node); k; k = next_kind(g, k))
        covered += is_regular(k) && !is_explained(g, whole, node, k) ? k->mark.count : 0;
    return covered * 5 >= node->count * 3;
}

static void add_level(struct ana_loops *loops, const struct ana_loop *loop)
{
    size_t at = loops->levels;
    for (; at && loops->level[at - 1].count > loop->count; at--)
        if (at < ANA_LOOP_LEVELS)
            loops->level[at] = loops->level[at - 1];
    if (at < ANA_LOOP_LEVELS)
        loops->level[at] = *loop;
    loops->levels += loops->levels < ANA_LOOP_LEVELS;
}

void ana_loop_kinds(struct ana_loop_graph *g, const struct ana_loop *raw, size_t levels)
{
    for (size_t i = 0; i < g->loops->nodes; i++)
        g->loops->node[i].rows = rows_of(g, &g->loops->node[i]);
    bool is_detour = false; /* the loop outside: so is what is done every few times of it */
    for (size_t i = 0; i < levels; i++)
        if (is_shared(g, &raw[0], &raw[i]))
            ana_loop_put(&g->shared, raw[i].end);
    for (size_t i = 0; i < levels; i++) {
        if (!ana_loop_has(&g->shared, raw[i].end))
            add_level(g->loops, &raw[i]);
        for (size_t j = i + 1; i == 0 && j < levels; j++)
            is_detour |= ana_loop_is_detour(g, &raw[i], &raw[j]) == ANA_LOOP_SELDOM;
    }
    uint64_t outer = 0;
    for (struct pick pick; levels && (pick = pick_kind(g, raw, levels, outer)).kind;) {
        struct ana_loop loop = {.in = raw[0].in, .end = pick.node, .turn = pick.kind->turn};
        loop.count = outer = pick.kind->mark.count;
        loop.is_detour = is_cut(&g->loops->node[pick.node], pick.kind) || (is_detour && loop.count < raw[0].count);
        ana_loop_put(&loop.head, pick.node);
        add_level(g->loops, &loop);
    }
}

bool ana_loop_has_kind(const struct ana_loop_graph *g, const struct ana_loop *outer, const struct ana_loop *inner)
{
    const struct ana_loop_node *node = &g->loops->node[inner->end];
    uint64_t slack = slack_of(outer->count), without = g->loops->node[outer->end].bits;
    const struct ana_iter_kind *usual = usual_kind(g, node, without);
    for (const struct ana_iter_kind *k = first_kind(g, node); k && usual; k = next_kind(g, k))
        if (k != usual && is_regular(k) && k->mark.count + slack >= outer->count &&
            k->mark.count <= outer->count + slack && !(k->after & (without | ~usual->after)))
            return true;
    return false;
}

/* How many of a place's calls came after one at both of two others, or at one of them only. */
struct after {
    uint64_t both, first, second, none;
};

static struct after count_after(const struct ana_loop_graph *g, const struct ana_loop_node *node, uint64_t first,
                                uint64_t second)
{
    struct after n = {0};
    for (const struct ana_iter_kind *k = first_kind(g, node); k; k = next_kind(g, k)) {
        uint64_t *of =
            k->after & first ? (k->after & second ? &n.both : &n.first) : (k->after & second ? &n.second : &n.none);
        *of += k->after & ~node->bits ? k->mark.count : 0;
    }
    return n;
}

bool ana_loop_leaves_out(const struct ana_loop_graph *g, const struct ana_loop *outer, const struct ana_loop *inner)
{
    const struct ana_loop_node *node = &g->loops->node[inner->end];
    uint64_t there = g->loops->node[outer->end].bits;
    if (there & node->bits)
        return false;
    for (size_t i = 0; i < g->loops->nodes; i++) {
        uint64_t bits = g->loops->node[i].bits;
        if (!ana_loop_has(&inner->in, i) || bits & (there | node->bits))
            continue;
        struct after n = count_after(g, node, there, bits);
        if (n.first > 1 && n.both * 4 <= n.first && n.none * 4 <= n.second)
            return true;
    }
    return false;
}
