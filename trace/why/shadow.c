/* The choice of what to take out of the run; see shadow.h. */
#include "trace/why/shadow.h"
#include "trace/util/trouble.h"
#include "trace/why/path.h"
#include "trace/why/why.h"
#include <stdlib.h>
#include <string.h>

#define KEPT      1.5   /* how much more another must cost to take the place of one that was chosen before */
#define ALL_STEPS 65536 /* so many steps at most pass before the next choice; and a sixteenth of all at least */

/* A stretch, over all ranks. */
struct rival {
    uint32_t what; /* number of the stretch, or of the place, + 1 */
    int64_t cost_ns;
    int64_t worst_ns; /* the most that one rank costs */
};

static int64_t cost_of(const struct ana_segment *segment)
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

/* Forgets how far ahead a shadow was, before it becomes another's. */
static void clear_shadow(struct ana_why *why, uint32_t shadow)
{
    struct ana_delays *delays = why->delays;
    struct ana_replay *replay = delays->replay;
    for (size_t i = 0; i < delays->ranks; i++) {
        replay->rank[i].now.ns[shadow] = 0;
        for (uint32_t s = 0; replay->rank[i].ahead && s < delays->room; s++)
            replay->rank[i].ahead[s].ns[shadow] = 0;
    }
    for (uint32_t m = 0; m < replay->meeting_room; m++)
        replay->meeting[m].last.ahead.ns[shadow] = 0;
    for (size_t i = 0; i < replay->segments; i++)
        replay->segment[i] = replay->segment[i] == shadow ? 0 : replay->segment[i];
    for (size_t i = 0; i < why->places.count; i++) {
        struct ana_why_place *place = ana_map_value(&why->places, i);
        place->shadow = place->shadow == shadow ? 0 : place->shadow;
    }
}

/* The shadow of a rival, one of first .. end - 1: its own, a free one, or that of one which costs far less.  0: none. */
static uint32_t shadow_for(struct ana_why *why, const struct rival *rival, uint32_t first, uint32_t end)
{
    struct ana_shadow *shadow = why->delays->replay->shadow;
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
        clear_shadow(why, least);
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
    qsort(number, n, sizeof *number, by_number);
    return number[(n - 1) / 2];
}

/* Chooses the ranks of a stretch, and what they would take; `room` is for a number a segment. */
static void choose_ranks(struct ana_why *why, uint32_t shadow, const struct rival *rival, double *room)
{
    size_t others = 0, own = 0, alike = 0;
    uint32_t from = 0;
    for (size_t i = 0; i < why->segments.count; i++) {
        const struct ana_segment *segment = ana_segment_at(why, (uint32_t)i + 1);
        if (segment->stretch != rival->what)
            continue;
        from = segment->from;
        bool late = (double)cost_of(segment) >= LATE_ALIKE * (double)rival->worst_ns;
        why->delays->replay->segment[i] = late ? (uint8_t)shadow : 0; /* a stretch has one shadow */
        if (!late)
            room[others++] = ana_segment_median(segment);
    }
    for (size_t i = 0; others == 0 && i < why->segments.count; i++) {
        const struct ana_segment *segment = ana_segment_at(why, (uint32_t)i + 1);
        if (segment->from == from && segment->stretch != rival->what && from)
            room[alike++] = ana_segment_median(segment);
    }
    for (size_t i = 0; others == 0 && i < why->segments.count; i++) {
        const struct ana_segment *segment = ana_segment_at(why, (uint32_t)i + 1);
        if (segment->stretch == rival->what)
            room[alike + own++] = ana_segment_median(segment);
    }
    double usual = others              ? median_of(room, others)
                   : own > 1 || !alike ? median_of(room + alike, own)
                                       : median_of(room, alike);
    why->delays->replay->shadow[shadow] = (struct ana_shadow){rival->what, ana_rounded(usual), rival->cost_ns};
}

/* Makes room for the shadow of each segment that there is now.  False: out of memory. */
static bool room_for_segments(struct ana_why *why)
{
    struct ana_replay *replay = why->delays->replay;
    uint8_t *moved = realloc(replay->segment, why->segments.count + 1);
    if (!moved)
        return false;
    memset(moved + replay->segments, 0, why->segments.count - replay->segments);
    replay->segment = moved;
    replay->segments = why->segments.count;
    return true;
}

static void choose_segments(struct ana_why *why)
{
    if (!room_for_segments(why))
        return;
    size_t stretches = why->stretches.count;
    struct rival *rival = calloc(stretches + 1, sizeof *rival);
    double *room = malloc((2 * why->segments.count + 1) * sizeof *room);
    for (size_t i = 0; rival && room && i < why->segments.count; i++) {
        const struct ana_segment *segment = ana_segment_at(why, (uint32_t)i + 1);
        struct rival *of = &rival[segment->stretch - 1];
        int64_t cost_ns = segment->from && segment->to ? cost_of(segment) : 0;
        of->what = segment->stretch;
        of->cost_ns = ana_plus(of->cost_ns, cost_ns);
        of->worst_ns = cost_ns > of->worst_ns ? cost_ns : of->worst_ns;
    }
    if (rival && room)
        qsort(rival, stretches, sizeof *rival, by_cost);
    uint32_t most = ANA_SHADOW_CALLS - 1;
    for (size_t i = 0; rival && room && i < stretches && i < most && rival[i].cost_ns > 0; i++) {
        uint32_t shadow = shadow_for(why, &rival[i], 1, ANA_SHADOW_CALLS);
        if (shadow)
            choose_ranks(why, shadow, &rival[i], room);
    }
    free(rival);
    free(room);
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* Of the path so far, as if the run ended here. */
static void choose_calls(struct ana_why *why)
{
    struct ana_path_end *end = calloc(why->ranks + 1, sizeof *end);
    struct ana_path_sums sums;
    for (size_t i = 0; end && i < why->ranks; i++)
        end[i] = (struct ana_path_end){INT64_MIN, true};
    if (!end || !ana_path_take(why, end, 0, 0, &sums)) {
        free(end);
        return;
    }
    struct rival *rival = calloc(why->places.count + 1, sizeof *rival);
    size_t n = 0;
    for (size_t i = 0; rival && i < why->places.count; i++) {
        const struct ana_why_place *place = ana_map_value(&why->places, i);
        if (place->communicates && sums.place[i] > 0)
            rival[n++] = (struct rival){(uint32_t)i + 1, sums.place[i], 0};
    }
    if (rival)
        qsort(rival, n, sizeof *rival, by_cost);
    for (size_t i = 0; i < n && i < ANA_SHADOWS - ANA_SHADOW_CALLS; i++) {
        uint32_t shadow = shadow_for(why, &rival[i], ANA_SHADOW_CALLS, ANA_SHADOWS);
        if (!shadow)
            continue;
        why->delays->replay->shadow[shadow] = (struct ana_shadow){rival[i].what, 0, rival[i].cost_ns};
        ((struct ana_why_place *)ana_map_value(&why->places, rival[i].what - 1))->shadow = (uint8_t)shadow;
    }
    ana_path_sums_free(&sums);
    free(rival);
    free(end);
}

void ana_shadows_choose(struct ana_why *why, bool now)
{
    struct ana_delays *delays = why->delays;
    uint64_t since = delays->steps - delays->replay->chosen_at, most = delays->steps / 16;
    uint64_t due = why->segments.count + (most < ALL_STEPS ? most : ALL_STEPS);
    if (!now && delays->replay->chosen_at && since < due)
        return;
    delays->replay->chosen_at = delays->steps + 1;
    choose_segments(why);
    choose_calls(why);
}
