/* Loops: the graph of who calls after whom, and what can be gone round in it. */
#include "trace/iter/loop_impl.h"
#include "trace/util/sort.h"
#include <math.h>
#include <stdlib.h>

static void set_remove(struct ana_loop_set *set, size_t node)
{
    set->word[node / 64] &= ~(1ull << node % 64);
}

/* ---- the graph -------------------------------------------------------------------------------------------------- */

ANA_COMPARE(by_weight, struct ana_loop_node, ANA_ORDER(y->ranks, x->ranks), ANA_ORDER(y->count, x->count),
            ANA_ORDER(x->place, y->place))

/* Makes nodes of the marks of all ranks. */
static bool add_nodes(struct ana_loop_graph *g, size_t places)
{
    struct ana_loop_node *of = calloc(places + 1, sizeof *of);
    for (size_t i = 0; of && i < g->iter->marks.count; i++) {
        const struct ana_iter_mark *mark = ana_iter_mark_at(g->iter, (uint32_t)i + 1);
        uint32_t place = g->place[mark->place - 1];
        struct ana_loop_node *node = &of[place];
        if (!place || !mark->count)
            continue;
        node->place = place;
        node->ranks++;
        node->bits |= ana_iter_bit(mark->place);
        if (mark->count > node->count) {
            node->count = mark->count;
            node->mark = (uint32_t)i + 1;
        }
        node->members = mark->members > node->members ? mark->members : node->members;
        node->is_io = mark->is_io;
        node->span_ns += (double)mark->last_ns - (double)mark->first_ns;
        node->first_ns += (double)mark->first_ns;
    }
    if (!of)
        return false;
    size_t n = 0;
    for (size_t i = 1; i <= places; i++)
        if (of[i].count >= ANA_LOOP_TIMES) {
            of[n] = of[i];
            of[n++].first_ns /= of[i].ranks;
        }
    ana_sort(of, n, sizeof *of, by_weight);
    g->loops->node = of;
    g->loops->nodes = n < ANA_LOOP_NODES ? n : ANA_LOOP_NODES;
    for (size_t i = 0; i < g->loops->nodes; i++)
        g->node_of[of[i].place] = (uint16_t)(i + 1);
    return true;
}

static void add_edges(struct ana_loop_graph *g, const struct ana_why *why)
{
    for (size_t i = 0; i < why->segments.count; i++) {
        const struct ana_segment *segment = ana_segment_at(why, (uint32_t)i + 1);
        if (!segment->count || !segment->from || segment->region == ANA_INSIDE)
            continue;
        size_t from = g->node_of[g->place[segment->from - 1]], to = g->node_of[g->place[segment->to - 1]];
        if (from && to)
            ana_loop_put(&g->next[from - 1], to - 1);
    }
}

/* ---- cycles (Tarjan: "Depth-first search and linear graph algorithms", 1972) ------------------------------------- */

struct search {
    const struct ana_loop_graph *g;
    const struct ana_loop_set *alive;
    uint32_t seen[ANA_LOOP_NODES], low[ANA_LOOP_NODES]; /* order in which nodes were met, 0 not yet */
    uint16_t stack[ANA_LOOP_NODES];
    size_t depth;
    uint32_t met;
    struct ana_loop_set open, found; /* nodes on the stack; nodes in cycles */
    struct ana_loop_set best;        /* the round gone round longest; of about as long ones, with most calls */
    double best_ns;
    uint64_t best_calls;
};

/* Pops a part, all of whose nodes reach each other, from the stack. */
static void pop_component(struct search *s, size_t root)
{
    struct ana_loop_set part = {{0}};
    double span_ns = 0;
    uint64_t calls = 0;
    size_t node, n = 0;
    do {
        node = s->stack[--s->depth];
        set_remove(&s->open, node);
        ana_loop_put(&part, node);
        span_ns = fmax(span_ns, s->g->loops->node[node].span_ns);
        calls += s->g->loops->node[node].count;
        n++;
    } while (node != root);
    if (n == 1 && !ana_loop_has(&s->g->next[root], root))
        return;
    for (size_t w = 0; w < ANA_LOOP_NODES / 64; w++)
        s->found.word[w] |= part.word[w];
    if (span_ns > 2 * s->best_ns || (2 * span_ns >= s->best_ns && calls > s->best_calls)) {
        s->best_ns = span_ns;
        s->best_calls = calls;
        s->best = part;
    }
}

