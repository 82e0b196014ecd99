/* Saving of segments, usage and regions in an index. */
#include "trace/why/regions.h"
#include "trace/why/emit.h"
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
        if (place->index >= why->ranks || place->call >= calls || !ana_archive_is_bool(&place->ends))
            return false;
    }
    for (size_t i = 0; i < why->segments.count; i++) {
        const struct ana_segment *s = ana_map_value(&why->segments, i);
        if (s->index >= why->ranks || s->from > why->places.count || s->to > why->places.count || (s->from && !s->to) ||
            !s->count || !ana_archive_is_bool(&s->is_spread) || !s->segment_kind ||
            s->segment_kind > why->segment_kinds.count)
            return false;
    }
    return true;
}

static void archive_counts(struct ana_archive *archive, struct ana_why *why)
{
    struct ana_counts **each = calloc(why->segments.count + 1, sizeof *each);
    archive->failed |= !each;
    for (size_t i = 0; each && i < why->segments.count; i++)
        each[i] = &((struct ana_segment *)ana_map_value(&why->segments, i))->counts;
    if (each)
        ana_counts_archive(archive, each, why->segments.count);
    free(each);
}

void ana_why_archive(struct ana_archive *archive, struct ana_why *why, size_t calls, const struct ana_path_sums *path,
                     const int64_t *saves)
{
    ana_archive_map(archive, &why->places, NULL);
    ana_archive_map(archive, &why->segment_kinds, NULL);
    ana_archive_map(archive, &why->segments, strip_segment);
    if (!ana_archive_require(archive, is_sane(why, calls)))
        return;
    archive_counts(archive, why);
    ana_archive_owned(archive, &why->segments, offsetof(struct ana_segment, usage), sizeof(struct ana_segment_usage),
                      NULL);
    for (size_t i = 0; i < why->ranks && !archive->failed; i++)
        ana_usage_archive(archive, why, i);
    ana_causes_archive(archive, why->causes, why->segments.count, why->places.count, path, saves);
}

void ana_regions_archive(struct ana_archive *archive, struct ana_regions *regions, int64_t until_ns)
{
    struct ana_map sums;
    ana_archive_map(archive, &regions->names, NULL);
    for (size_t i = 0; i < regions->names.count && !archive->failed; i++)
        ana_archive_require(archive,
                            !((struct ana_region_name *)ana_map_value(&regions->names, i))->text[ANA_REGION_NAME - 1]);
    if (archive->loads) {
        ana_archive_map(archive, &regions->sums, NULL);
    } else {
        archive->failed |= !ana_regions_sum(regions, until_ns, &sums);
        ana_archive_map(archive, &sums, NULL);
        ana_map_free(&sums);
    }
    for (size_t i = 0; i < regions->sums.count && archive->loads && !archive->failed; i++)
        ana_archive_require(archive, ((struct ana_region *)ana_map_value(&regions->sums, i))->index < regions->ranks);
    ANA_ARCHIVE(archive, regions->unmatched);
}
