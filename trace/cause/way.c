/* The ways back from a wait: from the call of who came late and from that of who waited, until they meet.
 *
 * Waits for the same call follow one another, as those in a collective: the way back from it is gone once for them
 * all. */
#include "trace/cause/way.h"
#include "trace/util/grow.h"
#include "trace/util/times.h"
#include <stdlib.h>
#include <string.h>

#define PIECES    (2u * ANA_WAY_MOST + 1) /* a hop makes two at most; the first takes what is to be none */
#define STRETCHES (2u * ANA_WAY_MOST)
#define SLOTS     (8u * ANA_WAY_MOST) /* a power of two; nearly twice as many as both */
#define FEW       16u                 /* so many are looked through; more are in slots, too */

/* What a key is of: of a stretch, or the piece of a segment, or of a rank's time in calls or unknown. */
enum kind { STRETCH, SEGMENT, INSIDE, UNKNOWN };
/* Of a rank's time in calls, and of that of which nothing is known: stretches, too. */
#define STRETCH_INSIDE  0u
#define STRETCH_UNKNOWN 1u

struct slot {
    uint64_t key; /* with the round of its ways: of another one, it is free */
    uint32_t number;
};

/* What the late one's way has passed through: a segment, or one rank's time in calls. */
struct piece {
    uint64_t key;
    int64_t ns;
    uint32_t segment, index; /* 0: time in calls, or unknown; the rank */
    uint32_t stretch;        /* a number of ana_ways.waiter_ns */
};

/* A hop of that way. */
struct late_hop {
    const struct ana_cause_step *to; /* where it leads; NULL: nowhere */
    int64_t outside_ns, inside_ns;
    uint16_t outside, inside, pieces; /* its pieces, 0: none; so many were made up to here */
};

/* What a wait is charged to. */
struct charge {
    struct ana_cost *cost;
    int64_t ns;
    bool direct;
};

struct ana_ways {
    int64_t left;                         /* steps that may still be gone */
    uint64_t round;                       /* times 2^34 */
    uint32_t culprit, culprit_step;       /* whose way is kept; step 0: none */
    uint32_t index, number;               /* where that has come to so far */
    uint32_t hops, added;                 /* of it; of these are in piece[].ns */
    uint32_t pieces, stretches;           /* so many are in use */
    uint32_t slot_pieces, slot_stretches; /* of these are in slots */
    uint16_t inside;                      /* the piece of time in calls that was met last; 0: none */
    struct slot slot[SLOTS];
    struct late_hop hop[ANA_WAY_MOST + 1]; /* the first leads to its begin */
    struct piece piece[PIECES];
    uint32_t stretch[STRETCHES];  /* which they are */
    int64_t waiter_ns[STRETCHES]; /* on the way of who waited */
    int64_t late_ns[STRETCHES];   /* on the late one's: only where it is asked for */
    struct charge *charge;
    size_t charges, charge_room;
    bool out_of_memory;
};

struct ana_ways *ana_ways_new(void)
{
    return calloc(1, sizeof(struct ana_ways));
}

void ana_ways_free(struct ana_ways *ways)
{
    if (ways)
        free(ways->charge);
    free(ways);
}

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

static inline uint64_t key_of(enum kind kind, uint32_t of)
{
    return (uint64_t)of << 2 | kind;
}

/* The number of something in slots; 0: it is new, and has to be given one. */
static inline uint32_t *number_of(struct ana_ways *ways, uint64_t of)
{
    uint64_t key = ways->round | of;
    for (uint64_t at = key ^ key >> 11;; at++) {
        struct slot *slot = &ways->slot[at % SLOTS];
        if (slot->key == key)
            return &slot->number;
        if (slot->key >> 34 != ways->round >> 34) {
            *slot = (struct slot){key, 0};
            return &slot->number;
        }
    }
}

/* Puts those in slots that are not yet. */
static __attribute__((noinline)) void put_in_slots(struct ana_ways *ways)
{
    for (; ways->slot_stretches < ways->stretches; ways->slot_stretches++)
        *number_of(ways, key_of(STRETCH, ways->stretch[ways->slot_stretches])) = ways->slot_stretches;
    for (; ways->slot_pieces < ways->pieces; ways->slot_pieces++)
        *number_of(ways, ways->piece[ways->slot_pieces].key) = ways->slot_pieces;
}

