/* The choice of what to take out of the run; see scenario.h. */
#include "trace/cause/scenario.h"
#include "trace/util/trouble.h"
#include "trace/cause/path.h"
#include "trace/util/times.h"
#include "trace/util/sort.h"
#include <stdlib.h>
#include <string.h>

#define LONGER 1.15 /* factor over the others: smaller differences come from histogram buckets */
#define KEPT   1.5  /* factor by which a new choice must cost more than the earlier one it replaces */

/* A segment kind, over all ranks. */
struct rival {
    uint32_t what; /* number of the segment kind, or of the place, + 1 */
    int64_t cost_ns;
    int64_t worst_ns; /* the most that one rank costs */
};

static int64_t cost_of(const struct ana_cause_segment *segment)
{
    return ana_plus(segment->cost.direct_ns, segment->cost.passed_ns);
}

ANA_COMPARE(by_cost, struct rival, ANA_ORDER(y->cost_ns, x->cost_ns), ANA_ORDER(x->what, y->what))

/* ---- slots ------------------------------------------------------------------------------------------------------ */

/* Makes the calls of a place take no time in a scenario, 0: in none of its own. */
static void set_scenario(struct ana_cause_place *place, uint32_t scenario)
{
    place->scenario = (uint8_t)scenario;
    place->calls = (ana_pair){scenario == ANA_SCENARIO_CALLS, scenario == ANA_SCENARIO_CALLS + 1};
}

/* Copies the lead of another scenario into one, before more is taken out there; of itself: sets it to zero. */
static void set_ahead(struct ana_causes *causes, uint32_t scenario, uint32_t like)
{
    struct ana_replay *replay = causes->replay;
    for (size_t i = 0; i < causes->ranks; i++) {
        ana_ahead_set(&replay->rank[i].now, scenario, like);
        const struct ana_replay_rank *rank = &replay->rank[i];
        for (uint32_t s = 0; rank->ahead_of && s < causes->room; s++)
            if (rank->ahead_of[s])
                ana_ahead_set(&rank->ahead[rank->ahead_of[s] - 1], scenario, like);
    }
    for (uint32_t m = 0; m < replay->meeting_room; m++)
        ana_ahead_set(&replay->meeting[m].last, scenario, like);
}

/* Clears a scenario before it is used for something else. */
static void clear_scenario(struct ana_causes *causes, uint32_t scenario)
{
    struct ana_replay *replay = causes->replay;
    set_ahead(causes, scenario, scenario);
    for (size_t i = 0; i < replay->segments; i++)
        replay->segment[i] = replay->segment[i] == scenario ? 0 : replay->segment[i];
    for (size_t i = 0; i < causes->places; i++)
        if (causes->place[i].scenario == scenario)
            set_scenario(&causes->place[i], 0);
}

/* Returns the scenario of a rival, one of first .. end - 1: its own, a free one, or the scenario of a rival which costs
 * far less.  0: none. */
static uint32_t scenario_for(struct ana_causes *causes, const struct rival *rival, uint32_t first, uint32_t end)
{
    struct ana_scenario *scenario = causes->replay->scenario;
    uint32_t least = first;
    for (uint32_t s = first; s < end; s++)
        if (scenario[s].what == rival->what)
            return s;
    for (uint32_t s = first; s < end; s++)
        if (!scenario[s].what || scenario[s].weight < scenario[least].weight)
            least = s;

    if (scenario[least].what) {
        if ((double)rival->cost_ns < KEPT * (double)scenario[least].weight)
            return 0;
        clear_scenario(causes, least);
    }
    return least;
}

/* ---- segments --------------------------------------------------------------------------------------------------- */

/* Source of segment times. */
struct usual {
    ana_usual_time *time;
    const void *of;
};

/* Lists the times of a segment kind's segments in `room`: of all (scenario UINT32_MAX), or of segments in a scenario,
 * 0: in none.  Returns their number. */
static size_t list_times(const struct ana_causes *causes, uint32_t segment_kind, uint32_t scenario,
                         const struct usual *take, double *room)
{
    size_t n = 0;
    for (size_t i = 0; i < causes->segments; i++)
        if (causes->segment[i].segment_kind == segment_kind &&
            (scenario == UINT32_MAX || causes->replay->segment[i] == scenario))
            room[n++] = take->time(take->of, (uint32_t)i + 1);
    return n;
}

