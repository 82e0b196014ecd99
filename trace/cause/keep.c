/* Results to be kept beside the trace: costs, the whole path, time that mending something would save. */
#include "trace/cause/path.h"
#include "trace/cause/replay.h"
#include <stdlib.h>

static void keep_path(struct ana_keep *keep, struct ana_path_sums *sums, size_t segments, size_t places)
{
    void *segment = sums->segment, *place = sums->place;
    ana_keep_array(keep, &segment, &sums->segments, sizeof *sums->segment, segments);
    ana_keep_array(keep, &place, &sums->places, sizeof *sums->place, places);
    sums->segment = segment;
    sums->place = place;
    ANA_KEEP(keep, sums->ends_ns);
    ANA_KEEP(keep, sums->unknown_ns);
    ANA_KEEP(keep, sums->begin_ns);
    ana_keep_holds(keep, sums->begin_ns == INT64_MAX || (sums->segments == segments && sums->places == places));
}

static void keep_shadows(struct ana_keep *keep, struct ana_causes *causes, size_t places)
{
    struct ana_replay *replay = causes->replay;
    ANA_KEEP(keep, replay->shadow);
    void *segment = replay->segment;
    if (keep->loads)
        free(segment);
    ana_keep_array(keep, &segment, &replay->segments, 1, causes->segments);
    replay->segment = segment;
    for (size_t i = 0; i < replay->segments && !keep->failed; i++)
        ana_keep_holds(keep, replay->segment[i] < ANA_SHADOW_CALLS);
    for (size_t i = 0; i < ANA_SHADOWS; i++)
        ana_keep_holds(keep, ana_keep_is_bool(&replay->shadow[i].siblings) &&
                                 ana_keep_is_bool(&replay->shadow[i].then) &&
                                 (i < ANA_SHADOW_CALLS || replay->shadow[i].what <= places));
}

/* Clears the state that only further waits would need. */
static void clear_late(struct ana_cost *cost)
{
    cost->late = 0;
    cost->late_ns = 0;
}

void ana_causes_keep(struct ana_keep *keep, struct ana_causes *causes, size_t segments, size_t places,
                     const struct ana_path_sums *path, const int64_t *saves)
{
    void *segment = causes->segment;
    for (size_t i = 0; i < causes->segments; i++)
        clear_late(&causes->segment[i].cost);
    ana_keep_array(keep, &segment, &causes->segments, sizeof *causes->segment, segments);
    causes->segment = segment;
    causes->segment_room = keep->loads ? causes->segments : causes->segment_room;
    for (size_t i = 0; i < causes->ranks && !keep->failed; i++) {
        clear_late(&causes->apart[i].inside);
        clear_late(&causes->apart[i].unknown);
        ANA_KEEP(keep, causes->apart[i].inside);
        ANA_KEEP(keep, causes->apart[i].unknown);
    }
    ANA_KEEP(keep, causes->waited_ns);
    keep_shadows(keep, causes, places);
    struct ana_path_sums *sums = &causes->path->sums, whole = {0};
    if (keep->loads)
        ana_path_sums_free(sums);
    else
        whole = *path; /* `path` has room for more */
    if (!keep->loads && whole.begin_ns != INT64_MAX) {
        keep->failed |= whole.segments < segments || whole.places < places;
        whole.segments = segments;
        whole.places = places;
    }
    keep_path(keep, keep->loads ? sums : &whole, segments, places);
    for (size_t i = 0; i < ANA_SHADOWS; i++) {
        int64_t ns = keep->loads ? 0 : saves[i];
        ANA_KEEP(keep, ns);
        causes->replay->saves[i] = ns;
    }
    causes->closed |= keep->loads && !keep->failed;
}
