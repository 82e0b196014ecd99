/* The choice of what to take out of the run; see shadow.h. */
#include "trace/cause/shadow.h"
#include "trace/util/trouble.h"
#include "trace/cause/path.h"
#include "trace/util/times.h"
#include "trace/util/sort.h"
#include <stdlib.h>
#include <string.h>

#define KEPT 1.5 /* how much more another must cost to take the place of one that was chosen before */

/* A stretch, over all ranks. */
struct rival {
    uint32_t what; /* number of the stretch, or of the place, + 1 */
    int64_t cost_ns;
    int64_t worst_ns; /* the most that one rank costs */
};

static int64_t cost_of(const struct ana_cause_segment *segment)
{
    return ana_plus(segment->cost.direct_ns, segment->cost.passed_ns);
}

static int by_cost(const void *a, const void *b)
{
    const struct rival *x = a, *y = b;
    if (x->cost_ns != y->cost_ns)
        return x->cost_ns > y->cost_ns ? -1 : 1;
    return (x->what > y->what) - (x->what < y->what);
}

/* ---- slots ------------------------------------------------------------------------------------------------------ */

/* Has the calls of a place take no time in a shadow, 0: in none of its own. */
static void set_shadow(struct ana_cause_place *place, uint32_t shadow)
{
    place->shadow = (uint8_t)shadow;
    place->calls = (ana_pair){shadow == ANA_SHADOW_CALLS, shadow == ANA_SHADOW_CALLS + 1};
}

/* Forgets how far ahead a shadow was, before it becomes another's. */
static void clear_shadow(struct ana_causes *causes, uint32_t shadow)
{
    struct ana_replay *replay = causes->replay;
    for (size_t i = 0; i < causes->ranks; i++) {
        ana_ahead_clear(&replay->rank[i].now, shadow);
        const struct ana_replay_rank *rank = &replay->rank[i];
        for (uint32_t s = 0; rank->ahead_of && s < causes->room; s++)
            if (rank->ahead_of[s])
                ana_ahead_clear(&rank->ahead[rank->ahead_of[s] - 1], shadow);
    }
    for (uint32_t m = 0; m < replay->meeting_room; m++)
        ana_ahead_clear(&replay->meeting[m].last, shadow);
    for (size_t i = 0; i < replay->segments; i++)
        replay->segment[i] = replay->segment[i] == shadow ? 0 : replay->segment[i];
    for (size_t i = 0; i < causes->places; i++)
        if (causes->place[i].shadow == shadow)
            set_shadow(&causes->place[i], 0);
}

/* The shadow of a rival, one of first .. end - 1: its own, a free one, or that of one which costs far less.  0:
 * none. */
static uint32_t shadow_for(struct ana_causes *causes, const struct rival *rival, uint32_t first, uint32_t end)
{
    struct ana_shadow *shadow = causes->replay->shadow;
    uint32_t least = first;
    for (uint32_t s = first; s < end; s++)
        if (shadow[s].what == rival->what)
            return s;
    for (uint32_t s = first; s < end; s++)
        if (!shadow[s].what || shadow[s].weight < shadow[least].weight)
            least = s;

    if (shadow[least].what) {
        if ((double)rival->cost_ns < KEPT * (double)shadow[least].weight)
            return 0;
        clear_shadow(causes, least);
    }
    return least;
}

/* ---- segments --------------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The lower median of numbers, which it sorts. */
static double median_of(double *number, size_t n)
{
    ana_sort(number, n, sizeof *number, by_number);
    return number[(n - 1) / 2];
}

/* How long segments take. */
struct usual {
    ana_usual_time *time;
    const void *of;
};

