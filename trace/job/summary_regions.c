/* Summaries of the program's own regions, joined over all ranks by their names. */
#include "trace/job/job_impl.h"
#include "trace/util/hash.h"
#include "trace/util/sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of(const struct ana_job *job, const struct ana_region *region)
{
    const char *name = trc_region(job->process[region->index].rank.file, region->id);
    return name ? name : "(name not kept)";
}

static int by_total(const void *a, const void *b)
{
    const struct ana_region_stat *x = a, *y = b;
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void add_rank(struct ana_region_stat *row, const struct ana_region *region)
{
    row->times += region->count;
    row->left += region->left;
    row->ranks += row->by_rank_ns[region->index] < 0;
    row->total_ns = ana_plus(row->total_ns, region->total_ns);
    row->own_ns = ana_plus(row->own_ns, region->own_ns);
    row->mpi_ns = ana_plus(row->mpi_ns, region->mpi_ns);
    int64_t *mine = &row->by_rank_ns[region->index];
    *mine = ana_plus(*mine < 0 ? 0 : *mine, region->total_ns);
    if (region->longest_ns > row->longest_ns)
        row->longest_ns = region->longest_ns;
}

static void find_worst(struct ana_region_stat *row, size_t ranks)
{
    for (size_t i = 0; i < ranks; i++)
        if (row->by_rank_ns[i] > row->worst_ns) {
            row->worst_ns = row->by_rank_ns[i];
            row->worst_index = i;
        }
}

/* Makes a row for each name; `number` gets the row of each sum, + 1, 0: not in view.  False: out of memory. */
static bool make_rows(const struct ana_job *job, struct ana_summary *s, const struct ana_map *sums, uint32_t *number)
{
    struct ana_map names; /* uint32_t, number of the row + 1, by hash of the name */
    bool ok = true;
    ana_map_init(&names, sizeof(uint32_t));
    for (size_t i = 0; ok && i < sums->count; i++) {
        const struct ana_region *region = ana_map_value(sums, i);
        if (!ana_selected(s->selection.ranks, region->index))
            continue;
        uint32_t *row = ana_map_add(&names, ana_hash_text(name_of(job, region)), 0, 0);
        ok = row;
        if (ok && !*row)
            *row = (uint32_t)++s->region_count;
        number[i] = ok ? *row : 0;
    }
    ana_map_free(&names);
    size_t cells = s->region_count * job->count;
    s->regions = calloc(s->region_count + 1, sizeof *s->regions);
    s->region_block = malloc((cells + 1) * sizeof *s->region_block);
    if (!ok || !s->regions || !s->region_block)
        return false;
    for (size_t i = 0; i < cells; i++)
        s->region_block[i] = -1;
    for (size_t i = 0; i < s->region_count; i++)
        s->regions[i] = (struct ana_region_stat){.by_rank_ns = s->region_block + i * job->count, .worst_ns = -1};
    return true;
}

bool ana_summary_regions(const struct ana_job *job, struct ana_summary *s, const struct ana_pass *pass)
{
    struct ana_map sums;
    int64_t until_ns = ana_merge_position(pass->merge);
    bool ok = ana_regions_sum(&pass->regions, until_ns < s->end_ns ? until_ns : s->end_ns, &sums);
    uint32_t *number = calloc(sums.count + 1, sizeof *number);
    ok = ok && number && make_rows(job, s, &sums, number);
    for (size_t i = 0; ok && i < sums.count; i++) {
        const struct ana_region *region = ana_map_value(&sums, i);
        struct ana_region_stat *row = number[i] ? &s->regions[number[i] - 1] : NULL;
        if (!row)
            continue;
        snprintf(row->name, sizeof row->name, "%s", name_of(job, region));
        add_rank(row, region);
    }
    for (size_t i = 0; ok && i < s->region_count; i++)
        find_worst(&s->regions[i], job->count);
    if (ok)
        ana_sort(s->regions, s->region_count, sizeof *s->regions, by_total);
    s->region_unmatched = pass->regions.unmatched;
    free(number);
    ana_map_free(&sums);
    return ok;
}
