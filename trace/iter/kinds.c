/* Loops that are seen in the kinds of calls only: their places are called in other loops, too. */
#include "trace/iter/loop_impl.h"

#define LEAST_TIMES 3 /* calls of a kind that say whether it is regular */
#define CYCLE_KINDS 3 /* kinds that come in the same order each time, whatever the number of calls in a row */
#define SURE_TIMES  6 /* least calls of a kind that allows some exceptions */

/* Returns the largest difference of counts that belong to one loop, but for an iteration that was only begun. */
static uint64_t slack_of(uint64_t count)
{
    return 1 + count / 20;
}

/* Whether a number of a kind was mostly the same. */
static bool is_usual(const struct ana_iter_usual *usual, uint64_t times)
{
    uint64_t hits = usual->votes + usual->against; /* times while the value was believed to be usual */
    uint64_t misses = times > hits ? times - hits : 0;
    return misses * 4 <= times && (misses == 0 || times >= SURE_TIMES);
}

/* Returns whether the calls between two of its calls are mostly the same, and equally many come in a row, through all
 * calls there. */
static bool is_regular(const struct ana_loop_graph *g, const struct ana_loop_node *node,
                       const struct ana_iter_kind *kind)
{
    uint64_t n = kind->mark.count;
    uint32_t kinds = ana_iter_place_at(g->iter, node->mark)->row[kind->sort].kinds;
    if (!kind->key || n < LEAST_TIMES)
        return false;
    if (!is_usual(&kind->row, n - 1))
        return kind->sort == ANA_ITER_SIZE && kinds >= CYCLE_KINDS && kinds <= ANA_ITER_KINDS &&
               is_usual(&kind->changed, n - 1);
    uint64_t gap = kind->gap.value, row = kind->row.value;
    bool seldom = kinds == 2 && gap >= ANA_LOOP_DETOUR_FAR && (row == 1 || row + 1 == gap);
    if (kind->sort == ANA_ITER_SIZE && (kinds > ANA_ITER_KINDS || seldom))
        return false; /* too many; or one that is another now and then */
    if (is_usual(&kind->gap, n - 1))
        return n * gap * 4 >= node->count * 3;
    return is_usual(&kind->changed, n - 1);
}

/* The kinds of a place's calls, one after the other; NULL: there is no more. */
static const struct ana_iter_kind *first_kind(const struct ana_loop_graph *g, const struct ana_loop_node *node)
{
    return ana_iter_kind_at(g->iter, ana_iter_place_at(g->iter, node->mark)->kind);
}
static const struct ana_iter_kind *next_kind(const struct ana_loop_graph *g, const struct ana_iter_kind *kind)
{
    return ana_iter_kind_at(g->iter, kind->mark.before);
}

