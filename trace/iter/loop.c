/* Loops: the graph of who calls after whom, and what can be gone round in it. */
#include "trace/iter/loop.h"
#include <stdlib.h>

struct graph {
    const struct ana_iter *iter;
    const uint32_t *place;
    struct ana_loops *loops;
    uint16_t *node_of; /* by place, + 1 */
    bool is_over;      /* ranks have come to MPI_Finalize: no loop is still under way */
    struct ana_loop_set next[ANA_LOOP_NODES];
    struct ana_loop_set round[ANA_LOOP_NODES]; /* by node: those that can be gone round through without it */
};

static void set_add(struct ana_loop_set *set, size_t node)
{
    set->word[node / 64] |= 1ull << node % 64;
}
static void set_remove(struct ana_loop_set *set, size_t node)
{
    set->word[node / 64] &= ~(1ull << node % 64);
}

/* ---- the graph -------------------------------------------------------------------------------------------------- */

static int by_weight(const void *a, const void *b)
{
    const struct ana_loop_node *x = a, *y = b;
    if (x->ranks != y->ranks)
        return x->ranks > y->ranks ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Makes nodes of the marks of all ranks. */
static bool add_nodes(struct graph *g, size_t places)
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
        node->count = mark->count > node->count ? mark->count : node->count;
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
    qsort(of, n, sizeof *of, by_weight);
    g->loops->node = of;
    g->loops->nodes = n < ANA_LOOP_NODES ? n : ANA_LOOP_NODES;
    for (size_t i = 0; i < g->loops->nodes; i++)
        g->node_of[of[i].place] = (uint16_t)(i + 1);
    return true;
}

static void add_edges(struct graph *g, const struct ana_why *why)
{
    for (size_t i = 0; i < why->segments.count; i++) {
        const struct ana_segment *segment = ana_segment_at(why, (uint32_t)i + 1);
        if (!segment->count || !segment->from)
            continue;
        size_t from = g->node_of[g->place[segment->from - 1]], to = g->node_of[g->place[segment->to - 1]];
        if (from && to)
            set_add(&g->next[from - 1], to - 1);
    }
}

/* ---- what can be gone round (Tarjan: "Depth-first search and linear graph algorithms", 1972) --------------------- */

struct search {
    const struct graph *g;
    const struct ana_loop_set *alive;
    uint32_t seen[ANA_LOOP_NODES], low[ANA_LOOP_NODES]; /* when a node was met, 0 not yet */
    uint16_t stack[ANA_LOOP_NODES];
    size_t depth;
    uint32_t met;
    struct ana_loop_set open, found; /* on the stack; can be gone round through */
    struct ana_loop_set best;        /* the round that most time is spent in */
    double best_ns;
};

/* Takes a part, all of whose nodes reach each other, from the stack. */
static void take_part(struct search *s, size_t root)
{
    struct ana_loop_set part = {{0}};
    double span_ns = 0;
    size_t node, n = 0;
    do {
        node = s->stack[--s->depth];
        set_remove(&s->open, node);
        set_add(&part, node);
        span_ns += s->g->loops->node[node].span_ns;
        n++;
    } while (node != root);
    if (n == 1 && !ana_loop_has(&s->g->next[root], root))
        return;
    for (size_t w = 0; w < ANA_LOOP_NODES / 64; w++)
        s->found.word[w] |= part.word[w];
    if (span_ns > s->best_ns) {
        s->best_ns = span_ns;
        s->best = part;
    }
}

static void visit(struct search *s, size_t node)
{
    s->seen[node] = s->low[node] = ++s->met;
    s->stack[s->depth++] = (uint16_t)node;
    set_add(&s->open, node);
    for (size_t w = 0; w < ANA_LOOP_NODES / 64; w++)
        for (uint64_t left = s->g->next[node].word[w] & s->alive->word[w]; left; left &= left - 1) {
            size_t next = w * 64 + (size_t)__builtin_ctzll(left);
            if (!s->seen[next])
                visit(s, next);
            if (ana_loop_has(&s->open, next) && s->low[next] < s->low[node])
                s->low[node] = s->low[next];
        }
    if (s->low[node] == s->seen[node])
        take_part(s, node);
}

/* Finds what can be gone round within `alive`. */
static void search_rounds(struct search *s, const struct graph *g, const struct ana_loop_set *alive)
{
    *s = (struct search){.g = g, .alive = alive, .best_ns = -1};
    for (size_t i = 0; i < g->loops->nodes; i++)
        if (ana_loop_has(alive, i) && !s->seen[i])
            visit(s, i);
}