/* Lists the times of other segment kinds that begin where this one does. */
static size_t list_siblings(const struct ana_causes *causes, uint32_t segment_kind, const struct usual *take,
                            double *room)
{
    uint32_t from = 0;
    size_t n = 0;
    for (size_t i = 0; i < causes->segments && !from; i++)
        from = causes->segment[i].segment_kind == segment_kind ? causes->segment[i].from : 0;
    for (size_t i = 0; i < causes->segments && from; i++)
        if (causes->segment[i].from == from && causes->segment[i].segment_kind != segment_kind)
            room[n++] = take->time(take->of, (uint32_t)i + 1);
    return n;
}

/* Puts the late ranks of a segment kind into a scenario: first the ranks that cost about as much as the worst one, then
 * ranks that take about as much longer than the others as it does: waits for several late ranks are charged to one. */
static void choose_late(struct ana_causes *causes, uint32_t scenario, const struct rival *rival,
                        const struct usual *take, double *room)
{
    double worst = 0;
    for (size_t i = 0; i < causes->segments; i++) {
        const struct ana_cause_segment *segment = &causes->segment[i];
        if (segment->segment_kind != rival->what)
            continue;
        bool late = (double)cost_of(segment) >= LATE_ALIKE * (double)rival->worst_ns;
        causes->replay->segment[i] = late ? (uint8_t)scenario : 0; /* a segment kind has one scenario */
        worst = cost_of(segment) == rival->worst_ns ? take->time(take->of, (uint32_t)i + 1) : worst;
    }
    const size_t others = list_times(causes, rival->what, 0, take, room);
    const double usual = others ? ana_median(room, others) : worst;
    for (size_t i = 0; i < causes->segments && worst > LONGER * usual; i++)
        if (causes->segment[i].segment_kind == rival->what &&
            take->time(take->of, (uint32_t)i + 1) - usual >= LATE_ALIKE * (worst - usual))
            causes->replay->segment[i] = (uint8_t)scenario;
}

/* Chooses the ranks of a segment kind, and the time that they would take: the median of the others; if there are none,
 * of themselves; of a rank that is alone, of its other segments after the same call, or no time.  `room` is for a
 * number a segment. */
static void choose_ranks(struct ana_causes *causes, uint32_t scenario, const struct rival *rival,
                         const struct usual *take, double *room)
{
    choose_late(causes, scenario, rival, take, room);
    size_t n = list_times(causes, rival->what, 0, take, room);
    bool siblings = n == 0 && (n = list_times(causes, rival->what, UINT32_MAX, take, room)) == 1;
    if (siblings)
        n = list_siblings(causes, rival->what, take, room);
    const int64_t usual_ns = n ? ana_rounded(ana_median(room, n)) : 0;
    struct ana_scenario *of = &causes->replay->scenario[scenario];
    *of = (struct ana_scenario){rival->what, siblings, of->then && of->what == rival->what, usual_ns, rival->cost_ns};
}

/* Adds to ANA_SCENARIO_SECOND the late ranks of the segment kind in `first` and the next ranks: the rank with the
 * largest excess over the rest, and all ranks with about the same excess. */
static void choose_second(struct ana_causes *causes, uint32_t first, uint32_t what, const struct usual *take,
                          double *room)
{
    struct ana_scenario *scenario = causes->replay->scenario, *second = &scenario[ANA_SCENARIO_SECOND];
    if (second->what != what || !scenario[first].then) {
        clear_scenario(causes, ANA_SCENARIO_SECOND);
        set_ahead(causes, ANA_SCENARIO_SECOND, first);
    }
    const size_t n = list_times(causes, what, 0, take, room);
    const double usual = ana_median(room, n), worst = n ? room[n - 1] : 0;
    *second = (struct ana_scenario){.what = what, .usual_ns = n ? ana_rounded(usual) : 0};
    for (uint32_t s = 1; s < ANA_SCENARIO_SECOND; s++)
        scenario[s].then = s == first;
    for (size_t i = 0; worst > LONGER * usual && i < causes->segments; i++)
        if (causes->segment[i].segment_kind == what && !causes->replay->segment[i] &&
            take->time(take->of, (uint32_t)i + 1) - usual >= LATE_ALIKE * (worst - usual))
            causes->replay->segment[i] = ANA_SCENARIO_SECOND;
}

