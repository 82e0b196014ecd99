/* The wait-for graph against its definition, on random graphs: moving nodes by trying until nothing changes, knots by
 * reachability. */
#include "tests/support/check.h"
#include "trace/verdict/graph.h"

#include <string.h>

enum { MOST = 24, GRAPHS = 20000 };

static uint64_t state = 1;
static unsigned below(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

struct plain {
    size_t ranks, nodes;
    bool waits[MOST][MOST], moves[MOST], reaches[MOST][MOST];
    enum ana_node_kind kind[MOST];
};

static void make(struct plain *p, struct ana_graph *g)
{
    memset(p, 0, sizeof *p);
    p->ranks = 1 + below(8);
    p->nodes = p->ranks + below(MOST - 8);
    ana_graph_init(g, p->ranks);
    for (size_t i = 0; i < p->nodes; i++)
        p->kind[i] = i < p->ranks || below(2) ? ANA_WAITS_ANY : ANA_WAITS_ALL;
    for (size_t i = p->ranks; i < p->nodes; i++)
        CHECK(ana_graph_node(g, p->kind[i]) == i);
    size_t edges = below((unsigned)(2 * p->nodes));
    for (size_t i = 0; i < edges; i++) {
        size_t from = below((unsigned)p->nodes), to = below((unsigned)p->nodes);
        if (p->waits[from][to])
            continue;
        p->waits[from][to] = true;
        ana_graph_wait(g, from, to);
    }
}

static void set_moving(struct plain *p, struct ana_graph *g)
{
    size_t node = below((unsigned)p->nodes);
    p->moves[node] = true;
    ana_graph_set_moving(g, node);
}

static bool can_move(const struct plain *p, size_t i)
{
    bool any = false, all = true;
    for (size_t k = 0; k < p->nodes; k++)
        if (p->waits[i][k]) {
            any |= p->moves[k];
            all &= p->moves[k];
        }
    return p->moves[i] || (p->kind[i] == ANA_WAITS_ALL ? all : any);
}

static void solve(struct plain *p)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < p->nodes; i++)
            if (!p->moves[i] && can_move(p, i))
                more = p->moves[i] = true;
    }
    for (size_t i = 0; i < p->nodes; i++)
        for (size_t k = 0; k < p->nodes; k++)
            p->reaches[i][k] = i == k || (p->waits[i][k] && !p->moves[i] && !p->moves[k]);
    for (size_t m = 0; m < p->nodes; m++)
        for (size_t i = 0; i < p->nodes; i++)
            for (size_t k = 0; k < p->nodes; k++)
                p->reaches[i][k] |= p->reaches[i][m] && p->reaches[m][k];
}

/* A rank is of a knot if every rank that it reaches reaches it. */
static bool is_knotted(const struct plain *p, size_t rank)
{
    for (size_t k = 0; k < p->ranks; k++)
        if (p->reaches[rank][k] && !p->reaches[k][rank])
            return false;
    return !p->moves[rank];
}

static void compare(const struct plain *p, struct ana_graph *g)
{
    for (size_t i = 0; i < p->nodes; i++)
        CHECK(ana_graph_moves(g, i) == p->moves[i], "node %zu", i);
    for (size_t i = 0; i < p->ranks; i++) {
        CHECK((g->knot[i] != 0) == is_knotted(p, i), "rank %zu", i);
        for (size_t k = 0; k < p->ranks; k++)
            CHECK(!g->knot[i] || (g->knot[i] == g->knot[k]) == (p->reaches[i][k] && p->reaches[k][i]));
    }
    /* Graphs without ranks on the way. */
    for (size_t i = 0; i < p->nodes; i++) {
        size_t blocker[MOST];
        bool waits[MOST] = {false}, seen[MOST] = {false};
        size_t stack[MOST * MOST], depth = 0;
        stack[depth++] = i;
        while (depth)
            for (size_t at = stack[--depth], k = 0; k < p->nodes; k++)
                if (p->waits[at][k] && !p->moves[k] && !seen[k]) {
                    seen[k] = true;
                    waits[k] = k < p->ranks;
                    if (!waits[k])
                        stack[depth++] = k;
                }
        size_t n = ana_graph_blockers(g, i, blocker, MOST), right = 0, all = 0;
        for (size_t k = 0; k < n; k++)
            right += waits[blocker[k]];
        for (size_t k = 0; k < p->ranks; k++)
            all += waits[k];
        CHECK(right == n && n == all, "node %zu: %zu of %zu", i, right, all);
    }
}

int main(void)
{
    static struct plain p;
    for (int i = 0; i < GRAPHS; i++) {
        struct ana_graph g;
        make(&p, &g);
        for (unsigned k = below(3); k > 0; k--)
            set_moving(&p, &g);
        ana_graph_solve(&g);
        for (unsigned k = below(3); k > 0; k--) /* found out later */
            set_moving(&p, &g);
        solve(&p);
        ana_graph_find_knots(&g);
        CHECK(!g.memory);
        compare(&p, &g);
        ana_graph_free(&g);
    }
    return check_result();
}
