#include "tui/app/app.h"
#include "trace/util/grow.h"
#include "trace/util/sort.h"

#include <string.h>

enum { BLAMED = 4 };
#define GROUP (1ull << 63)

void tui_tree_free(struct tui_tree *tree)
{
    ana_alike_free(&tree->alike);
    ana_map_free(&tree->open);
    free(tree->row);
    free(tree->row_of);
    free(tree->shown);
    *tree = (struct tui_tree){0};
}

static bool is_open(const struct tui_tree *tree, uint64_t identity)
{
    const uint8_t *open = ana_map_find(&tree->open, identity, 0, 0);
    return open && *open;
}

/* Adds a row; returns its number, UINT32_MAX: out of memory. */
static uint32_t add_row(struct tui_tree *tree, struct tui_row row)
{
    if (!ana_grow(&tree->row, tree->rows, &tree->room, sizeof *tree->row))
        return UINT32_MAX;
    row.is_rank = row.count == 1;
    if (row.is_rank)
        row.identity = *row.member + 1;
    row.open = !row.is_rank && is_open(tree, row.identity);
    tree->row[tree->rows] = row;
    for (size_t i = 0; i < row.count; i++)
        tree->row_of[row.member[i]] = (uint32_t)tree->rows;
    return (uint32_t)tree->rows++;
}

static void add_ranks(struct tui_tree *tree, uint32_t parent, const size_t *member, size_t count)
{
    int level = parent == UINT32_MAX ? 0 : tree->row[parent].level + 1;
    for (size_t i = 0; i < count; i++)
        add_row(tree, (struct tui_row){.member = member + i, .count = 1, .parent = parent, .level = level});
}

/* Adds a row for each host of an open row's ranks, or the ranks themselves where they are all on one. */
static void add_hosts(struct tui_tree *tree, uint32_t parent)
{
    struct tui_row of = tree->row[parent];
    if (tree->alike.host[of.member[0]] == tree->alike.host[of.member[of.count - 1]]) {
        add_ranks(tree, parent, of.member, of.count);
        return;
    }
    for (size_t i = 0, end; i < of.count; i = end) {
        uint32_t host = tree->alike.host[of.member[i]];
        for (end = i; end < of.count && tree->alike.host[of.member[end]] == host;)
            end++;
        uint32_t row = add_row(tree, (struct tui_row){.identity = (of.identity + host * 2654435761u) | GROUP,
                                                      .member = of.member + i,
                                                      .count = end - i,
                                                      .parent = parent,
                                                      .level = of.level + 1});
        if (row != UINT32_MAX && tree->row[row].open)
            add_ranks(tree, row, of.member + i, end - i);
    }
}

/* Appends the ranks in view among some ranks to the list of shown ones; returns their number. */
static size_t show_ranks(const struct tui_app *app, struct tui_tree *tree, size_t *at, const size_t *member, size_t n)
{
    size_t from = *at;
    for (size_t i = 0; i < n; i++)
        if (!tree->tagged_only || !app->tagged_count || app->tagged[member[i]])
            tree->shown[(*at)++] = member[i];
    return *at - from;
}

/* Ranks that were in no summary, for they are not selected. */
static size_t show_others(struct tui_tree *tree, size_t *at)
{
    size_t from = *at;
    for (size_t m = 0; !tree->tagged_only && m < tree->alike.ranks; m++)
        if (tree->alike.group_of[tree->alike.by_host[m]] == UINT32_MAX)
            tree->shown[(*at)++] = tree->alike.by_host[m];
    return *at - from;
}

static void add_group(struct tui_tree *tree, struct tui_row row)
{
    row.parent = UINT32_MAX;
    row.identity |= GROUP;
    uint32_t number = row.count ? add_row(tree, row) : UINT32_MAX;
    if (number != UINT32_MAX && tree->row[number].open)
        add_hosts(tree, number);
}