/* Makes room for the scenario of each segment that there is now.  False: out of memory. */
static bool room_for_segments(struct ana_causes *causes)
{
    struct ana_replay *replay = causes->replay;
    uint8_t *moved = realloc(replay->segment, causes->segments + 1);
    if (!moved)
        return false;
    memset(moved + replay->segments, 0, causes->segments - replay->segments);
    replay->segment = moved;
    replay->segments = causes->segments;
    return true;
}

static void choose_segments(struct ana_causes *causes, const struct usual *take)
{
    if (!room_for_segments(causes))
        return;
    size_t segment_kinds = causes->segment_kinds;
    struct rival *rival = calloc(segment_kinds + 1, sizeof *rival);
    double *room = malloc((2 * causes->segments + 1) * sizeof *room);
    for (size_t i = 0; rival && room && i < causes->segments; i++) {
        const struct ana_cause_segment *segment = &causes->segment[i];
        if (!segment->segment_kind)
            continue; /* memory ran out before it was emitted */
        struct rival *of = &rival[segment->segment_kind - 1];
        int64_t cost_ns = segment->from ? cost_of(segment) : 0;
        of->what = segment->segment_kind;
        of->cost_ns = ana_plus(of->cost_ns, cost_ns);
        of->worst_ns = cost_ns > of->worst_ns ? cost_ns : of->worst_ns;
    }
    if (rival && room)
        ana_sort(rival, segment_kinds, sizeof *rival, by_cost);
    for (size_t i = 0; rival && room && i < segment_kinds && i + 1 < ANA_SCENARIO_SECOND && rival[i].cost_ns > 0; i++) {
        uint32_t scenario = scenario_for(causes, &rival[i], 1, ANA_SCENARIO_SECOND);
        if (scenario)
            choose_ranks(causes, scenario, &rival[i], take, room);
        if (scenario && i == 0)
            choose_second(causes, scenario, rival[i].what, take, room);
    }
    free(rival);
    free(room);
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* Chooses places by their time on the path so far, as if the run ended here. */
static void choose_calls(struct ana_causes *causes)
{
    struct ana_path_end *end = calloc(causes->ranks + 1, sizeof *end);
    struct ana_path_sums sums;
    for (size_t i = 0; end && i < causes->ranks; i++)
        end[i] = (struct ana_path_end){INT64_MIN, true};
    if (!end || !ana_path_decode(causes, end, 0, 0, &sums)) {
        free(end);
        return;
    }
    struct rival *rival = calloc(causes->places + 1, sizeof *rival);
    size_t n = 0;
    for (size_t i = 0; rival && i < causes->places; i++) {
        if (!causes->place[i].edge && sums.place[i] > 0)
            rival[n++] = (struct rival){(uint32_t)i + 1, sums.place[i], 0};
    }
    if (rival)
        ana_sort(rival, n, sizeof *rival, by_cost);
    for (size_t i = 0; i < n && i < ANA_SCENARIOS - ANA_SCENARIO_CALLS; i++) {
        uint32_t scenario = scenario_for(causes, &rival[i], ANA_SCENARIO_CALLS, ANA_SCENARIOS);
        if (!scenario)
            continue;
        causes->replay->scenario[scenario] = (struct ana_scenario){.what = rival[i].what, .weight = rival[i].cost_ns};
        set_scenario(&causes->place[rival[i].what - 1], scenario);
    }
    ana_path_sums_free(&sums);
    free(rival);
    free(end);
}

void ana_scenarios_choose(struct ana_causes *causes, int64_t now_ns, ana_usual_time *time, const void *of)
{
    ana_causes_follow(causes, now_ns);
    choose_segments(causes, &(struct usual){time, of});
    choose_calls(causes);
}
