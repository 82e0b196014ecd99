/* The ways back from a wait: from the call of who came late and from that of who waited, until they meet. */
#include "trace/cause/way.h"
#include "trace/util/grow.h"
#include "trace/util/times.h"
#include <stdlib.h>

#define PIECES 512u             /* of the ways of one wait, at most about */
#define SLOTS  1024u            /* a power of two, at least twice as many */
#define INSIDE UINT32_MAX       /* a stretch: time in calls */
#define GAP    (UINT32_MAX - 1) /* a stretch: time of which nothing is known */

/* What a way has passed through: a segment, or one rank's time in calls; or, over all ranks, a stretch. */
struct piece {
    uint64_t key;
    uint32_t stretch, segment, index;
    uint16_t slot, of;          /* its own; number of its stretch, which has the waiter's time */
    int64_t late_ns, waiter_ns; /* on the way of who came late, and of who waited */
    double excess;              /* what the wait is charged by */
};

/* What a wait is charged to. */
struct charge {
    struct ana_cost *cost;
    int64_t ns;
    bool direct;
};

struct ana_ways {
    int64_t left; /* steps that may still be gone */
    uint16_t count;
    uint16_t slot[SLOTS];       /* number of a piece, 0: none */
    struct piece piece[PIECES]; /* the first is the time in calls of all ranks */
    struct charge *charge;
    size_t charges, charge_room;
    bool out_of_memory;
};

static uint64_t stretch_key(uint32_t stretch)
{
    return (uint64_t)stretch << 1 | 1;
}

static void clear_pieces(struct ana_ways *ways)
{
    for (size_t i = 1; i < ways->count; i++)
        ways->slot[ways->piece[i].slot] = 0;
    ways->piece[0] = (struct piece){.key = stretch_key(INSIDE)};
    ways->count = 1;
}

struct ana_ways *ana_ways_new(void)
{
    struct ana_ways *ways = calloc(1, sizeof *ways);
    if (ways)
        clear_pieces(ways);
    return ways;
}

void ana_ways_free(struct ana_ways *ways)
{
    if (ways)
        free(ways->charge);
    free(ways);
}

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

static inline struct piece *piece_of(struct ana_ways *ways, uint64_t key)
{
    uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) % SLOTS;
    for (; ways->slot[at]; at = (at + 1) % SLOTS)
        if (ways->piece[ways->slot[at]].key == key)
            return &ways->piece[ways->slot[at]];
    struct piece *piece = &ways->piece[ways->count];
    ways->slot[at] = ways->count++;
    *piece = (struct piece){.key = key, .slot = (uint16_t)at};
    return piece;
}

/* Of a segment, or of a rank's time in a stretch that is none. */
static uint64_t own_key(uint32_t segment, uint32_t stretch, uint32_t index)
{
    uint64_t key = segment ? (uint64_t)segment << 32 : (uint64_t)stretch << 32 | (index + 1u);
    return key << 1;
}

/* Adds time in a segment to its stretch and, of who came late, to the segment. */
static inline void add_segment(struct ana_ways *ways, bool late, uint32_t index, uint32_t segment, uint32_t stretch,
                               int64_t ns)
{
    struct piece *all = piece_of(ways, stretch_key(stretch));
    int64_t *sum = late ? &all->late_ns : &all->waiter_ns;
    *sum = ana_plus(*sum, ns);
    if (!late)
        return;
    struct piece *own = piece_of(ways, own_key(segment, stretch, index));
    own->of = (uint16_t)(all - ways->piece);
    own->segment = segment;
    own->stretch = stretch;
    own->index = index;
    own->late_ns = ana_plus(own->late_ns, ns);
}

/* Where a way has come to: the begin of a step. */
struct at {
    bool late;
    uint32_t index, number;
    const struct ana_cause_step *step; /* NULL: the way has ended */
    struct piece *inside;              /* of the time in calls of the rank it was in last; NULL: none yet */
};

