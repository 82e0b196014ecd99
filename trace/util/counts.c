#include "trace/util/counts.h"
#include "trace/util/archive.h"
#include "trace/util/times.h"
#include <stdlib.h>
#include <string.h>

#define OCTAVE 8u /* buckets */

void ana_counts_free(struct ana_counts *counts)
{
    free(counts->count);
    *counts = (struct ana_counts){0};
}

uint32_t *ana_counts_room(struct ana_counts *counts, uint32_t bucket)
{
    uint32_t first = bucket / OCTAVE * OCTAVE, end = first + OCTAVE, before = 0;
    if (counts->n) {
        before = counts->first > first ? counts->first - first : 0;
        first = counts->first - before;
        end = end > (uint32_t)counts->first + counts->n ? end : (uint32_t)counts->first + counts->n;
    }
    uint32_t *count = realloc(counts->count, (end - first) * sizeof *count);
    if (!count)
        return NULL;
    uint32_t behind = before + counts->n;
    memmove(count + before, count, counts->n * sizeof *count);
    memset(count, 0, before * sizeof *count);
    memset(count + behind, 0, (end - first - behind) * sizeof *count);
    *counts = (struct ana_counts){count, (uint16_t)first, (uint16_t)(end - first)};
    return &count[bucket - first];
}

bool ana_counts_set(struct ana_counts *counts, const uint32_t *all)
{
    uint32_t low = 0, high = TRC_HISTOGRAM_BUCKETS;
    while (low < high && !all[low])
        low++;
    while (high > low && !all[high - 1])
        high--;
    if (low < high && (low < counts->first || high > (uint32_t)counts->first + counts->n)) {
        ana_counts_free(counts);
        if (!ana_counts_room(counts, low) || !ana_counts_room(counts, high - 1))
            return false;
    }
    if (counts->n)
        memcpy(counts->count, all + counts->first, counts->n * sizeof *all);
    return true;
}

void ana_counts_add_to(const struct ana_counts *counts, uint32_t *to)
{
    for (uint32_t i = 0; i < counts->n; i++) {
        uint64_t sum = (uint64_t)to[counts->first + i] + counts->count[i];
        to[counts->first + i] = sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
    }
}

double ana_counts_percentile(const struct ana_counts *counts, double share)
{
    return ana_bucket_percentile(counts->count, counts->first, counts->n, share);
}

/* Place of each histogram. */
struct range {
    uint16_t first, n;
};

void ana_counts_archive(struct ana_archive *archive, struct ana_counts *const *each, size_t n)
{
    struct range *range = calloc(n + 1, sizeof *range);
    size_t all = 0;
    archive->failed |= !range;
    for (size_t i = 0; range && i < n; i++)
        range[i] = (struct range){each[i]->first, each[i]->n};
    if (range)
        ana_archive_rows(archive, range, n, sizeof *range, NULL);
    for (size_t i = 0; i < n && !archive->failed; i++) {
        if (!ana_archive_require(archive, (uint32_t)range[i].first + range[i].n <= TRC_HISTOGRAM_BUCKETS))
            break;
        all += range[i].n;
    }
    ana_archive_charge(archive, all, sizeof(uint32_t)); /* ranges are charged when they are filled in */
    uint32_t *rows = archive->failed ? NULL : malloc((all + 1) * sizeof *rows), *row = rows;
    archive->failed |= !rows;
    for (size_t i = 0; rows && !archive->loads && i < n; row += each[i++]->n)
        if (each[i]->n)
            memcpy(row, each[i]->count, each[i]->n * sizeof *row);
    if (rows)
        ana_archive_rows(archive, rows, all, sizeof *rows, NULL);
    for (size_t i = 0; archive->loads && !archive->failed && i < n; row += range[i++].n) {
        if (!range[i].n)
            continue;
        each[i]->count = malloc(range[i].n * sizeof *row);
        if ((archive->failed |= !each[i]->count))
            break;
        memcpy(each[i]->count, row, range[i].n * sizeof *row);
        each[i]->first = range[i].first;
        each[i]->n = range[i].n;
    }
    free(rows);
    free(range);
}