static void visit(struct search *s, size_t node)
{
    s->seen[node] = s->low[node] = ++s->met;
    s->stack[s->depth++] = (uint16_t)node;
    ana_loop_put(&s->open, node);
    for (size_t w = 0; w < ANA_LOOP_NODES / 64; w++)
        for (uint64_t left = s->g->next[node].word[w] & s->alive->word[w]; left; left &= left - 1) {
            size_t next = w * 64 + (size_t)__builtin_ctzll(left);
            if (!s->seen[next])
                visit(s, next);
            if (ana_loop_has(&s->open, next) && s->low[next] < s->low[node])
                s->low[node] = s->low[next];
        }
    if (s->low[node] == s->seen[node])
        pop_component(s, node);
}

/* Finds what can be gone round within `alive`. */
static void search_rounds(struct search *s, const struct ana_loop_graph *g, const struct ana_loop_set *alive)
{
    *s = (struct search){.g = g, .alive = alive, .best_ns = -1};
    for (size_t i = 0; i < g->loops->nodes; i++)
        if (ana_loop_has(alive, i) && !s->seen[i])
            visit(s, i);
}

/* ---- heads ------------------------------------------------------------------------------------------------------ */

/* Whether a node may be of the head: it is called through most of the loop, by most of its ranks. */
static bool may_lead(const struct ana_loop_graph *g, const struct ana_loop_set *in, size_t x)
{
    double longest_ns = 0;
    uint32_t ranks = 0;
    for (size_t i = 0; i < g->loops->nodes; i++)
        if (ana_loop_has(in, i)) {
            const struct ana_loop_node *node = &g->loops->node[i];
            double mean_ns = node->span_ns / node->ranks;
            longest_ns = mean_ns > longest_ns ? mean_ns : longest_ns;
            ranks = node->ranks > ranks ? node->ranks : ranks;
        }
    const struct ana_loop_node *node = &g->loops->node[x];
    return node->ranks * 2 > ranks && node->span_ns / node->ranks > longest_ns / 2;
}

/* Compares two nodes of a head: returns whether the first rather ends iterations. */
static bool ends_rather(const struct ana_loop_graph *g, size_t x, size_t than)
{
    const struct ana_loop_node *a = &g->loops->node[x], *b = &g->loops->node[than];
    if (a->ranks != b->ranks)
        return a->ranks > b->ranks;
    if (!ana_loop_passes(g, x, than) && !ana_loop_passes(g, than, x))
        return a->count < b->count;
    if (a->members != b->members)
        return a->members > b->members;
    return a->first_ns > b->first_ns;
}

/* Finds the head of a loop.  False: it has none. */
static bool find_head(const struct ana_loop_graph *g, uint64_t outer, struct ana_loop *loop)
{
    const struct ana_loop_node *node = g->loops->node;
    struct ana_loop_set may = {{0}};
    size_t n = g->loops->nodes, best = SIZE_MAX, most = 0;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < n; i++)
        if (ana_loop_has(&loop->in, i) && may_lead(g, &loop->in, i)) {
            ana_loop_put(&may, i);
            least = node[i].count < least ? node[i].count : least;
        }
    /* Nodes called as often, but for an iteration that was only begun, or for work done in place of it in iterations
     * of the outer loop: nodes that the others pass. */
    struct ana_loop_set often = {{0}};
    for (size_t i = 0; i < n; i++) {
        bool instead = outer && node[i].count + 1 >= least + outer && node[i].count <= least + outer + 1;
        if (ana_loop_has(&may, i) && (instead || node[i].count <= least + 1 + least / 50))
            ana_loop_put(&often, i);
    }
    for (size_t i = 0; i < n; i++) {
        size_t passed = 0;
        if (!ana_loop_has(&often, i))
            continue;
        for (size_t j = 0; j < n; j++)
            passed += ana_loop_has(&often, j) && ana_loop_passes(g, j, i);
        if (passed > most || (passed == most && ends_rather(g, i, best))) {
            most = passed;
            best = i;
        }
    }
    if (best == SIZE_MAX)
        return false;
    loop->end = best;
    loop->count = node[best].count;
    for (size_t i = 0; i < n; i++)
        if (ana_loop_has(&loop->in, i) && ana_loop_passes(g, i, best) && ana_loop_passes(g, best, i))
            ana_loop_put(&loop->head, i);
    return true;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

/* Drops, inside the iterations, loops that come about once in each: two calls that change places go round, too. */
static void drop_single(struct ana_loops *loops)
{
    size_t kept = loops->iteration + 1;
    for (size_t i = kept; i < loops->levels; i++) {
        uint64_t outer = loops->level[kept - 1].count, inner = loops->level[i].count;
        if (inner > outer + outer / 4)
            loops->level[kept++] = loops->level[i];
    }
    loops->levels = loops->levels ? kept : 0;
}