/* Adds time in calls of a rank, likewise. */
static inline void add_inside(struct ana_ways *ways, struct at *at, uint32_t index, int64_t ns)
{
    struct piece *all = &ways->piece[0];
    int64_t *sum = at->late ? &all->late_ns : &all->waiter_ns;
    if (ns <= 0)
        return;
    *sum = ana_plus(*sum, ns);
    if (!at->late)
        return;
    if (!at->inside || at->inside->index != index) {
        at->inside = piece_of(ways, own_key(0, INSIDE, index));
        at->inside->stretch = INSIDE;
        at->inside->index = index;
    }
    at->inside->late_ns = ana_plus(at->inside->late_ns, ns);
}

/* ---- ways ------------------------------------------------------------------------------------------------------- */

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

/* As ana_hop_back, from this step. */
static inline bool hop_from(const struct ana_causes *causes, const struct ana_cause_step *step, uint32_t *index,
                            uint32_t *number, struct ana_hop *hop)
{
    hop->index = *index;
    hop->begin_ns = hop->until_ns = step->begin_ns;
    hop->polled = step->place;
    hop->segment = step->segment;
    hop->place = 0;
    if (__builtin_expect(step->spins_ns != INT64_MIN, 0)) {
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

bool ana_hop_back(const struct ana_causes *causes, uint32_t *index, uint32_t *number, struct ana_hop *hop)
{
    return hop_from(causes, ana_step_at(causes, *index, *number), index, number, hop);
}

/* Goes back, and adds what lies between to the way. */
static inline void go_back(const struct ana_causes *causes, struct ana_ways *ways, struct at *at)
{
    struct ana_hop hop;
    uint32_t index = at->index;
    bool known = hop_from(causes, at->step, &at->index, &at->number, &hop);
    int64_t outside_ns = hop.until_ns - hop.ended_ns;
    add_inside(ways, at, index, hop.begin_ns - hop.until_ns);
    if (outside_ns > 0)
        add_segment(ways, at->late, index, hop.segment,
                    hop.segment ? ana_cause_segment_at(causes, hop.segment)->stretch : GAP, outside_ns);
    add_inside(ways, at, index, hop.ended_ns - hop.left_ns);
    at->step = known ? ana_step_at(causes, at->index, at->number) : NULL;
}

/* Goes both ways until they meet, the later one first. */
static void go_ways(const struct ana_causes *causes, struct ana_ways *ways, const struct ana_late_wait *wait)
{
    struct at late = {.late = true, .index = wait->culprit, .number = wait->culprit_step};
    struct at waiter = {.index = wait->waiter, .number = wait->waiter_step};
    late.step = ana_step_at(causes, late.index, late.number);
    waiter.step = ana_step_at(causes, waiter.index, waiter.number);
    int64_t most = ways->left > ANA_WAY_MOST ? ANA_WAY_MOST : ways->left < 8 ? 8 : ways->left, left = most;
    while (late.step != waiter.step && late.step && waiter.step && left > 0 && ways->count < PIECES - 6) {
        if (late.step->begin_ns >= waiter.step->begin_ns) /* a hop makes six pieces at most */
            go_back(causes, ways, &late);
        else
            go_back(causes, ways, &waiter);
        left--;
    }
    ways->left -= most - left;
}

/* ---- costs ------------------------------------------------------------------------------------------------------ */

static struct ana_cost *cost_of(const struct ana_causes *causes, const struct piece *piece)
{
    if (piece->segment)
        return &ana_cause_segment_at(causes, piece->segment)->cost;
    struct ana_cause_rank *rank = &causes->rank[piece->index];
    return piece->stretch == INSIDE ? &rank->inside : &rank->unknown;
}

/* Notes what is to be charged: others may be adding to the same. */
static void charge(struct ana_ways *ways, struct ana_cost *cost, int64_t ns, bool direct)
{
    if (!ana_grow(&ways->charge, ways->charges, &ways->charge_room, sizeof *ways->charge)) {
        ways->out_of_memory = true;
        return;
    }
    ways->charge[ways->charges++] = (struct charge){cost, ns, direct};
}

void ana_ways_charge(struct ana_causes *causes, struct ana_ways *ways)
{
    for (size_t i = 0; i < ways->charges; i++) {
        const struct charge *one = &ways->charge[i];
        int64_t *sum = one->direct ? &one->cost->direct_ns : &one->cost->passed_ns;
        *sum = ana_plus(*sum, one->ns);
        one->cost->waits++;
        one->cost->squares += (double)one->ns * (double)one->ns;
    }
    ways->charges = 0;
    causes->out_of_memory |= ways->out_of_memory;
}

/* What of a piece the late one's way has more than the waiter's: of the piece alone; `all`: where all its ranks
 * together have more, however little each. */
static double excess_of(const struct ana_ways *ways, const struct piece *piece, bool all)
{
    if (piece->key & 1)
        return 0;
    const struct piece *stretch = &ways->piece[piece->of];
    int64_t more = piece->late_ns - stretch->waiter_ns;
    if (all)
        return stretch->late_ns > stretch->waiter_ns ? (double)piece->late_ns : 0;
    return more > 0 ? (double)more : 0;
}

/* Charges a wait to the pieces by their excess.  False: none has any. */
static bool share_out(const struct ana_causes *causes, struct ana_ways *ways, const struct ana_late_wait *wait,
                      bool all)
{
    size_t count = ways->count;
    double sum = 0, most = 0;
    const struct piece *worst = NULL;
    for (size_t i = 1; i < count; i++) {
        struct piece *piece = &ways->piece[i];
        piece->excess = excess_of(ways, piece, all);
        sum += piece->excess;
        if (piece->excess > most) {
            most = piece->excess;
            worst = piece;
        }
    }
    if (!worst)
        return false;
    int64_t left = wait->ns;
    for (size_t i = 1; i < count; i++) {
        const struct piece *piece = &ways->piece[i];
        if (piece->excess <= 0 || piece == worst)
            continue;
        int64_t ns = (int64_t)((double)wait->ns * (piece->excess / sum));
        if (ns > 0)
            charge(ways, cost_of(causes, piece), ns, piece->index == wait->culprit);
        left -= ns;
    }
    charge(ways, cost_of(causes, worst), left, worst->index == wait->culprit);
    return true;
}

/* Charges the end of a time to what was done in it; returns what is left of it. */
static int64_t charge_part(struct ana_ways *ways, struct ana_cost *cost, int64_t from_ns, int64_t to_ns,
                           int64_t left_ns, bool direct)
{
    int64_t ns = ana_earlier(to_ns - from_ns, left_ns);
    if (ns <= 0)
        return left_ns;
    charge(ways, cost, ns, direct);
    return left_ns - ns;
}

/* Charges a wait of a GPU to what the late rank, and whom it had waited for, did in that time before its launch. */
static void follow_device(const struct ana_causes *causes, struct ana_ways *ways, const struct ana_late_wait *wait)
{
    uint32_t index = wait->culprit, number = wait->culprit_step;
    int64_t left = wait->ns;
    for (int hops = 0; hops < ANA_WAY_MOST && left > 0 && ana_step_at(causes, index, number); hops++) {
        struct ana_hop hop;
        bool known = ana_hop_back(causes, &index, &number, &hop), direct = hop.index == wait->culprit;
        struct ana_cost *inside = &causes->rank[hop.index].inside;
        struct ana_cost *outside =
            hop.segment ? &ana_cause_segment_at(causes, hop.segment)->cost : &causes->rank[hop.index].unknown;
        left = charge_part(ways, inside, hop.until_ns, hop.begin_ns, left, direct);
        left = charge_part(ways, outside, hop.ended_ns, hop.until_ns, left, direct);
        left = charge_part(ways, inside, hop.left_ns, hop.ended_ns, left, direct);
        if (!known)
            break;
    }
    if (left > 0)
        charge(ways, &causes->rank[wait->culprit].unknown, left, true);
}

static void follow(const struct ana_causes *causes, struct ana_ways *ways, const struct ana_late_wait *wait)
{
    if (wait->device) {
        follow_device(causes, ways, wait);
        return;
    }
    go_ways(causes, ways, wait);
    if (!share_out(causes, ways, wait, false) && !share_out(causes, ways, wait, true))
        charge(ways, &causes->rank[wait->culprit].unknown, wait->ns, true);
    clear_pieces(ways);
}

int64_t ana_ways_follow(const struct ana_causes *causes, struct ana_ways *ways, uint64_t from, uint64_t to,
                        int64_t left)
{
    ways->left = left;
    while (from < to)
        follow(causes, ways, &causes->wait[from++ % ANA_WAITS_PENDING]);
    return left - ways->left;
}
