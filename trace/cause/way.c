/* The ways back from a wait: from the call of who came late and from that of who waited, until they meet. */
#include "trace/cause/way.h"
#include "trace/util/times.h"
#include <stdlib.h>

#define SLOTS  1024             /* a power of two, at least twice as many as there can be pieces */
#define INSIDE UINT32_MAX       /* a stretch: time in calls */
#define GAP    (UINT32_MAX - 1) /* a stretch: time of which nothing is known */

/* What a way has passed through: a segment, or one rank's time in calls; or, over all ranks, a stretch. */
struct piece {
    uint64_t key; /* 0: free */
    uint32_t stretch, segment, index;
    uint32_t of;                /* slot of its stretch, which has the waiter's time */
    int64_t late_ns, waiter_ns; /* on the way of who came late, and of who waited */
};

struct ana_ways {
    struct piece slot[SLOTS];
    uint32_t used[SLOTS]; /* slots, in order of their making */
    size_t count;
};

struct ana_ways *ana_ways_new(void)
{
    return calloc(1, sizeof(struct ana_ways));
}

void ana_ways_free(struct ana_ways *ways)
{
    free(ways);
}

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

static inline uint32_t slot_of(struct ana_ways *ways, uint64_t key)
{
    uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) % SLOTS;
    while (ways->slot[at].key && ways->slot[at].key != key)
        at = (at + 1) % SLOTS;
    struct piece *piece = &ways->slot[at];
    if (!piece->key) {
        *piece = (struct piece){.key = key};
        ways->used[ways->count++] = at;
    }
    return at;
}

static uint64_t stretch_key(uint32_t stretch)
{
    return (uint64_t)stretch << 1 | 1;
}

/* Of a segment, or of a rank's time in a stretch that is none. */
static uint64_t own_key(uint32_t segment, uint32_t stretch, uint32_t index)
{
    uint64_t key = segment ? (uint64_t)segment << 32 : (uint64_t)stretch << 32 | (index + 1u);
    return key << 1;
}

/* Adds a part of a way to its stretch and, of who came late, to whose it is. */
static void add_part(struct ana_causes *causes, bool late, uint32_t index, uint32_t segment, uint32_t stretch,
                     int64_t ns)
{
    struct ana_ways *ways = causes->ways;
    if (ns <= 0)
        return;
    uint32_t of = slot_of(ways, stretch_key(stretch));
    struct piece *all = &ways->slot[of];
    int64_t *sum = late ? &all->late_ns : &all->waiter_ns;
    *sum = ana_plus(*sum, ns);
    if (!late)
        return;
    struct piece *own = &ways->slot[slot_of(ways, own_key(segment, stretch, index))];
    own->of = of;
    own->segment = segment;
    own->stretch = stretch;
    own->index = index;
    own->late_ns = ana_plus(own->late_ns, ns);
}

/* ---- ways ------------------------------------------------------------------------------------------------------- */

/* Where a way has come to: the begin of a step. */
struct at {
    uint32_t index, number;
    bool late, ended;
};

