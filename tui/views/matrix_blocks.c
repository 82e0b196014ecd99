#include "tui/views/matrix_blocks.h"
#include "trace/util/sort.h"

#include <stdlib.h>
#include <string.h>

static bool same_node(const struct tui_app *app, size_t a, size_t b)
{
    const char *x = app->rank[a].host, *y = app->rank[b].host;
    return x == y || (x && y && strcmp(x, y) == 0);
}

/* The end of the run of ranks on one node that begins at `from`. */
static size_t end_of_node(const struct tui_app *app, size_t from)
{
    size_t to = from + 1;
    while (to < app->rank_count && same_node(app, from, to))
        to++;
    return to;
}

static size_t count_runs(const struct tui_app *app)
{
    size_t runs = 0;
    for (size_t i = 0; i < app->rank_count; i = end_of_node(app, i))
        runs++;
    return runs;
}

/* Returns how many blocks there are if no block has more than `size` ranks or parts of two nodes. */
static size_t count_blocks(const struct tui_app *app, size_t size)
{
    size_t blocks = 0;
    for (size_t i = 0, end; i < app->rank_count; i = end) {
        end = end_of_node(app, i);
        blocks += (end - i + size - 1) / size;
    }
    return blocks;
}

static void add_edge(struct matrix_blocks *out, size_t at)
{
    if (out->count && at - out->edge[out->count - 1] > out->most)
        out->most = at - out->edge[out->count - 1];
    out->edge[out->count++] = at;
}

/* Cuts each node into parts of the same size. */
static void cut_nodes(const struct tui_app *app, size_t size, struct matrix_blocks *out)
{
    for (size_t i = 0, end; i < app->rank_count; i = end) {
        end = end_of_node(app, i);
        size_t parts = (end - i + size - 1) / size;
        for (size_t p = 0; p < parts; p++)
            add_edge(out, i + (end - i) * p / parts);
    }
}

static void join_nodes(const struct tui_app *app, size_t nodes, struct matrix_blocks *out)
{
    size_t n = 0;
    for (size_t i = 0; i < app->rank_count; i = end_of_node(app, i))
        if (n++ % nodes == 0)
            add_edge(out, i);
}

bool tui_matrix_cut(const struct tui_app *app, size_t most, struct matrix_blocks *out)
{
    size_t n = app->rank_count;
    if (out->edge && out->of_ranks == n && out->of_most == most && out->of_generation == app->generation)
        return true;
    size_t runs = count_runs(app), size = (n + most - 1) / most;
    tui_matrix_free(out);
    out->of_ranks = n;
    out->of_most = most;
    out->of_generation = app->generation;
    out->edge = calloc(n + 2, sizeof *out->edge);
    if (!out->edge)
        return false;
    /* Blocks of nodes would mean nothing if ranks were dealt out to the nodes in turn. */
    out->nodes = runs > 1 && runs * 2 <= n && size > 1;
    if (!out->nodes) {
        for (size_t i = 0; i < n; i += size)
            add_edge(out, i);
    } else if (runs > most) {
        join_nodes(app, (runs + most - 1) / most, out);
    } else {
        while (count_blocks(app, size) > most)
            size++;
        cut_nodes(app, size, out);
    }
    add_edge(out, n);
    out->count--;
    return true;
}

size_t tui_matrix_block(const struct matrix_blocks *blocks, size_t rank)
{
    size_t behind = ANA_FIRST(i, blocks->count, blocks->edge[i] <= rank);
    return behind ? behind - 1 : 0;
}

bool tui_matrix_begins_node(const struct tui_app *app, const struct matrix_blocks *blocks, size_t block)
{
    size_t first = blocks->edge[block];
    return first == 0 || !same_node(app, first - 1, first);
}

struct matrix_sum *tui_matrix_sums(const struct tui_app *app, const struct matrix_blocks *blocks, size_t top,
                                   size_t down, size_t left, size_t across)
{
    struct matrix_sum *sums = calloc(down * across + 1, sizeof *sums);
    for (size_t i = 0; sums && i < app->summary.pair_count; i++) {
        const struct ana_pair *p = &app->summary.pairs[i];
        size_t row = tui_matrix_block(blocks, p->source) - top,
               column = tui_matrix_block(blocks, p->destination) - left;
        if (row >= down || column >= across)
            continue;
        struct matrix_sum *to = &sums[row * across + column];
        to->bytes += (double)p->bytes;
        to->messages += (double)p->messages;
        if (!isnan(p->latency_p50_ns)) {
            to->latency += p->latency_p50_ns * (double)p->messages;
            to->latency_messages += (double)p->messages;
        }
        if (p->bandwidth > 0) {
            to->moved += (double)p->bytes;
            to->moving_s += (double)p->bytes / p->bandwidth;
        }
    }
    return sums;
}

void tui_matrix_free(struct matrix_blocks *blocks)
{
    free(blocks->edge);
    *blocks = (struct matrix_blocks){0};
}