static void add_groups(const struct tui_app *app, struct tui_tree *tree)
{
    size_t at = 0, from;
    for (size_t g = 0; g < tree->alike.groups; g++) {
        const struct ana_alike_group *of = &tree->alike.group[g];
        from = at;
        size_t count = show_ranks(app, tree, &at, tree->alike.member + of->first, of->count);
        /* Shows the rest's name whatever ranks are in it; also a standing-out host's. */
        uint64_t identity = of->most                 ? 1
                            : of->host != UINT32_MAX ? 100 + (uint64_t)of->host
                                                     : 1000000007u * (tree->alike.member[of->first] + 1);
        add_group(tree, (struct tui_row){.identity = identity,
                                         .member = tree->shown + from,
                                         .count = count,
                                         .odd = !of->most,
                                         .rest = of->most && tree->alike.groups > 1,
                                         .pinned = of->blamed});
    }
    from = at;
    size_t count = show_others(tree, &at);
    add_group(tree, (struct tui_row){.identity = 4, .member = tree->shown + from, .count = count, .rest = true});
}

static bool is_blamed(const struct tui_tree *tree, size_t index)
{
    uint32_t group = tree->alike.group_of[index];
    return group < tree->alike.groups && tree->alike.group[group].blamed;
}

/* Adds the job as nodes, or rank by rank; blamed ranks come first, if not all can be seen. */
static void add_plainly(const struct tui_app *app, struct tui_tree *tree, bool by_node)
{
    size_t kept = 0, n = show_ranks(app, tree, &kept, tree->alike.by_host, tree->alike.ranks);
    bool first = by_node || n > tree->fit;
    kept = 0;
    for (size_t g = 0; first && g < tree->alike.groups && tree->alike.group[g].blamed; g++) {
        const size_t *member = tree->alike.member + tree->alike.group[g].first;
        if (!tree->tagged_only || !app->tagged_count || app->tagged[*member])
            add_row(tree,
                    (struct tui_row){.member = member, .count = 1, .parent = UINT32_MAX, .odd = true, .pinned = true});
    }
    for (size_t i = 0; i < n; i++)
        if (!first || !is_blamed(tree, tree->shown[i]))
            tree->shown[kept++] = tree->shown[i];
    if (!kept)
        return;
    if (!by_node) {
        ana_sort(tree->shown, kept, sizeof *tree->shown, ana_by_index);
        add_ranks(tree, UINT32_MAX, tree->shown, kept);
        for (size_t i = 0; !first && i < tree->rows; i++)
            tree->row[i].pinned = tree->row[i].odd = is_blamed(tree, *tree->row[i].member);
        return;
    }
    uint32_t job = add_row(
        tree, (struct tui_row){.identity = 3 | GROUP, .member = tree->shown, .count = kept, .parent = UINT32_MAX});
    if (job == UINT32_MAX)
        return;
    tree->row[job].open = !tree->row[job].open; /* job's row, open at first */
    if (tree->row[job].open)
        add_hosts(tree, job);
}

/* Finds out again which ranks are alike; false: out of memory. */
static bool look_again(struct tui_app *app)
{
    struct tui_tree *tree = &app->tree;
    size_t blamed[BLAMED], n = 0;
    bool same = tree->generation == app->generation && tree->alike.ranks == app->rank_count;
    if (tree->row_of && (tree->of == app->summaries || (app->tagged_count && same && tree->alike.ranks)))
        return true;
    if (app->verdict && app->verdict->culprits <= BLAMED)
        for (; n < app->verdict->culprits; n++)
            blamed[n] = app->verdict->culprit[n];
    if (!app->verdict || !app->verdict->culprits)
        n = ana_alike_blame(&app->summary, blamed, BLAMED);
    ana_alike_free(&tree->alike);
    free(tree->row_of);
    free(tree->shown);
    tree->row_of = malloc((app->rank_count + 1) * sizeof *tree->row_of);
    tree->shown = calloc(app->rank_count + 1, sizeof *tree->shown);
    bool ok = tree->row_of && tree->shown && ana_alike_find(app->job, &app->summary, blamed, n, &tree->alike) &&
              tree->alike.ranks <= app->rank_count;
    if (!ok)
        ana_alike_free(&tree->alike);
    tree->of = app->summaries;
    tree->generation = app->generation;
    return ok;
}