/* ---- heads ------------------------------------------------------------------------------------------------------ */

/* Whether every way round through x passes y. */
static bool passes(const struct graph *g, size_t x, size_t y)
{
    return x == y || !ana_loop_has(&g->round[y], x);
}

/* Whether a node may be of the head: it is called through most of the loop, by most of its ranks. */
static bool may_lead(const struct graph *g, const struct ana_loop_set *in, size_t x)
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

/* Of two of a head: which one rather ends iterations. */
static bool ends_rather(const struct graph *g, size_t x, size_t than)
{
    const struct ana_loop_node *a = &g->loops->node[x], *b = &g->loops->node[than];
    if (a->ranks != b->ranks)
        return a->ranks > b->ranks;
    if (!passes(g, x, than) && !passes(g, than, x))
        return a->count < b->count;
    if (a->members != b->members)
        return a->members > b->members;
    return a->first_ns > b->first_ns;
}

/* Finds the head of a loop.  False: it has none. */
static bool find_head(const struct graph *g, struct ana_loop *loop)
{
    const struct ana_loop_node *node = g->loops->node;
    struct ana_loop_set may = {{0}};
    size_t n = g->loops->nodes, best = SIZE_MAX, most = 0;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < n; i++)
        if (ana_loop_has(&loop->in, i) && may_lead(g, &loop->in, i)) {
            set_add(&may, i);
            least = node[i].count < least ? node[i].count : least;
        }
    /* As often, but for an iteration that was begun only: those that the others pass. */
    for (size_t i = 0; i < n; i++) {
        size_t passed = 0;
        if (!ana_loop_has(&may, i) || node[i].count > least + 1 + least / 50)
            continue;
        for (size_t j = 0; j < n; j++)
            passed += ana_loop_has(&may, j) && node[j].count <= least + 1 + least / 50 && passes(g, j, i);
        if (passed > most || (passed == most && ends_rather(g, i, best))) {
            most = passed;
            best = i;
        }
    }
    if (best == SIZE_MAX)
        return false;
    loop->end = best;
    for (size_t i = 0; i < n; i++)
        if (ana_loop_has(&loop->in, i) && passes(g, i, best) && passes(g, best, i))
            set_add(&loop->head, i);
    return true;
}

/* ---- detours ---------------------------------------------------------------------------------------------------- */

static size_t size_of(const struct ana_loop_set *set)
{
    size_t n = 0;
    for (size_t w = 0; w < ANA_LOOP_NODES / 64; w++)
        n += (size_t)__builtin_popcountll(set->word[w]);
    return n;
}

/* The marks of both nodes on the first rank that has both.  False: none has. */
static bool marks_of(const struct graph *g, size_t x, size_t y, const struct ana_iter_mark **of_x,
                     const struct ana_iter_mark **of_y)
{
    for (size_t r = 0; r < g->iter->ranks; r++) {
        *of_x = *of_y = NULL;
        for (uint32_t at = g->iter->rank[r].marks; at; at = ana_iter_mark_at(g->iter, at)->before) {
            const struct ana_iter_mark *mark = ana_iter_mark_at(g->iter, at);
            uint32_t place = g->place[mark->place - 1];
            *of_x = place == g->loops->node[x].place ? mark : *of_x;
            *of_y = place == g->loops->node[y].place ? mark : *of_y;
        }
        if (*of_x && *of_y)
            return true;
    }
    return false;
}

/* How often y was called between two calls of x. */
struct times {
    uint64_t usual; /* more than two times in three; 0: it varies */
    bool always;
    bool cut_first, cut_last; /* always, but before the first of x, and after the last, a part of that */
    uint64_t gaps, few;       /* how often x followed x; of these, how often with y once between, or not at all */
};

