/* Saving of segments, usage and regions beside the trace. */
#include "trace/why/regions.h"
#include "trace/why/tell.h"
#include <stdlib.h>

static void strip_segment(void *row)
{
    struct ana_segment *segment = row;
    segment->counts = (struct ana_counts){0};
    segment->usage = NULL;
}

/* Whether what segments and places say of each other can be so. */
static bool is_sane(const struct ana_why *why, size_t calls)
{
    for (size_t i = 0; i < why->places.count; i++) {
        const struct ana_why_place *place = ana_map_value(&why->places, i);
        if (place->index >= why->ranks || place->call >= calls || !ana_keep_is_bool(&place->ends))
            return false;
    }
    for (size_t i = 0; i < why->segments.count; i++) {
        const struct ana_segment *s = ana_map_value(&why->segments, i);
        if (s->index >= why->ranks || s->from > why->places.count || s->to > why->places.count || (s->from && !s->to) ||
            !s->count || !ana_keep_is_bool(&s->is_spread) || !s->stretch || s->stretch > why->stretches.count)
            return false;
    }
    return true;
}

static void keep_counts(struct ana_keep *keep, struct ana_why *why)
{
    struct ana_counts **each = calloc(why->segments.count + 1, sizeof *each);
    keep->failed |= !each;
    for (size_t i = 0; each && i < why->segments.count; i++)
        each[i] = &((struct ana_segment *)ana_map_value(&why->segments, i))->counts;
    if (each)
        ana_counts_keep(keep, each, why->segments.count);
    free(each);
}

void ana_why_keep(struct ana_keep *keep, struct ana_why *why, size_t calls, const struct ana_path_sums *path,
                  const int64_t *saves)
{
    ana_keep_map(keep, &why->places, NULL);
    ana_keep_map(keep, &why->stretches, NULL);
    ana_keep_map(keep, &why->segments, strip_segment);
    if (!ana_keep_holds(keep, is_sane(why, calls)))
        return;
    keep_counts(keep, why);
    ana_keep_owned(keep, &why->segments, offsetof(struct ana_segment, usage), sizeof(struct ana_segment_usage), NULL);
    for (size_t i = 0; i < why->ranks && !keep->failed; i++)
        ana_usage_keep(keep, why, i);
    ana_causes_keep(keep, why->causes, why->segments.count, why->places.count, path, saves);
}

void ana_regions_keep(struct ana_keep *keep, struct ana_regions *regions, int64_t until_ns)
{
    struct ana_map sums;
    ana_keep_map(keep, &regions->names, NULL);
    for (size_t i = 0; i < regions->names.count && !keep->failed; i++)
        ana_keep_holds(keep, !((struct ana_region_name *)ana_map_value(&regions->names, i))->text[ANA_REGION_NAME - 1]);
    if (keep->loads) {
        ana_keep_map(keep, &regions->sums, NULL);
    } else {
        keep->failed |= !ana_regions_sum(regions, until_ns, &sums);
        ana_keep_map(keep, &sums, NULL);
        ana_map_free(&sums);
    }
    for (size_t i = 0; i < regions->sums.count && keep->loads && !keep->failed; i++)
        ana_keep_holds(keep, ((struct ana_region *)ana_map_value(&regions->sums, i))->index < regions->ranks);
    ANA_KEEP(keep, regions->unmatched);
}