/* The number of a stretch that is known, by the numbers themselves or in slots; else the next one. */
static inline uint32_t find_stretch(struct ana_ways *ways, uint32_t stretch)
{
    uint32_t number = STRETCH_UNKNOWN + 1;
    if (ways->stretches > FEW) {
        if (ways->slot_stretches < ways->stretches)
            put_in_slots(ways);
        number = *number_of(ways, key_of(STRETCH, stretch));
        return number ? number : ways->stretches;
    }
    while (number < ways->stretches && ways->stretch[number] != stretch)
        number++;
    return number;
}

/* The stretch of a segment; 0: of unknown time. */
static inline uint32_t stretch_of(const struct ana_causes *causes, struct ana_ways *ways, uint32_t segment)
{
    if (!segment)
        return STRETCH_UNKNOWN;
    uint32_t stretch = ana_cause_segment_at(causes, segment)->stretch, number = find_stretch(ways, stretch);
    if (__builtin_expect(number == ways->stretches, 0)) {
        ways->stretches++;
        ways->stretch[number] = stretch;
        ways->waiter_ns[number] = 0;
    }
    return number;
}

/* The piece of a key, on the late one's way; the next one: there is none. */
static inline uint32_t find_piece(struct ana_ways *ways, uint64_t key)
{
    uint32_t number = 1;
    if (ways->pieces > FEW) {
        if (ways->slot_pieces < ways->pieces)
            put_in_slots(ways);
        number = *number_of(ways, key);
        return number ? number : ways->pieces;
    }
    while (number < ways->pieces && ways->piece[number].key != key)
        number++;
    return number;
}

/* The number of its piece: of a rank's time in a segment, 0: unknown. */
static inline uint16_t outside_of(const struct ana_causes *causes, struct ana_ways *ways, uint32_t index,
                                  uint32_t segment)
{
    uint64_t key = segment ? key_of(SEGMENT, segment) : key_of(UNKNOWN, index);
    uint32_t number = find_piece(ways, key);
    if (number == ways->pieces) {
        ways->piece[number] = (struct piece){key, 0, segment, index, stretch_of(causes, ways, segment)};
        ways->pieces++;
    }
    return (uint16_t)number;
}

