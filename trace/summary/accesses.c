/* Files in a summary: what all ranks did with each. */
#include "trace/summary/files.h"
#include "trace/summary/summary_impl.h"
#include "trace/util/sort.h"
#include <math.h>
#include <stdlib.h>

static double rate_of(uint64_t bytes, int64_t ns, uint64_t begun)
{
    return bytes && ns > 0 && !begun ? (double)bytes / ((double)ns / 1e9) : NAN;
}

/* The size class that half of the accesses do not exceed; -1: there are none. */
static int median_class(const uint64_t *size)
{
    uint64_t all = 0, so_far = 0;
    for (uint32_t i = 0; i < ANA_ACCESS_SIZES; i++)
        all += size[i];
    for (uint32_t i = 0; i < ANA_ACCESS_SIZES; i++)
        if ((so_far += size[i]) * 2 >= all && all)
            return (int)i;
    return -1;
}

static void add_way(struct ana_file_way *to, const struct ana_access_way *from)
{
    to->calls += from->calls;
    to->bytes += from->bytes;
    to->ns = ana_plus(to->ns, from->ns);
    to->begun += from->begun;
    for (uint32_t i = 0; i < ANA_ACCESS_SIZES; i++)
        to->size[i] += from->size[i];
}

ANA_COMPARE(by_time, struct ana_file_stat, ANA_ORDER(y->time_ns, x->time_ns),
            ANA_ORDER(y->write.bytes + y->read.bytes, x->write.bytes + x->read.bytes))

bool ana_summary_accesses(struct ana_summary *s, const struct ana_accesses *accesses)
{
    struct ana_map place; /* number of the row, + 1, by hash of the name */
    ana_map_init(&place, sizeof(size_t));
    s->files = calloc(accesses->of.count + 1, sizeof *s->files);
    bool ok = s->files != NULL;
    for (size_t i = 0; ok && i < accesses->of.count; i++) {
        const struct ana_access_sum *sum = ana_map_value(&accesses->of, i);
        bool nothing = !sum->name && !sum->read.calls && !sum->write.calls;
        if (nothing || !ana_selected(s->selection.ranks, sum->index))
            continue;
        size_t *at = ana_map_add(&place, ana_map_key(&accesses->of, i)[0], 0, 0);
        ok = at != NULL;
        if (!ok)
            break;
        if (!*at)
            *at = ++s->file_count;
        struct ana_file_stat *row = &s->files[*at - 1];
        int64_t ns = ana_plus(sum->other_ns, ana_plus(sum->read.ns, sum->write.ns));
        if (!row->ranks || ns > row->slowest_ns) {
            row->slowest_index = sum->index;
            row->slowest_ns = ns;
        }
        row->name = sum->name;
        row->ranks++;
        row->opens += sum->opens;
        row->time_ns = ana_plus(row->time_ns, ns);
        add_way(&row->read, &sum->read);
        add_way(&row->write, &sum->write);
    }
    ana_map_free(&place);
    for (size_t i = 0; ok && i < s->file_count; i++) {
        struct ana_file_stat *row = &s->files[i];
        struct ana_file_way *ways[] = {&row->read, &row->write};
        for (int w = 0; w < 2; w++) {
            ways[w]->bandwidth = rate_of(ways[w]->bytes, ways[w]->ns, ways[w]->begun);
            ways[w]->median_class = median_class(ways[w]->size);
        }
    }
    if (ok)
        ana_sort(s->files, s->file_count, sizeof *s->files, by_time);
    return ok;
}