/* Chooses the ranks of a stretch, and what they would take; `room` is for a number a segment. */
static void choose_ranks(struct ana_causes *causes, uint32_t shadow, const struct rival *rival,
                         const struct usual *take, double *room)
{
    size_t others = 0, own = 0, alike = 0;
    uint32_t from = 0;
    for (size_t i = 0; i < causes->segments; i++) {
        const struct ana_cause_segment *segment = &causes->segment[i];
        if (segment->stretch != rival->what)
            continue;
        from = segment->from;
        bool late = (double)cost_of(segment) >= LATE_ALIKE * (double)rival->worst_ns;
        causes->replay->segment[i] = late ? (uint8_t)shadow : 0; /* a stretch has one shadow */
        if (!late)
            room[others++] = take->time(take->of, (uint32_t)i + 1);
    }
    for (size_t i = 0; others == 0 && i < causes->segments; i++) {
        const struct ana_cause_segment *segment = &causes->segment[i];
        if (segment->from == from && segment->stretch != rival->what && from)
            room[alike++] = take->time(take->of, (uint32_t)i + 1);
    }
    for (size_t i = 0; others == 0 && i < causes->segments; i++) {
        const struct ana_cause_segment *segment = &causes->segment[i];
        if (segment->stretch == rival->what)
            room[alike + own++] = take->time(take->of, (uint32_t)i + 1);
    }
    double usual = others              ? median_of(room, others)
                   : own > 1 || !alike ? median_of(room + alike, own)
                                       : median_of(room, alike);
    causes->replay->shadow[shadow] = (struct ana_shadow){rival->what, ana_rounded(usual), rival->cost_ns};
}

/* Makes room for the shadow of each segment that there is now.  False: out of memory. */
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
    size_t stretches = causes->stretches;
    struct rival *rival = calloc(stretches + 1, sizeof *rival);
    double *room = malloc((2 * causes->segments + 1) * sizeof *room);
    for (size_t i = 0; rival && room && i < causes->segments; i++) {
        const struct ana_cause_segment *segment = &causes->segment[i];
        if (!segment->stretch)
            continue; /* there was no memory to tell it */
        struct rival *of = &rival[segment->stretch - 1];
        int64_t cost_ns = segment->from ? cost_of(segment) : 0;
        of->what = segment->stretch;
        of->cost_ns = ana_plus(of->cost_ns, cost_ns);
        of->worst_ns = cost_ns > of->worst_ns ? cost_ns : of->worst_ns;
    }
    if (rival && room)
        ana_sort(rival, stretches, sizeof *rival, by_cost);
    uint32_t most = ANA_SHADOW_CALLS - 1;
    for (size_t i = 0; rival && room && i < stretches && i < most && rival[i].cost_ns > 0; i++) {
        uint32_t shadow = shadow_for(causes, &rival[i], 1, ANA_SHADOW_CALLS);
        if (shadow)
            choose_ranks(causes, shadow, &rival[i], take, room);
    }
    free(rival);
    free(room);
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* Of the path so far, as if the run ended here. */
static void choose_calls(struct ana_causes *causes)
{
    struct ana_path_end *end = calloc(causes->ranks + 1, sizeof *end);
    struct ana_path_sums sums;
    for (size_t i = 0; end && i < causes->ranks; i++)
        end[i] = (struct ana_path_end){INT64_MIN, true};
    if (!end || !ana_path_take(causes, end, 0, 0, &sums)) {
        free(end);
        return;
    }
    struct rival *rival = calloc(causes->places + 1, sizeof *rival);
    size_t n = 0;
    for (size_t i = 0; rival && i < causes->places; i++) {
        if (causes->place[i].communicates && sums.place[i] > 0)
            rival[n++] = (struct rival){(uint32_t)i + 1, sums.place[i], 0};
    }
    if (rival)
        ana_sort(rival, n, sizeof *rival, by_cost);
    for (size_t i = 0; i < n && i < ANA_SHADOWS - ANA_SHADOW_CALLS; i++) {
        uint32_t shadow = shadow_for(causes, &rival[i], ANA_SHADOW_CALLS, ANA_SHADOWS);
        if (!shadow)
            continue;
        causes->replay->shadow[shadow] = (struct ana_shadow){rival[i].what, 0, rival[i].cost_ns};
        set_shadow(&causes->place[rival[i].what - 1], shadow);
    }
    ana_path_sums_free(&sums);
    free(rival);
    free(end);
}

void ana_shadows_choose(struct ana_causes *causes, ana_usual_time *time, const void *of)
{
    ana_causes_follow(causes);
    choose_segments(causes, &(struct usual){time, of});
    choose_calls(causes);
}
