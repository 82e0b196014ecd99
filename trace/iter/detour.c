/* Detours: loops that look like outer ones, but are only done every few iterations. */
#include "trace/iter/loop_impl.h"

static size_t size_of(const struct ana_loop_set *set)
{
    size_t n = 0;
    for (size_t w = 0; w < ANA_LOOP_NODES / 64; w++)
        n += (size_t)__builtin_popcountll(set->word[w]);
    return n;
}

/* The marks of both loops on the first rank that has both.  False: none has. */
static bool marks_of(const struct ana_loop_graph *g, const struct ana_loop *x, const struct ana_loop *y,
                     const struct ana_iter_mark **of_x, const struct ana_iter_mark **of_y)
{
    for (size_t r = 0; r < g->iter->ranks; r++) {
        uint32_t at_x = ana_loop_mark(g->iter, g->place, g->loops, x, r);
        uint32_t at_y = at_x ? ana_loop_mark(g->iter, g->place, g->loops, y, r) : 0;
        if (!at_x || !at_y)
            continue;
        *of_x = ana_iter_any_at(g->iter, at_x);
        *of_y = ana_iter_any_at(g->iter, at_y);
        return true;
    }
    return false;
}

struct ana_loop_times ana_loop_times(const struct ana_loop_graph *g, const struct ana_loop *outer,
                                     const struct ana_loop *inner)
{
    const struct ana_iter_mark *x, *y;
    struct ana_loop_times t = {.always = true};
    if (!marks_of(g, outer, inner, &x, &y))
        return (struct ana_loop_times){0};
    t.inner = y->count;
    t.outer = x->count;
    uint64_t first = 0, before = 0, votes = 0, alike = 0, slack = y->stride > 1 ? y->stride : 0;
    for (int pass = 0; pass < 2; pass++) /* a vote that the majority wins, if there is one; then they are counted */
        for (uint32_t i = 0, at = 0; i < x->entries; i++) {
            int64_t end_ns = ana_iter_entry_at(x, i).end_ns;
            while (at < y->entries && ana_iter_entry_at(y, at).end_ns <= end_ns)
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
    t.is_exact = x->stride == 1 && y->stride == 1;
    t.first = first > slack ? first : 0;
    t.last = x->stride == 1 && y->count > before + slack ? y->count - before : 0;
    t.few = t.is_exact ? t.few : 0;
    t.usual /= x->stride;
    t.between = before - first;
    return t;
}

/* Returns whether a loop was cut off at its begin or end: an apparent iteration was not whole there.  A few calls more
 * come from work done before. */
static bool is_cut(const struct ana_loop_graph *g, const struct ana_loop_times *t)
{
    uint64_t least = t->usual > ANA_LOOP_BEFORE * 2 ? ANA_LOOP_BEFORE : 0;
    if (!t->always || t->usual < 2)
        return false;
    if (t->usual >= ANA_LOOP_DETOUR_FAR && t->first + t->last <= ANA_LOOP_BEFORE)
        return true; /* runs before the first of the inner ones, and after the last */
    return (t->first > least && t->first < t->usual) ||
           (t->last && t->last < t->usual && (g->is_over || t->usual >= ANA_LOOP_DETOUR));
}

enum ana_loop_detour ana_loop_is_detour(const struct ana_loop_graph *g, const struct ana_loop *outer,
                                        const struct ana_loop *inner)
{
    bool only_io = true;
    for (size_t i = 0; i < g->loops->nodes; i++)
        if (ana_loop_has(&outer->head, i))
            only_io &= g->loops->node[i].is_io;
    struct ana_loop_times t = ana_loop_times(g, outer, inner);
    if (!t.outer || t.between < t.gaps)
        return ANA_LOOP_NONE; /* one after the other */
    size_t inside = size_of(&inner->in), all = size_of(&outer->in), around = all > inside ? all - inside : 0;
    bool twice = t.usual > ANA_LOOP_DETOUR_FEW && t.few > 1 && t.few * ANA_LOOP_DETOUR_FAR >= t.gaps;
    bool chance = (!t.usual && t.few * ANA_LOOP_DETOUR_FEW >= t.gaps && t.gaps) || twice, cut = is_cut(g, &t);
    bool each_time = t.always && t.usual && t.usual <= ANA_LOOP_DETOUR_FEW; /* the inner one is called so often there */
    bool apart = t.first > ANA_LOOP_BEFORE && t.last > ANA_LOOP_BEFORE; /* iterations neither begin nor end with it */
    if ((t.usual || t.few || apart) && !each_time && ana_loop_leaves_out(g, outer, inner))
        return ANA_LOOP_SELDOM;
    bool inside_too = !inner->turn || g->loops->node[outer->end].count >= inner->count;
    if (outer->turn && inside_too) /* place that is called inside, too */
        return chance ? ANA_LOOP_CHANCE : ANA_LOOP_NONE;
    if (around < inside && chance)
        return ANA_LOOP_CHANCE;
    if (!ana_loop_passes(g, outer->end, inner->end) || ana_loop_has_kind(g, outer, inner))
        return ANA_LOOP_NONE;
    bool seldom = t.usual >= ANA_LOOP_DETOUR_FAR || t.inner < ANA_LOOP_DETOUR_NEAR * t.outer;
    return only_io || cut || (around < inside && seldom) ? ANA_LOOP_SELDOM : ANA_LOOP_NONE;
}