static struct times times_between(const struct ana_iter_mark *x, const struct ana_iter_mark *y)
{
    struct times t = {.always = true};
    uint64_t first = 0, before = 0, votes = 0, alike = 0, slack = y->stride > 1 ? y->stride : 0;
    for (int pass = 0; pass < 2; pass++) /* a vote that the majority wins, if there is one; then they are counted */
        for (uint32_t i = 0, at = 0; i < x->entries; i++) {
            while (at < y->entries && y->entry[at].end_ns <= x->entry[i].end_ns)
                at++;
            uint64_t so_far = (uint64_t)at * y->stride, times = so_far - (i ? before : so_far);
            bool same = times + slack >= t.usual && times <= t.usual + slack;
            before = so_far;
            if (i == 0) {
                first = so_far;
            } else if (pass == 1) {
                alike += same;
                t.gaps++;
                t.few += times <= 1;
            } else if (votes == 0) {
                t.usual = times;
                votes = 1;
            } else {
                votes += same ? 1 : UINT64_MAX;
            }
        }
    t.always = x->entries >= 3 && alike + 1 == x->entries;
    if (x->entries < 3 || alike * 3 < 2 * (x->entries - 1u))
        t.usual = 0;
    uint64_t last = x->stride == 1 && y->count > before ? y->count - before : 0;
    uint64_t whole = t.usual / x->stride;
    t.cut_first = t.always && first > slack && first + slack < whole;
    t.cut_last = t.always && last > slack && last + slack < whole;
    t.few = x->stride == 1 && y->stride == 1 ? t.few : 0;
    t.usual = whole;
    return t;
}

static bool is_detour(const struct graph *g, const struct ana_loop *outer, const struct ana_loop *inner)
{
    const struct ana_iter_mark *x, *y;
    bool only_io = true;
    for (size_t i = 0; i < g->loops->nodes; i++)
        if (ana_loop_has(&outer->head, i))
            only_io &= g->loops->node[i].is_io;
    if (!marks_of(g, outer->end, inner->end, &x, &y))
        return false;
    struct times t = times_between(x, y);
    size_t inside = size_of(&inner->in), around = size_of(&outer->in) - inside;
    bool cut = t.cut_first || (t.cut_last && (g->is_over || t.usual >= ANA_LOOP_DETOUR));
    bool chance = !t.usual && t.few * ANA_LOOP_DETOUR_FEW >= t.gaps && t.gaps;
    if (around < inside && chance)
        return true;
    if (!passes(g, outer->end, inner->end))
        return false;
    bool seldom = t.usual >= ANA_LOOP_DETOUR_FAR || y->count < ANA_LOOP_DETOUR_NEAR * x->count;
    return only_io || (t.usual > 1 && cut) || (around < inside && seldom);
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

/* Inside the iterations, what comes about once in each is no loop: two calls that change places go round, too. */
static void drop_single(struct ana_loops *loops)
{
    size_t kept = loops->iteration + 1;
    for (size_t i = kept; i < loops->levels; i++) {
        uint64_t outer = loops->node[loops->level[kept - 1].end].count, inner = loops->node[loops->level[i].end].count;
        if (inner > outer + outer / 4)
            loops->level[kept++] = loops->level[i];
    }
    loops->levels = loops->levels ? kept : 0;
}

static void find_levels(struct graph *g)
{
    struct ana_loops *loops = g->loops;
    struct search search;
    struct ana_loop_set alive = {{0}};
    for (size_t i = 0; i < loops->nodes; i++)
        set_add(&alive, i);
    for (size_t i = 0; i < loops->nodes; i++) {
        struct ana_loop_set without = alive;
        set_remove(&without, i);
        search_rounds(&search, g, &without);
        g->round[i] = search.found;
    }
    while (loops->levels < ANA_LOOP_LEVELS) {
        struct ana_loop *loop = &loops->level[loops->levels];
        search_rounds(&search, g, &alive);
        loop->in = alive = search.best;
        if (search.best_ns < 0 || !find_head(g, loop))
            break;
        loops->levels++;
        for (size_t w = 0; w < ANA_LOOP_NODES / 64; w++)
            alive.word[w] &= ~loop->head.word[w];
    }
    for (size_t i = 0; i < loops->levels; i++)
        for (size_t j = i + 1; j < loops->levels; j++)
            loops->level[i].is_detour |= is_detour(g, &loops->level[i], &loops->level[j]);
    while (loops->iteration + 1 < loops->levels && loops->level[loops->iteration].is_detour)
        loops->iteration++;
    drop_single(loops);
}

bool ana_loops_find(const struct ana_iter *iter, const struct ana_why *why, const uint32_t *place,
                    struct ana_loops *loops)
{
    struct graph *g = calloc(1, sizeof *g);
    *loops = (struct ana_loops){0};
    if (!g)
        return false;
    *g = (struct graph){.iter = iter, .place = place, .loops = loops};
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

void ana_loops_free(struct ana_loops *loops)
{
    free(loops->node);
    *loops = (struct ana_loops){0};
}
