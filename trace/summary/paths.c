/* Call paths as a tree: equal names under one parent are one node, on all ranks. */
#include "trace/summary/paths.h"
#include "trace/job/site_words.h"
#include "trace/job/window.h"
#include "trace/summary/summary_impl.h"
#include "trace/util/cxx_name.h"
#include "trace/util/hash.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct making {
    const struct ana_job *job;
    struct ana_map nodes; /* struct ana_path_node by parent and name */
    struct ana_map known; /* uint32_t, leaf + 1, by call and region, and by the sites of its path */
};

/* Returns the number of a node under `parent`; UINT32_MAX: out of memory. */
static uint32_t add_node(struct making *m, uint32_t parent, const struct ana_path_node *like)
{
    const uint64_t hash = ana_hash_text(like->name);
    struct ana_path_node *node = ana_map_find(&m->nodes, parent, hash, like->is_call);
    if (!node) {
        const struct ana_path_node *above = parent < m->nodes.count ? ana_map_value(&m->nodes, parent) : NULL;
        const uint64_t identity = (above ? above->identity * 31 : 0) + hash + 1;
        const uint32_t level = above ? above->level + 1 : 0;
        if (above)
            ((struct ana_path_node *)ana_map_value(&m->nodes, parent))->has_parts = true;
        node = ana_map_make(&m->nodes, parent, hash, like->is_call);
        if (!node)
            return UINT32_MAX;
        *node = *like;
        node->parent = parent;
        node->level = level;
        node->identity = identity;
    }
    return (uint32_t)(node - (struct ana_path_node *)m->nodes.values);
}

/* Names a function on a path: without its name as ana_caller_words.  `around`: the function that it is inlined into, or
 * itself. */
static void name_function(const struct ana_job *job, size_t index, uint64_t site, bool around, char *out, size_t size)
{
    const char *function, *module;
    trc_site(ana_job_members(job)->process[index].rank.file, site, &function, &module);
    if (!around || !function || ana_is_near(function))
        function = ana_site_function(job, index, module, function);
    if (function && !ana_is_near(function))
        snprintf(out, size, "%.*s", (int)trc_cxx_length(function), function);
    else
        ana_caller_words(job, index, site, out, size);
}

/* Names a call with its place. */
static void name_call(const struct ana_job *job, const struct ana_path_part *part, uint64_t site, char *out,
                      size_t size)
{
    struct ana_place_names names = {.address =
                                        trc_site_address(ana_job_members(job)->process[part->index].rank.file, site)};
    char place[80];
    trc_site(ana_job_members(job)->process[part->index].rank.file, site, &names.function, &names.module);
    names.line = ana_site_line(job, part->index, names.module);
    names.function = names.line ? NULL : ana_site_function(job, part->index, names.module, names.function);
    ana_place_words(&names, place, sizeof place);
    snprintf(out, size, "%s %s", ana_job_members(job)->call[part->call].name, place);
}

/* Returns how many callers of a path are shown, down to `place`: from main on, where that is among them. */
static uint32_t count_callers(const struct making *m, size_t index, const struct trc_path *path, uint32_t place)
{
    char name[16];
    for (uint32_t i = path->n; i > place; i--) {
        name_function(m->job, index, path->site[i - 1], true, name, sizeof name);
        if (strcmp(name, "main") == 0)
            return i;
    }
    return path->n;
}

/* Returns the node of a part's calls, with all above it. */
static uint32_t make_leaf(struct making *m, const struct ana_path_part *part)
{
    const struct trc_file *file = ana_job_members(m->job)->process[part->index].rank.file;
    const struct trc_path *path = trc_path_of(file, part->site);
    const uint32_t place = path ? trc_path_place(file, path) : 0;
    struct ana_path_node like = {.is_region = true, .index = part->index};
    uint32_t at = UINT32_MAX;
    const char *region = part->around ? trc_region(file, part->around - 1) : NULL;
    if (region) {
        snprintf(like.name, sizeof like.name, "%s", region);
        at = add_node(m, at, &like);
    }
    like.is_region = false;
    for (uint32_t i = path ? count_callers(m, part->index, path, place) : 0; i > place; i--) {
        char around[sizeof like.name];
        name_function(m->job, part->index, path->site[i - 1], true, like.name, sizeof like.name);
        at = add_node(m, at, &like);
        memcpy(around, like.name, sizeof around);
        name_function(m->job, part->index, path->site[i - 1], false, like.name, sizeof like.name);
        if (strcmp(like.name, around) != 0)
            at = add_node(m, at, &like);
    }
    like.is_call = true;
    name_call(m->job, part, path ? path->site[place] : part->site, like.name, sizeof like.name);
    return add_node(m, at, &like);
}