/* Likewise, of its time in calls. */
static inline uint16_t inside_of(struct ana_ways *ways, uint32_t index)
{
    uint64_t key = key_of(INSIDE, index);
    if (ways->inside && ways->piece[ways->inside].key == key)
        return ways->inside;
    uint32_t number = find_piece(ways, key);
    if (number == ways->pieces) {
        ways->piece[number] = (struct piece){key, 0, 0, index, STRETCH_INSIDE};
        ways->pieces++;
    }
    return ways->inside = (uint16_t)number;
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

/* Begins the way of another who came late; what was kept is forgotten. */
static void begin_late(const struct ana_causes *causes, struct ana_ways *ways, uint32_t index, uint32_t number)
{
    ways->round += (uint64_t)1 << 34;
    if (ways->round == 0) {
        memset(ways->slot, 0, sizeof ways->slot);
        ways->round = (uint64_t)1 << 34;
    }
    ways->culprit = ways->index = index;
    ways->culprit_step = ways->number = number;
    ways->hops = ways->added = 0;
    ways->pieces = ways->slot_pieces = 1;
    ways->inside = 0;
    ways->slot_stretches = STRETCH_UNKNOWN + 1;
    ways->stretches = STRETCH_UNKNOWN + 1;
    ways->hop[0] = (struct late_hop){.to = ana_step_at(causes, index, number), .pieces = 1};
}

/* Goes that way one hop further. */
static __attribute__((noinline)) void go_late(const struct ana_causes *causes, struct ana_ways *ways)
{
    struct ana_hop hop;
    uint32_t index = ways->index;
    const struct ana_cause_step *to = ana_hop_back(causes, ways->hop[ways->hops].to, &ways->index, &ways->number, &hop);
    int64_t polled_ns = hop.begin_ns - hop.until_ns, called_ns = hop.ended_ns - hop.left_ns;
    struct late_hop *made = &ways->hop[++ways->hops];
    *made = (struct late_hop){.to = to, .outside_ns = hop.until_ns - hop.ended_ns};
    if (polled_ns > 0)
        made->inside = inside_of(ways, index);
    if (made->outside_ns > 0)
        made->outside = outside_of(causes, ways, index, hop.segment);
    if (called_ns > 0)
        made->inside = inside_of(ways, index);
    made->inside_ns = ana_plus(polled_ns > 0 ? polled_ns : 0, called_ns > 0 ? called_ns : 0);
    made->pieces = (uint16_t)ways->pieces;
}

/* Has its pieces say what the first hops of it passed through. */
static void add_late(struct ana_ways *ways, uint32_t hops)
{
    for (uint32_t i = 1; hops < ways->added && i < ways->pieces; i++)
        ways->piece[i].ns = 0;
    ways->added = hops < ways->added ? 0 : ways->added;
    while (ways->added < hops) {
        const struct late_hop *hop = &ways->hop[++ways->added];
        struct piece *outside = &ways->piece[hop->outside], *inside = &ways->piece[hop->inside];
        outside->ns = ana_plus(outside->ns, hop->outside_ns);
        inside->ns = ana_plus(inside->ns, hop->inside_ns);
    }
}

/* Goes the waiter's way back from a step; returns the one that it comes to, NULL: none. */
static inline const struct ana_cause_step *go_waiter(const struct ana_causes *causes, struct ana_ways *ways,
                                                     const struct ana_cause_step *step, uint32_t *index,
                                                     int64_t *inside_ns)
{
    struct ana_hop hop;
    uint32_t number;
    const struct ana_cause_step *to = ana_hop_back(causes, step, index, &number, &hop);
    int64_t polled_ns = hop.begin_ns - hop.until_ns, called_ns = hop.ended_ns - hop.left_ns;
    int64_t outside_ns = hop.until_ns - hop.ended_ns;
    if (polled_ns > 0)
        *inside_ns = ana_plus(*inside_ns, polled_ns);
    if (called_ns > 0)
        *inside_ns = ana_plus(*inside_ns, called_ns);
    if (outside_ns > 0) {
        int64_t *outside = &ways->waiter_ns[stretch_of(causes, ways, hop.segment)];
        *outside = ana_plus(*outside, outside_ns);
    }
    return to;
}

/* Goes both ways until they meet, the later one first; returns how many hops that is on the late one's. */
static inline uint32_t go_ways(const struct ana_causes *causes, struct ana_ways *ways, const struct ana_late_wait *wait)
{
    if (wait->culprit != ways->culprit || wait->culprit_step != ways->culprit_step ||
        ways->stretches > STRETCHES - ANA_WAY_MOST)
        begin_late(causes, ways, wait->culprit, wait->culprit_step);
    memset(ways->waiter_ns, 0, ways->stretches * sizeof *ways->waiter_ns);
    uint32_t index = wait->waiter, hops = 0;
    const struct ana_cause_step *late = ways->hop[0].to, *waiter = ana_step_at(causes, index, wait->waiter_step);
    int64_t most = ways->left > ANA_WAY_MOST ? ANA_WAY_MOST : ways->left < 8 ? 8 : ways->left, left = most;
    int64_t inside_ns = 0;
    while (late && waiter && late != waiter && left > 0) {
        left--;
        if (late->begin_ns >= waiter->begin_ns) {
            if (hops++ == ways->hops)
                go_late(causes, ways);
            late = ways->hop[hops].to;
        } else {
            waiter = go_waiter(causes, ways, waiter, &index, &inside_ns);
        }
    }
    ways->waiter_ns[STRETCH_INSIDE] = inside_ns;
    ways->left -= most - left;
    return hops;
}

/* ---- costs ------------------------------------------------------------------------------------------------------ */

static struct ana_cost *cost_of(const struct ana_causes *causes, const struct piece *piece)
{
    if (piece->segment)
        return &ana_cause_segment_at(causes, piece->segment)->cost;
    struct ana_cause_rank *rank = &causes->rank[piece->index];
    return piece->stretch == STRETCH_INSIDE ? &rank->inside : &rank->unknown;
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
static inline int64_t excess_of(const struct ana_ways *ways, const struct piece *piece, bool all)
{
    int64_t waiter_ns = ways->waiter_ns[piece->stretch];
    if (all)
        return ways->late_ns[piece->stretch] > waiter_ns ? piece->ns : 0;
    return piece->ns - waiter_ns;
}

/* Charges a wait to the first `pieces` - 1 of the late one's way by their excess.  False: none has any. */
static inline bool share_out(const struct ana_causes *causes, struct ana_ways *ways, const struct ana_late_wait *wait,
                             uint32_t pieces, bool all)
{
    double sum = 0, most = 0;
    const struct piece *worst = NULL;
    for (const struct piece *piece = &ways->piece[1]; piece < &ways->piece[pieces]; piece++) {
        int64_t excess_ns = excess_of(ways, piece, all);
        if (excess_ns <= 0)
            continue;
        double excess = (double)excess_ns;
        sum += excess;
        worst = excess > most ? piece : worst;
        most = excess > most ? excess : most;
    }
    if (!worst)
        return false;
    int64_t left = wait->ns;
    for (const struct piece *piece = &ways->piece[1]; sum > most && piece < &ways->piece[pieces]; piece++) {
        int64_t excess_ns = excess_of(ways, piece, all);
        if (excess_ns <= 0 || piece == worst)
            continue;
        int64_t ns = (int64_t)((double)wait->ns * ((double)excess_ns / sum));
        if (ns > 0)
            charge(ways, cost_of(causes, piece), ns, piece->index == wait->culprit);
        left -= ns;
    }
    charge(ways, cost_of(causes, worst), left, worst->index == wait->culprit);
    return true;
}

/* Likewise, of all ranks together. */
static bool share_all(const struct ana_causes *causes, struct ana_ways *ways, const struct ana_late_wait *wait,
                      uint32_t pieces)
{
    memset(ways->late_ns, 0, ways->stretches * sizeof *ways->late_ns);
    for (const struct piece *piece = &ways->piece[1]; piece < &ways->piece[pieces]; piece++)
        ways->late_ns[piece->stretch] = ana_plus(ways->late_ns[piece->stretch], piece->ns);
    return share_out(causes, ways, wait, pieces, true);
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
    const struct ana_cause_step *step = ana_step_at(causes, index, number);
    for (int hops = 0; hops < ANA_WAY_MOST && left > 0 && step; hops++) {
        struct ana_hop hop;
        step = ana_hop_back(causes, step, &index, &number, &hop);
        bool direct = hop.index == wait->culprit;
        struct ana_cost *inside = &causes->rank[hop.index].inside;
        struct ana_cost *outside =
            hop.segment ? &ana_cause_segment_at(causes, hop.segment)->cost : &causes->rank[hop.index].unknown;
        left = charge_part(ways, inside, hop.until_ns, hop.begin_ns, left, direct);
        left = charge_part(ways, outside, hop.ended_ns, hop.until_ns, left, direct);
        left = charge_part(ways, inside, hop.left_ns, hop.ended_ns, left, direct);
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
    uint32_t hops = go_ways(causes, ways, wait), pieces = ways->hop[hops].pieces;
    add_late(ways, hops);
    if (!share_out(causes, ways, wait, pieces, false) && !share_all(causes, ways, wait, pieces))
        charge(ways, &causes->rank[wait->culprit].unknown, wait->ns, true);
}

int64_t ana_ways_follow(const struct ana_causes *causes, struct ana_ways *ways, uint64_t from, uint64_t to,
                        int64_t left)
{
    ways->left = left;
    ways->stretches = STRETCHES; /* what was kept may have been overwritten */
    while (from < to)
        follow(causes, ways, &causes->wait[from++ % ANA_WAITS_PENDING]);
    return left - ways->left;
}
