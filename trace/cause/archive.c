/* Results to be kept in an index: costs, the whole path, time that mending something would save. */
#include "trace/cause/path.h"
#include "trace/cause/replay.h"
#include <stdlib.h>

static void archive_path(struct ana_archive *archive, struct ana_path_sums *sums, size_t segments, size_t places)
{
    void *segment = sums->segment, *place = sums->place;
    ana_archive_array(archive, &segment, &sums->segments, sizeof *sums->segment, segments);
    ana_archive_array(archive, &place, &sums->places, sizeof *sums->place, places);
    sums->segment = segment;
    sums->place = place;
    ANA_ARCHIVE(archive, sums->ends_ns);
    ANA_ARCHIVE(archive, sums->unknown_ns);
    ANA_ARCHIVE(archive, sums->begin_ns);
    ana_archive_require(archive, sums->begin_ns == INT64_MAX || (sums->segments == segments && sums->places == places));
}

static void archive_scenarios(struct ana_archive *archive, struct ana_causes *causes, size_t places)
{
    struct ana_replay *replay = causes->replay;
    ANA_ARCHIVE(archive, replay->scenario);
    void *segment = replay->segment;
    if (archive->loads)
        free(segment);
    ana_archive_array(archive, &segment, &replay->segments, 1, causes->segments);
    replay->segment = segment;
    for (size_t i = 0; i < replay->segments && !archive->failed; i++)
        ana_archive_require(archive, replay->segment[i] < ANA_SCENARIO_CALLS);
    for (size_t i = 0; i < ANA_SCENARIOS; i++)
        ana_archive_require(archive, ana_archive_is_bool(&replay->scenario[i].siblings) &&
                                         ana_archive_is_bool(&replay->scenario[i].then) &&
                                         (i < ANA_SCENARIO_CALLS || replay->scenario[i].what <= places));
}

/* Clears the state that only further waits would need. */
static void clear_late(struct ana_cost *cost)
{
    cost->late = 0;
    cost->late_ns = 0;
}

void ana_causes_archive(struct ana_archive *archive, struct ana_causes *causes, size_t segments, size_t places,
                        const struct ana_path_sums *path, const int64_t *saves)
{
    void *segment = causes->segment;
    for (size_t i = 0; i < causes->segments; i++)
        clear_late(&causes->segment[i].cost);
    ana_archive_array(archive, &segment, &causes->segments, sizeof *causes->segment, segments);
    causes->segment = segment;
    causes->segment_room = archive->loads ? causes->segments : causes->segment_room;
    for (size_t i = 0; i < causes->ranks && !archive->failed; i++) {
        clear_late(&causes->rank_cost[i].inside);
        clear_late(&causes->rank_cost[i].unknown);
        ANA_ARCHIVE(archive, causes->rank_cost[i].inside);
        ANA_ARCHIVE(archive, causes->rank_cost[i].unknown);
    }
    ANA_ARCHIVE(archive, causes->waited_ns);
    archive_scenarios(archive, causes, places);
    struct ana_path_sums *sums = &causes->path->sums, whole = {0};
    if (archive->loads)
        ana_path_sums_free(sums);
    else
        whole = *path; /* `path` has room for more */
    if (!archive->loads && whole.begin_ns != INT64_MAX) {
        archive->failed |= whole.segments < segments || whole.places < places;
        whole.segments = segments;
        whole.places = places;
    }
    archive_path(archive, archive->loads ? sums : &whole, segments, places);
    for (size_t i = 0; i < ANA_SCENARIOS; i++) {
        int64_t ns = archive->loads ? 0 : saves[i];
        ANA_ARCHIVE(archive, ns);
        causes->replay->saves[i] = ns;
    }
    causes->closed |= archive->loads && !archive->failed;
}