/* Returns the calls at a place, without calls that directly follow another there. */
static uint64_t rows_of(const struct ana_loop_graph *g, const struct ana_loop_node *node)
{
    uint64_t rows = node->count;
    for (const struct ana_iter_kind *k = first_kind(g, node); k; k = next_kind(g, k))
        if (k->sort == ANA_ITER_TURN && !(k->after & ~node->bits))
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

/* The kind of a sort of most of a place's calls which do not come after a call at a place (`without` 0: of all); half
 * as many will do, if they come after less. */
static const struct ana_iter_kind *usual_kind(const struct ana_loop_graph *g, const struct ana_loop_node *node,
                                              enum ana_iter_sort sort, uint64_t without)
{
    const struct ana_iter_kind *usual = NULL;
    uint64_t most = 0;
    for (const struct ana_iter_kind *k = first_kind(g, node); k; k = next_kind(g, k)) {
        uint64_t calls = k->mark.count * k->row.value;
        bool less = usual && !(k->after & ~usual->after) && k->after != usual->after;
        bool more = usual && !(usual->after & ~k->after) && k->after != usual->after;
        if (k->sort != sort || k->after & without)
            continue;
        if (!usual || (less && calls * 2 >= most) || (calls > most && !(more && calls <= most * 2))) {
            usual = k;
            most = calls;
        }
    }
    return usual;
}

/* Whether a place of its own tells a kind from the usual one: one that is called less often than the kind's place,
 * before calls of this kind only. */
static bool is_explained(const struct ana_loop_graph *g, const struct ana_loop *loop, const struct ana_loop_node *node,
                         const struct ana_iter_kind *kind)
{
    uint64_t count = kind->mark.count, only = kind->after & ~usual_kind(g, node, kind->sort, 0)->after;
    for (size_t i = 0; i < g->loops->nodes; i++) {
        const struct ana_loop_node *other = &g->loops->node[i];
        uint64_t of = other->count + slack_of(other->count);
        if (ana_loop_has(&loop->in, i) && !ana_loop_has(&g->shared, i) && other->bits & only && of >= count &&
            other->rows + 1 >= count && other->count * 4 < node->count * 3)
            return true;
    }
    return is_foreign(g, loop, kind);
}

/* Returns true for a kind that is not the usual one; for the usual one, whether at least half as many calls of other
 * kinds are not explained: calls after the usual ones are distinguished by the calls before them. */
static bool is_own(const struct ana_loop_graph *g, const struct ana_loop *loop, const struct ana_loop_node *node,
                   const struct ana_iter_kind *kind)
{
    uint64_t others = 0;
    if (kind != usual_kind(g, node, kind->sort, 0))
        return true;
    for (const struct ana_iter_kind *k = first_kind(g, node); k; k = next_kind(g, k))
        others += k != kind && k->sort == kind->sort && !is_explained(g, loop, node, k) ? k->mark.count : 0;
    return others * 2 >= kind->mark.count;
}

static bool may_end(const struct ana_loop_graph *g, const struct ana_loop *loop, const struct ana_loop_node *node,
                    const struct ana_iter_kind *kind, uint64_t outer)
{
    const struct ana_iter_mark *mark = &kind->mark;
    double span_ns = (double)mark->last_ns - (double)mark->first_ns;
    return is_regular(g, node, kind) && mark->count >= ANA_LOOP_TIMES && mark->count > outer + outer / 4 + 1 &&
           mark->count * 3 <= node->count * 2 && span_ns > node->span_ns / node->ranks / 2 &&
           !is_explained(g, loop, node, kind) && is_own(g, loop, node, kind);
}

/* Returns whether a kind was cut off at begin or end: its iterations do not make up the whole.  A few calls more come
 * from work done before and after; one function may make several at once. */
static bool is_cut(const struct ana_loop_graph *g, const struct ana_loop_node *node, const struct ana_iter_kind *kind)
{
    uint64_t n = kind->mark.count, gap = kind->gap.value, part = gap ? node->count % gap : 0, once = kind->row.value;
    for (const struct ana_iter_kind *k = first_kind(g, node); k; k = next_kind(g, k))
        if (k->sort == kind->sort && k->row.votes)
            once = k->row.value < once ? k->row.value : once;
    return is_usual(&kind->gap, n - 1) && part > ANA_LOOP_BEFORE * once && part + ANA_LOOP_BEFORE * once < gap;
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

/* Picks, from the kinds of all places in a loop with a count above `outer`, and up to `most`, the one with the least
 * count, or else the one that rather ends its iterations. */
static struct pick pick_up_to(const struct ana_loop_graph *g, const struct ana_loop *loop, uint64_t outer,
                              uint64_t most, bool least)
{
    struct pick best = {0};
    for (size_t i = 0; i < g->loops->nodes; i++) {
        const struct ana_loop_node *node = &g->loops->node[i];
        for (const struct ana_iter_kind *k = first_kind(g, node); k && ana_loop_has(&loop->in, i);
             k = next_kind(g, k)) {
            struct pick pick = {i, k};
            if (k->mark.count > most || !may_end(g, loop, node, k, outer))
                continue;
            if (least ? !best.kind || k->mark.count < best.kind->mark.count : ends_rather(g, &pick, &best))
                best = pick;
        }
    }
    return best;
}

/* Finds the kind with the least count above `outer`; of kinds with about as many calls the one with most.  So it finds
 * the work of each iteration, and not of most only, if the work of the others is done as often as an outer level. */
static struct pick pick_kind(const struct ana_loop_graph *g, const struct ana_loop *raw, size_t levels, uint64_t outer)
{
    struct pick best = pick_up_to(g, &raw[0], outer, UINT64_MAX, true), more = best;
    uint64_t around = outer;
    for (size_t i = 0; best.kind && i < levels; i++)
        if (raw[i].count < best.kind->mark.count && raw[i].count > around)
            around = raw[i].count;
    do {
        best = more;
        uint64_t count = best.kind ? best.kind->mark.count : 0;
        more = best.kind ? pick_up_to(g, &raw[0], outer, count + slack_of(count) + around, false) : best;
    } while (more.kind && more.kind->mark.count > best.kind->mark.count);
    return more;
}

/* Whether the calls that end a loop are several in each of its iterations, each after other calls. */
static bool is_shared(const struct ana_loop_graph *g, const struct ana_loop *whole, const struct ana_loop *loop)
{
    const struct ana_loop_node *node = &g->loops->node[loop->end];
    uint64_t covered[ANA_ITER_SORTS] = {0};
    for (const struct ana_iter_kind *k = first_kind(g, node); k; k = next_kind(g, k))
        covered[k->sort] += is_regular(g, node, k) && !is_explained(g, whole, node, k) ? k->mark.count : 0;
    return covered[ANA_ITER_TURN] * 5 >= node->count * 3 || covered[ANA_ITER_SIZE] * 5 >= node->count * 3;
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
    /* the outer loop is one: so is work done every few times of it */
    bool is_detour = levels > 1 && ana_loop_is_detour(g, &raw[0], &raw[1]) == ANA_LOOP_SELDOM;
    for (size_t i = 0; i < levels; i++)
        if (is_shared(g, &raw[0], &raw[i]))
            ana_loop_put(&g->shared, raw[i].end);
    for (size_t i = 0; i < levels; i++) {
        if (!ana_loop_has(&g->shared, raw[i].end))
            add_level(g->loops, &raw[i]);
    }
    bool has_own = levels && !ana_loop_has(&g->shared, raw[0].end);
    uint64_t outer = 0;
    for (struct pick pick; levels && (pick = pick_kind(g, raw, levels, outer)).kind;) {
        struct ana_loop loop = {.in = raw[0].in, .end = pick.node, .turn = pick.kind->key, .sort = pick.kind->sort};
        loop.count = outer = pick.kind->mark.count;
        bool fewer = loop.count < raw[0].count, most = has_own && loop.count * ANA_LOOP_DETOUR_NEAR > raw[0].count;
        loop.is_detour = is_cut(g, &g->loops->node[pick.node], pick.kind) || (fewer && (is_detour || most));
        ana_loop_put(&loop.head, pick.node);
        add_level(g->loops, &loop);
    }
}

bool ana_loop_has_kind(const struct ana_loop_graph *g, const struct ana_loop *outer, const struct ana_loop *inner)
{
    uint64_t slack = slack_of(outer->count), without = g->loops->node[outer->end].bits;
    for (size_t i = 0; i < g->loops->nodes; i++) {
        const struct ana_loop_node *node = &g->loops->node[i];
        if (!ana_loop_has(&inner->in, i) || node->count + slack_of(node->count) < inner->count)
            continue;
        for (const struct ana_iter_kind *k = first_kind(g, node); k; k = next_kind(g, k)) {
            const struct ana_iter_kind *usual = usual_kind(g, node, k->sort, without);
            if (k->sort == ANA_ITER_TURN)
                continue; /* besides extra work, other calls may be in another order */
            if (usual && k != usual && is_regular(g, node, k) && k->mark.count + slack >= outer->count &&
                k->mark.count <= outer->count + slack && !(k->after & (without | ~usual->after)))
                return true;
        }
    }
    return false;
}

/* Numbers of a place's calls that came after one at both of two others, at only one, or at none. */
struct after {
    uint64_t both, first, second, none;
};

static struct after count_after(const struct ana_loop_graph *g, const struct ana_loop_node *node, uint64_t own,
                                uint64_t first, uint64_t second)
{
    struct after n = {0};
    for (const struct ana_iter_kind *k = first_kind(g, node); k; k = next_kind(g, k)) {
        uint64_t *of =
            k->after & first ? (k->after & second ? &n.both : &n.first) : (k->after & second ? &n.second : &n.none);
        *of += k->sort == ANA_ITER_TURN && k->after & ~own ? k->mark.count : 0;
    }
    return n;
}

bool ana_loop_leaves_out(const struct ana_loop_graph *g, const struct ana_loop *outer, const struct ana_loop *inner)
{
    const struct ana_loop_node *node = &g->loops->node[inner->end];
    uint64_t there = g->loops->node[outer->end].bits, own = 0; /* places called as often: one function, as a rule */
    for (size_t i = 0; i < g->loops->nodes; i++)
        own |= g->loops->node[i].count == node->count ? g->loops->node[i].bits : 0;
    if (there & own)
        return false;
    for (size_t i = 0; i < g->loops->nodes; i++) {
        uint64_t bits = g->loops->node[i].bits;
        if (!ana_loop_has(&inner->in, i) || bits & (there | own))
            continue;
        struct after n = count_after(g, node, own, there, bits);
        if (n.first > 1 && n.both * 4 <= n.first && n.none * 4 <= n.second)
            return true;
    }
    return false;
}

bool ana_loop_is_repeated(const struct ana_iter *iter, const struct ana_loops *loops, const struct ana_loop *loop)
{
    const struct ana_iter_place *place = ana_iter_place_at(iter, loops->node[loop->end].mark);
    const struct ana_iter_row *row = &place->row[ANA_ITER_SIZE];
    uint64_t calls[ANA_ITER_CALLERS] = {0}, most = row->kinds ? 0 : place->mark.count;
    for (const struct ana_iter_kind *k = ana_iter_kind_at(iter, place->kind); k;
         k = ana_iter_kind_at(iter, k->mark.before)) {
        uint64_t *of = &calls[k->key % ANA_ITER_CALLERS];
        if (k->sort != ANA_ITER_SIZE || !k->key)
            continue;
        *of += k->calls + (ana_iter_kind_at(iter, row->last) == k ? place->mark.count + 1 - k->at : 0);
        most = *of > most ? *of : most;
    }
    return most + 1 >= ANA_LOOP_TIMES; /* the first call is of no kind */
}
