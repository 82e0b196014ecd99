/* Summaries of the program's own regions, joined over all ranks by their names. */
#include "trace/summary/accounts_impl.h"
#include "trace/util/hash.h"
#include "trace/util/sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of(const struct ana_job *job, const struct ana_region *region)
{
    const char *name = trc_region(ana_job_members(job)->process[region->index].rank.file, region->id);
    return name ? name : "(name not kept)";
}

ANA_COMPARE(by_total, struct ana_region_stat, ANA_ORDER(y->total_ns, x->total_ns), strcmp(x->name, y->name))

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
    const struct ana_members *members = ana_job_members(job);
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
    size_t cells = s->region_count * members->count;
    s->regions = calloc(s->region_count + 1, sizeof *s->regions);
    s->region_block = malloc((cells + 1) * sizeof *s->region_block);
    if (!ok || !s->regions || !s->region_block)
        return false;
    for (size_t i = 0; i < cells; i++)
        s->region_block[i] = -1;
    for (size_t i = 0; i < s->region_count; i++)
        s->regions[i] = (struct ana_region_stat){.by_rank_ns = s->region_block + i * members->count, .worst_ns = -1};
    return true;
}

/* Shares a rank's time outside calls out to its regions, by their own time that is not in calls.  account[]: of the
 * calls, then of both; until_ns[]: of each rank, time that was shared out. */
static void add_outside(const struct ana_summary *s, const struct ana_map *sums, struct ana_account *account,
                        int64_t *until_ns, const struct ana_rank_stat *const *stat)
{
    for (size_t i = 0; i < sums->count; i++) {
        const struct ana_region *region = ana_map_value(sums, i);
        const struct ana_account *outside = s->has_accounts ? &stat[region->index]->outside : NULL;
        const int64_t all_ns = outside ? ana_account_total(outside) : 0, from_ns = until_ns[region->index];
        const int64_t own_ns = region->main_ns - ana_account_total(&account[i]);
        const int64_t to_ns = ana_earlier(ana_plus(from_ns, own_ns > 0 ? own_ns : 0), all_ns);
        if (all_ns <= 0 || to_ns <= from_ns)
            continue;
        const struct ana_account part = ana_account_part(outside, from_ns, to_ns, all_ns);
        ana_account_add(&account[i], &part);
        until_ns[region->index] = to_ns;
    }
}

/* Returns the accounts of the sums of regions, for the caller to free.  NULL: out of memory. */
static struct ana_account *cut_regions(const struct ana_job *job, const struct ana_summary *s,
                                       const struct ana_map *sums, const struct ana_site_parts *parts)
{
    const struct ana_members *members = ana_job_members(job);
    static const struct ana_rank_stat none;
    struct ana_account *account = calloc(sums->count + 1, sizeof *account);
    int64_t *until_ns = calloc(members->count + 1, sizeof *until_ns);
    const struct ana_rank_stat **stat = calloc(members->count + 1, sizeof *stat);
    for (size_t i = 0; stat && i < members->count; i++)
        stat[i] = &none;
    for (size_t i = 0; stat && i < s->rank_count; i++)
        stat[s->ranks[i].index] = &s->ranks[i];
    for (size_t i = 0; account && i < parts->n; i++) {
        const struct ana_site_part *part = &parts->part[i];
        const void *sum = part->around ? ana_map_find(sums, part->index, part->around - 1, 0) : NULL;
        if (sum)
            ana_account_add(&account[(const struct ana_region *)sum - (const struct ana_region *)sums->values],
                            &part->account);
    }
    if (account && until_ns && stat)
        add_outside(s, sums, account, until_ns, stat);
    const bool ok = until_ns && stat;
    free(until_ns);
    free(stat);
    if (!ok)
        free(account);
    return ok ? account : NULL;
}

bool ana_summary_regions(const struct ana_job *job, struct ana_summary *s, const struct ana_site_parts *parts)
{
    const struct ana_pass *pass = s->exact ? &ana_job_analysis(job)->pass : &ana_job_range(job)->pass;
    struct ana_map sums;
    int64_t until_ns = ana_merge_position(pass->merge);
    bool ok = ana_regions_sum(&pass->regions, until_ns < s->end_ns ? until_ns : s->end_ns, &sums);
    uint32_t *number = calloc(sums.count + 1, sizeof *number);
    struct ana_account *account = ok ? cut_regions(job, s, &sums, parts) : NULL;
    ok = ok && number && account && make_rows(job, s, &sums, number);
    s->outside_regions = s->account;
    for (size_t i = 0; ok && i < sums.count; i++) {
        const struct ana_region *region = ana_map_value(&sums, i);
        struct ana_region_stat *row = number[i] ? &s->regions[number[i] - 1] : NULL;
        if (!row)
            continue;
        snprintf(row->name, sizeof row->name, "%s", name_of(job, region));
        add_rank(row, region);
        ana_account_add(&row->account, &account[i]);
        for (size_t k = 0; k < ANA_ACCOUNTS; k++)
            s->outside_regions.ns[k] -= account[i].ns[k];
    }
    for (size_t i = 0; ok && i < s->region_count; i++)
        find_worst(&s->regions[i], ana_job_members(job)->count);
    if (ok)
        ana_sort(s->regions, s->region_count, sizeof *s->regions, by_total);
    s->region_unmatched = pass->regions.unmatched;
    free(number);
    free(account);
    ana_map_free(&sums);
    return ok;
}