/* Returns the node of a part's calls: paths of the same places have been seen on other ranks. */
static uint32_t find_leaf(struct making *m, const struct ana_path_part *part)
{
    const struct trc_file *file = ana_job_members(m->job)->process[part->index].rank.file;
    const struct trc_path *path = trc_path_of(file, part->site);
    const char *region = part->around ? trc_region(file, part->around - 1) : NULL;
    uint64_t hash = path ? 0 : ana_site_name(m->job, part->index, part->site, false);
    for (uint32_t i = 0; path && i < path->n; i++)
        hash = hash * 31 + ana_site_name(m->job, part->index, path->site[i], false);
    uint32_t *known = ana_map_add(&m->known, hash, part->call, region ? ana_hash_text(region) : 0);
    if (known && !*known)
        *known = make_leaf(m, part) + 1;
    return known ? *known - 1 : UINT32_MAX;
}

/* Adds a part to its node and all above. */
static void add_up(struct ana_path_node *node, uint32_t at, const struct ana_path_part *part)
{
    for (; at != UINT32_MAX; at = node[at].parent) {
        node[at].time_ns = ana_plus(node[at].time_ns, part->time_ns);
        node[at].waiting_ns = ana_plus(node[at].waiting_ns, part->waiting_ns);
        node[at].calls += part->calls;
        node[at].sent += part->sent;
    }
}

bool ana_paths_make(const struct ana_job *job, const struct ana_summary *s, struct ana_paths *out)
{
    struct making m = {.job = job};
    ana_map_init(&m.nodes, sizeof(struct ana_path_node));
    ana_map_init(&m.known, sizeof(uint32_t));
    *out = (struct ana_paths){.leaf = malloc((s->path_part_count + 1) * sizeof *out->leaf)};
    bool ok = out->leaf;
    for (size_t i = 0; ok && i < s->path_part_count; i++) {
        out->leaf[i] = find_leaf(&m, &s->path_parts[i]);
        ok = out->leaf[i] < m.nodes.count;
        if (ok)
            add_up(m.nodes.values, out->leaf[i], &s->path_parts[i]);
    }
    if (ok) {
        out->count = m.nodes.count;
        out->node = m.nodes.values;
        m.nodes.values = NULL; /* the tree's now */
    } else {
        ana_paths_free(out);
    }
    ana_map_free(&m.nodes);
    ana_map_free(&m.known);
    return ok;
}

void ana_paths_free(struct ana_paths *paths)
{
    free(paths->node);
    free(paths->leaf);
    *paths = (struct ana_paths){0};
}

void ana_path_by_rank(const struct ana_summary *s, const struct ana_paths *paths, size_t node,
                      enum ana_path_measure measure, double *out, size_t ranks)
{
    for (size_t i = 0; i < ranks; i++)
        out[i] = NAN;
    for (size_t i = 0; i < s->path_part_count; i++) {
        const struct ana_path_part *part = &s->path_parts[i];
        uint32_t at = paths->leaf[i];
        while (at != UINT32_MAX && at != node)
            at = paths->node[at].parent;
        if (at != node || part->index >= ranks)
            continue;
        const double value[] = {[ANA_PATH_TIME] = (double)part->time_ns,
                                [ANA_PATH_WAITING] = (double)part->waiting_ns,
                                [ANA_PATH_CALLS] = (double)part->calls,
                                [ANA_PATH_SENT] = (double)part->sent};
        out[part->index] = value[measure] + (isnan(out[part->index]) ? 0 : out[part->index]);
    }
}