void tui_tree_update(struct tui_app *app, enum tui_rows_by by, size_t fit, bool tagged_only)
{
    struct tui_tree *tree = &app->tree;
    if (by == TUI_BY_SIZE)
        by = (tagged_only ? tui_app_shown(app) : app->rank_count) <= fit ? TUI_BY_RANK : TUI_BY_BEHAVIOUR;
    if (tree->fresh && tree->made == app->summaries && tree->by == by && tree->fit == fit &&
        tree->tagged_only == tagged_only)
        return;
    if (!tree->open.value_size)
        ana_map_init(&tree->open, 1);
    tree->by = by;
    tree->fit = fit;
    tree->tagged_only = tagged_only;
    tree->made = app->summaries;
    tree->fresh = true;
    tree->rows = 0;
    tree->version++;
    if (!app->has_summary || !look_again(app))
        return;
    memset(tree->row_of, 0xff, tree->alike.ranks * sizeof *tree->row_of);
    if (by == TUI_BY_BEHAVIOUR)
        add_groups(app, tree);
    else
        add_plainly(app, tree, by == TUI_BY_NODE);
}

static void build_again(struct tui_app *app)
{
    app->tree.fresh = false;
    tui_tree_update(app, app->tree.by, app->tree.fit, app->tree.tagged_only);
}

void tui_tree_toggle(struct tui_app *app, const struct tui_row *row)
{
    uint8_t *open = row->is_rank ? NULL : ana_map_add(&app->tree.open, row->identity, 0, 0);
    if (!open)
        return;
    *open = !*open;
    build_again(app);
}

bool tui_tree_close(struct tui_app *app)
{
    bool any = false;
    for (size_t i = 0; i < app->tree.open.count; i++) {
        uint8_t *open = ana_map_value(&app->tree.open, i);
        any |= *open;
        *open = 0;
    }
    if (any)
        build_again(app);
    return any;
}

void tui_tree_reveal(struct tui_app *app, size_t index)
{
    enum { LEVELS = 3 };
    struct tui_tree *tree = &app->tree;
    tui_app_choose_rank(app, index);
    for (int i = 0; i < LEVELS && tree->rows && index < tree->alike.ranks && tree->row_of[index] < tree->rows; i++) {
        const struct tui_row *row = &tree->row[tree->row_of[index]];
        if (row->is_rank || row->open)
            return;
        tui_tree_toggle(app, row);
    }
}

size_t tui_tree_again(const struct tui_app *app, size_t index)
{
    for (size_t i = 0; index < app->rank_count && i < app->info.ranks; i++) {
        const struct ana_rank *now = ana_job_rank(app->job, i), *before = &app->rank[index];
        if (now->world == before->world && now->rank == before->rank && now->pid == before->pid)
            return i;
    }
    return index;
}

size_t tui_tree_cursor(const struct tui_app *app)
{
    const struct tui_tree *tree = &app->tree;
    for (size_t i = 0; app->rank_group && i < tree->rows; i++)
        if (tree->row[i].identity == app->rank_group)
            return i;
    uint32_t row = tree->rows && app->cursor_rank < tree->alike.ranks ? tree->row_of[app->cursor_rank] : UINT32_MAX;
    return row < tree->rows ? row : 0;
}

void tui_tree_choose(struct tui_app *app, const struct tui_row *row)
{
    size_t index = *row->member;
    for (size_t i = 0; i < row->count && !row->is_rank; i++) /* the cursor's rank stays where it can */
        index = row->member[i] == app->cursor_rank ? app->cursor_rank : index;
    tui_app_choose_rank(app, index);
    if (!row->is_rank)
        app->rank_group = row->identity;
}

const char *tui_tree_name(const struct tui_app *app, const struct tui_row *row, char *out, size_t size)
{
    if (row->is_rank)
        return tui_app_rank_name(app, *row->member, out, size);
    snprintf(out, size, "%s%zu", row->open ? "-" : row->rest ? "+" : "x", row->count);
    return out;
}

const char *tui_tree_place(const struct tui_app *app, const struct tui_row *row, char *out, size_t size)
{
    size_t hosts = 0;
    const uint32_t *host = app->tree.alike.host;
    for (size_t i = 0; i < row->count; i++)
        hosts += i == 0 || host[row->member[i]] != host[row->member[i - 1]];
    if (hosts == 1)
        snprintf(out, size, "%s", app->rank[*row->member].host ? app->rank[*row->member].host : "?");
    else
        snprintf(out, size, "%zu nodes", hosts);
    return out;
}