uint32_t ana_step_ended(const struct ana_causes *causes, size_t index, int64_t ns)
{
    uint32_t high = causes->rank[index].so_far, low = high < causes->room ? 0 : high - causes->room;
    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        if (ana_step_at(causes, index, middle)->end_ns <= ns)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

bool ana_hop_back(const struct ana_causes *causes, uint32_t *index, uint32_t *number, struct ana_hop *hop)
{
    const struct ana_cause_step *step = ana_step_at(causes, *index, *number);
    *hop = (struct ana_hop){.index = *index,
                            .begin_ns = step->begin_ns,
                            .until_ns = step->begin_ns,
                            .polled = step->place,
                            .segment = step->segment};
    if (step->spins_ns != INT64_MIN) {
        bool came = step->releaser && step->release_ns <= step->begin_ns;
        hop->until_ns = hop->ended_ns = hop->left_ns = came ? step->release_ns : step->spins_ns;
        if (came) {
            *index = step->releaser - 1;
            *number = step->releaser_step;
            return true;
        }
    }
    const struct ana_cause_step *before = ana_step_at(causes, *index, step->back);
    hop->ended_ns = hop->left_ns = before ? before->end_ns : hop->until_ns;
    if (!before)
        return false;
    bool waited = before->releaser && before->release_ns > before->begin_ns;
    hop->left_ns = waited ? before->release_ns : before->begin_ns;
    hop->place = before->place;
    *number = waited ? before->releaser_step : step->back;
    *index = waited ? before->releaser - 1 : *index;
    return true;
}

/* Goes back, and adds what lies between to the way. */
static void go_back(struct ana_causes *causes, struct at *at)
{
    struct ana_hop hop;
    uint32_t index = at->index;
    at->ended = !ana_hop_back(causes, &at->index, &at->number, &hop);
    uint32_t stretch = hop.segment ? ana_cause_segment_at(causes, hop.segment)->stretch : GAP;
    add_part(causes, at->late, index, 0, INSIDE, hop.begin_ns - hop.until_ns);
    add_part(causes, at->late, index, hop.segment, stretch, hop.until_ns - hop.ended_ns);
    add_part(causes, at->late, index, 0, INSIDE, hop.ended_ns - hop.left_ns);
    at->ended |= !ana_step_at(causes, at->index, at->number);
}

/* Goes both ways until they meet, the later one first. */
static void go_ways(struct ana_causes *causes, const struct ana_late_wait *wait)
{
    struct at late = {wait->culprit, wait->culprit_step, true, false};
    struct at waiter = {wait->waiter, wait->waiter_step, false, false};
    late.ended = !ana_step_at(causes, late.index, late.number);
    waiter.ended = !ana_step_at(causes, waiter.index, waiter.number);
    int64_t left = causes->way_left > ANA_WAY_MOST ? ANA_WAY_MOST : causes->way_left < 8 ? 8 : causes->way_left;
    while (left > 0 && !late.ended && !waiter.ended && causes->ways->count < SLOTS / 2) {
        if (late.index == waiter.index && late.number == waiter.number)
            break;
        int64_t late_ns = ana_step_at(causes, late.index, late.number)->begin_ns;
        int64_t waiter_ns = ana_step_at(causes, waiter.index, waiter.number)->begin_ns;
        go_back(causes, late_ns >= waiter_ns ? &late : &waiter);
        left--;
        causes->way_left--;
    }
}

/* ---- costs ------------------------------------------------------------------------------------------------------ */

static struct ana_cost *cost_of(const struct ana_causes *causes, const struct piece *piece)
{
    if (piece->segment)
        return &ana_cause_segment_at(causes, piece->segment)->cost;
    struct ana_cause_rank *rank = &causes->rank[piece->index];
    return piece->stretch == INSIDE ? &rank->inside : &rank->unknown;
}

static void charge(struct ana_cost *cost, int64_t ns, bool direct)
{
    int64_t *sum = direct ? &cost->direct_ns : &cost->passed_ns;
    *sum = ana_plus(*sum, ns);
    cost->waits++;
    cost->squares += (double)ns * (double)ns;
}

/* What of a piece the late one's way has more than the waiter's: of the piece alone; `all`: where all its ranks
 * together have more, however little each. */
static double excess_of(const struct ana_ways *ways, const struct piece *piece, bool all)
{
    if (piece->key & 1)
        return 0;
    const struct piece *stretch = &ways->slot[piece->of];
    int64_t more = piece->late_ns - stretch->waiter_ns;
    if (all)
        return stretch->late_ns > stretch->waiter_ns ? (double)piece->late_ns : 0;
    return more > 0 ? (double)more : 0;
}

/* Charges a wait to the pieces by their excess.  False: none has any. */
static bool share_out(struct ana_causes *causes, const struct ana_late_wait *wait, bool all)
{
    const struct ana_ways *ways = causes->ways;
    size_t count = ways->count;
    double sum = 0, most = 0;
    const struct piece *worst = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct piece *piece = &ways->slot[ways->used[i]];
        double excess = excess_of(ways, piece, all);
        sum += excess;
        if (excess > most) {
            most = excess;
            worst = piece;
        }
    }
    if (!worst)
        return false;
    int64_t left = wait->ns;
    for (size_t i = 0; i < count; i++) {
        const struct piece *piece = &ways->slot[ways->used[i]];
        int64_t ns = piece == worst ? 0 : (int64_t)((double)wait->ns * (excess_of(ways, piece, all) / sum));
        if (ns > 0)
            charge(cost_of(causes, piece), ns, piece->index == wait->culprit);
        left -= ns;
    }
    charge(cost_of(causes, worst), left, worst->index == wait->culprit);
    return true;
}

/* Charges the end of a time to what was done in it; returns what is left of it. */
static int64_t charge_part(struct ana_cost *cost, int64_t from_ns, int64_t to_ns, int64_t left_ns, bool direct)
{
    int64_t ns = ana_earlier(to_ns - from_ns, left_ns);
    if (ns <= 0)
        return left_ns;
    charge(cost, ns, direct);
    return left_ns - ns;
}

/* Charges a wait of a GPU to what the late rank, and whom it had waited for, did in that time before its launch. */
static void follow_device(struct ana_causes *causes, const struct ana_late_wait *wait)
{
    uint32_t index = wait->culprit, number = wait->culprit_step;
    int64_t left = wait->ns;
    for (int hops = 0; hops < ANA_WAY_MOST && left > 0 && ana_step_at(causes, index, number); hops++) {
        struct ana_hop hop;
        bool known = ana_hop_back(causes, &index, &number, &hop), direct = hop.index == wait->culprit;
        struct ana_cost *inside = &causes->rank[hop.index].inside;
        struct ana_cost *outside =
            hop.segment ? &ana_cause_segment_at(causes, hop.segment)->cost : &causes->rank[hop.index].unknown;
        left = charge_part(inside, hop.until_ns, hop.begin_ns, left, direct);
        left = charge_part(outside, hop.ended_ns, hop.until_ns, left, direct);
        left = charge_part(inside, hop.left_ns, hop.ended_ns, left, direct);
        if (!known)
            break;
    }
    if (left > 0)
        charge(&causes->rank[wait->culprit].unknown, left, true);
}

void ana_ways_follow(struct ana_causes *causes, const struct ana_late_wait *wait)
{
    struct ana_ways *ways = causes->ways;
    if (wait->device) {
        follow_device(causes, wait);
        return;
    }
    go_ways(causes, wait);
    if (!share_out(causes, wait, false) && !share_out(causes, wait, true))
        charge(&causes->rank[wait->culprit].unknown, wait->ns, true);
    for (size_t i = 0; i < ways->count; i++)
        ways->slot[ways->used[i]].key = 0;
    ways->count = 0;
}
