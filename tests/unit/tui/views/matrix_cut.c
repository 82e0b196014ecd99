/* Blocks of the matrix: all ranks are in one, there are no more than fit, and none has parts of two nodes. */
#include "tests/support/check.h"
#include "tui/views/matrix_blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 700 };

static uint64_t random_state = 4;
static size_t below(size_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)((random_state >> 33) % n);
}

static char host[MOST][16];
static struct ana_rank rank[MOST];

static void check_cut(const struct tui_app *app, size_t most, bool in_turn, size_t nodes)
{
    struct matrix_blocks b = {0};
    CHECK(tui_matrix_cut(app, most, &b), "memory");
    size_t n = app->rank_count, largest = 0;
    CHECK(b.count >= 1 && b.count <= most && b.edge[0] == 0 && b.edge[b.count] == n, "%zu blocks of %zu for %zu ranks",
          b.count, most, n);
    for (size_t i = 0; i < b.count; i++) {
        size_t size = b.edge[i + 1] - b.edge[i];
        CHECK(b.edge[i] < b.edge[i + 1], "block %zu is empty", i);
        largest = size > largest ? size : largest;
        bool first = b.edge[i] == 0, begins = first || strcmp(host[b.edge[i] - 1], host[b.edge[i]]) != 0;
        CHECK(tui_matrix_begins_node(app, &b, i) == begins, "block %zu begins a node", i);
        bool one = strcmp(host[b.edge[i]], host[b.edge[i + 1] - 1]) == 0;
        CHECK(!b.nodes || one || nodes > most, "%zu ranks on %zu nodes, %zu fit: block %zu has two nodes", n, nodes,
              most, i);
        CHECK(!b.nodes || one || begins, "block %zu begins within a node", i);
    }
    CHECK(b.most == largest, "the largest has %zu, not %zu", largest, b.most);
    CHECK(n > most || b.most == 1, "%zu ranks fit into %zu", n, most);
    CHECK(b.nodes == (nodes > 1 && !in_turn && n > most && nodes * 2 <= n), "%zu ranks, %zu nodes, %zu", n, nodes,
          most);
    for (size_t r = 0; r < n; r++) {
        size_t at = tui_matrix_block(&b, r);
        CHECK(b.edge[at] <= r && r < b.edge[at + 1], "rank %zu is not in block %zu", r, at);
    }
    tui_matrix_free(&b);
}

int main(void)
{
    for (int i = 0; i < 2000; i++) {
        size_t n = 1 + below(i % 3 ? 60 : MOST), nodes = 1 + below(n < 40 ? n : 40);
        bool in_turn = nodes > 1 && below(4) == 0;
        for (size_t r = 0; r < n; r++) {
            snprintf(host[r], sizeof host[r], "n%zu", in_turn ? r % nodes : r * nodes / n);
            rank[r] = (struct ana_rank){.host = host[r]};
        }
        struct tui_app app = {.rank = rank, .rank_count = n};
        check_cut(&app, 1 + below(90), in_turn, nodes);
    }
    return check_result();
}