static size_t find_rounds(struct ana_loop_graph *g, struct ana_loop *raw)
{
    struct ana_loops *loops = g->loops;
    struct search search;
    struct ana_loop_set alive = {{0}};
    size_t levels = 0;
    for (size_t i = 0; i < loops->nodes; i++)
        ana_loop_put(&alive, i);
    for (size_t i = 0; i < loops->nodes; i++) {
        struct ana_loop_set without = alive;
        set_remove(&without, i);
        search_rounds(&search, g, &without);
        g->round[i] = search.found;
    }
    for (; levels < ANA_LOOP_LEVELS; levels++) {
        struct ana_loop *loop = &raw[levels];
        search_rounds(&search, g, &alive);
        *loop = (struct ana_loop){.in = search.best};
        alive = search.best;
        if (search.best_ns < 0 || !find_head(g, levels ? raw[levels - 1].count : 0, loop))
            break;
        for (size_t w = 0; w < ANA_LOOP_NODES / 64; w++)
            alive.word[w] &= ~loop->head.word[w];
    }
    return levels;
}

static void find_levels(struct ana_loop_graph *g)
{
    struct ana_loops *loops = g->loops;
    struct ana_loop raw[ANA_LOOP_LEVELS];
    ana_loop_kinds(g, raw, find_rounds(g, raw));
    /* levels with a detour inside: a level without own places after equally many times of it is a detour, too */
    bool seldom[ANA_LOOP_LEVELS] = {false};
    for (size_t i = loops->levels; i-- > 0;) {
        for (size_t j = i + 1; j < loops->levels; j++) {
            enum ana_loop_detour detour = ana_loop_is_detour(g, &loops->level[i], &loops->level[j]);
            const struct ana_loop_times t = ana_loop_times(g, &loops->level[i], &loops->level[j]);
            const bool is_inside = t.outer && t.between >= t.gaps;
            loops->level[i].is_detour |= detour != ANA_LOOP_NONE;
            seldom[i] |=
                detour == ANA_LOOP_SELDOM || (loops->level[i].turn && is_inside && seldom[j] && t.usual && t.always);
        }
        loops->level[i].is_detour |= seldom[i];
    }
    while (loops->iteration + 1 < loops->levels && loops->level[loops->iteration].is_detour)
        loops->iteration++;
    drop_single(loops);
}

bool ana_loops_find(const struct ana_iter *iter, const struct ana_why *why, const uint32_t *place,
                    struct ana_loops *loops)
{
    struct ana_loop_graph *g = calloc(1, sizeof *g);
    *loops = (struct ana_loops){0};
    if (!g)
        return false;
    *g = (struct ana_loop_graph){.iter = iter, .place = place, .loops = loops};
    for (size_t i = 0; i < why->places.count; i++)
        g->is_over |= ((const struct ana_why_place *)ana_map_value(&why->places, i))->ends;
    g->node_of = calloc(why->places.count + 1, sizeof *g->node_of);
    bool ok = g->node_of && add_nodes(g, why->places.count);
    if (ok) {
        add_edges(g, why);
        find_levels(g);
    }
    free(g->node_of);
    free(g);
    return ok;
}

uint32_t ana_loop_mark(const struct ana_iter *iter, const uint32_t *place, const struct ana_loops *loops,
                       const struct ana_loop *loop, size_t index)
{
    uint32_t found = 0, nearest = 0;
    uint64_t off = 2 + loop->count / 20;
    for (uint32_t at = iter->rank[index].marks; at; at = ana_iter_mark_at(iter, at)->before)
        if (place[ana_iter_mark_at(iter, at)->place - 1] == loops->node[loop->end].place)
            found = at;
    if (!found || !loop->turn)
        return found;
    const struct ana_iter_place *of = ana_iter_place_at(iter, found);
    for (uint32_t at = of->kind; at; at = ana_iter_kind_at(iter, at)->mark.before) {
        const struct ana_iter_kind *kind = ana_iter_kind_at(iter, at);
        uint64_t count = kind->mark.count, by = count > loop->count ? count - loop->count : loop->count - count;
        if (kind->key == loop->turn && kind->sort == loop->sort)
            return at;
        if (by < off) { /* calls before differ by rank */
            off = by;
            nearest = at;
        }
    }
    return nearest ? nearest : of->mark.count <= loop->count + 1 + loop->count / 20 ? found : 0;
}

void ana_loops_free(struct ana_loops *loops)
{
    free(loops->node);
    *loops = (struct ana_loops){0};
}
