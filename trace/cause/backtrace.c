/* The ways back from a wait: from the call of the late rank and from the call of the waiter, until they meet.
 *
 * Waits for the same call come in a row, for example in a collective: the way back from it is followed once for
 * all. */
#include "trace/cause/backtrace.h"
#include "trace/util/times.h"
#include "trace/util/grow.h"
#include <stdlib.h>
#include <string.h>

#define PIECES (2u * ANA_BACKTRACE_MOST + 1) /* two per hop at most; the first takes times to be dropped */

/* Segment kinds for a rank's time in calls and for unknown time; real segment kinds come after them. */
enum { KIND_INSIDE, KIND_UNKNOWN, KIND_FIRST };

/* Part of the late rank's way: a segment, or one rank's time in calls, or unknown. */
struct piece {
    const uint16_t *of; /* entry of the segment or rank, which holds the number of this piece */
    int64_t ns;
    struct ana_cost *cost;
    uint32_t index, segment_kind; /* the rank */
};

/* Hop of the late rank's way. */
struct late_hop {
    const struct ana_cause_step *to; /* step it leads to; NULL: none */
    int64_t outside_ns, inside_ns;
    uint16_t outside, inside, pieces; /* numbers of its pieces, 0: none; number of pieces made up to here */
};

/* Time of a segment kind on the waiter's way. */
struct of_waiter {
    uint64_t wait; /* number of the wait that `ns` belongs to; zero for other waits */
    int64_t ns;
};

/* Target of a charge. */
struct charge {
    struct ana_cost *cost;
    int64_t ns;
    uint64_t late; /* late call that was waited for: its rank and step */
    bool direct, aside;
};

struct ana_backtrace {
    int64_t left;                   /* steps left to follow */
    uint32_t culprit, culprit_step; /* late rank whose way is kept; UINT32_MAX: none */
    uint32_t index, number;         /* present end of the way */
    uint32_t hops, added, pieces;   /* number of hops; hops added to piece[].ns; pieces */
    uint16_t *of_segment, *of_rank; /* piece of each segment; of each rank's time in calls, and unknown */
    struct of_waiter *waiter;       /* index: segment kind */
    uint64_t wait;                  /* number of the wait followed */
    size_t segments, segment_kinds; /* allocated lengths */
    struct charge *charge;
    size_t charges, charge_room;
    uint64_t late; /* late call of the wait followed */
    bool aside;    /* the wait is of another thread than the main one */
    bool out_of_memory;
    struct late_hop hop[ANA_BACKTRACE_MOST + 1]; /* hop 0 leads to the begin of the way */
    struct piece piece[PIECES];
};

struct ana_backtrace *ana_backtrace_new(size_t ranks)
{
    struct ana_backtrace *backtrace = calloc(1, sizeof *backtrace);
    if (backtrace && (backtrace->of_rank = calloc(ranks + 1, 2 * sizeof *backtrace->of_rank)))
        return backtrace;
    free(backtrace);
    return NULL;
}

void ana_backtrace_free(struct ana_backtrace *backtrace)
{
    if (!backtrace)
        return;
    free(backtrace->of_segment);
    free(backtrace->of_rank);
    free(backtrace->waiter);
    free(backtrace->charge);
    free(backtrace);
}

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

static uint32_t kind_of(const struct ana_causes *causes, uint32_t segment)
{
    return segment ? ana_cause_segment_at(causes, segment)->segment_kind + KIND_FIRST : KIND_UNKNOWN;
}

/* Returns the piece of a segment or rank on the late rank's way; `of` is its entry. */
static inline uint16_t piece_of(struct ana_backtrace *backtrace, uint16_t *of, struct ana_cost *cost, uint32_t index,
                                uint32_t segment_kind)
{
    if (*of < backtrace->pieces && backtrace->piece[*of].of == of)
        return *of;
    backtrace->piece[backtrace->pieces] = (struct piece){of, 0, cost, index, segment_kind};
    return *of = (uint16_t)backtrace->pieces++;
}

/* Returns the piece of a rank's time in a segment, 0: unknown. */
static inline uint16_t outside_of(const struct ana_causes *causes, struct ana_backtrace *backtrace, uint32_t index,
                                  uint32_t segment)
{
    uint32_t segment_kind = kind_of(causes, segment);
    if (segment)
        return piece_of(backtrace, &backtrace->of_segment[segment - 1], &ana_cause_segment_at(causes, segment)->cost,
                        index, segment_kind);
    return piece_of(backtrace, &backtrace->of_rank[2 * (size_t)index + 1], &causes->rank_cost[index].unknown, index,
                    segment_kind);
}

/* Returns the piece of a rank's time in calls of a place. */
static inline uint16_t inside_of(const struct ana_causes *causes, struct ana_backtrace *backtrace, uint32_t index,
                                 uint32_t place)
{
    const uint32_t segment = ana_segment_inside(causes, index, place);
    if (segment)
        return outside_of(causes, backtrace, index, segment);
    return piece_of(backtrace, &backtrace->of_rank[2 * (size_t)index], &causes->rank_cost[index].inside, index,
                    KIND_INSIDE);
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

/* Begins the way of another late rank; the kept way is dropped. */
static inline void begin_late(const struct ana_causes *causes, struct ana_backtrace *backtrace, uint32_t index,
                              uint32_t number)
{
    backtrace->culprit = backtrace->index = index;
    backtrace->culprit_step = backtrace->number = number;
    backtrace->hops = backtrace->added = 0;
    backtrace->pieces = 1;
    backtrace->hop[0].to = ana_step_at(causes, index, number);
    backtrace->hop[0].pieces = 1;
}

/* Adds the times of another hop to its pieces. */
static inline void add_hop(struct ana_backtrace *backtrace, const struct late_hop *hop)
{
    struct piece *outside = &backtrace->piece[hop->outside], *inside = &backtrace->piece[hop->inside];
    outside->ns = ana_plus(outside->ns, hop->outside_ns);
    inside->ns = ana_plus(inside->ns, hop->inside_ns);
    backtrace->added++;
}

/* Makes the pieces hold the times of the first `hops` hops. */
static inline void add_hops(struct ana_backtrace *backtrace, uint32_t hops)
{
    for (uint32_t i = 1; hops < backtrace->added && i < backtrace->pieces; i++)
        backtrace->piece[i].ns = 0;
    backtrace->added = hops < backtrace->added ? 0 : backtrace->added;
    while (backtrace->added < hops)
        add_hop(backtrace, &backtrace->hop[backtrace->added + 1]);
}

/* Follows the late rank's way one hop further. */
static inline void hop_late(const struct ana_causes *causes, struct ana_backtrace *backtrace)
{
    struct ana_hop hop;
    uint32_t index = backtrace->index;
    const struct ana_cause_step *from = backtrace->hop[backtrace->hops].to;
    const struct ana_cause_step *to = ana_hop_back(causes, from, &backtrace->index, &backtrace->number, &hop);
    int64_t polled_ns = hop.begin_ns - hop.until_ns, called_ns = hop.ended_ns - hop.left_ns;
    struct late_hop *made = &backtrace->hop[++backtrace->hops];
    uint16_t outside = 0, inside = 0;
    if (polled_ns > 0)
        inside = inside_of(causes, backtrace, index, 0);
    if (hop.until_ns - hop.ended_ns > 0)
        outside = outside_of(causes, backtrace, index, hop.segment);
    if (called_ns > 0)
        inside = inside_of(causes, backtrace, index, hop.place);
    *made = (struct late_hop){
        .to = to,
        .outside_ns = hop.until_ns - hop.ended_ns,
        .inside_ns = ana_plus(polled_ns > 0 ? polled_ns : 0, called_ns > 0 ? called_ns : 0),
        .outside = outside,
        .inside = inside,
        .pieces = (uint16_t)backtrace->pieces,
    };
    if (backtrace->added + 1 == backtrace->hops)
        add_hop(backtrace, made);
}

static inline int64_t waiter_ns(const struct ana_backtrace *backtrace, const struct of_waiter *waiter)
{
    return waiter->wait == backtrace->wait ? waiter->ns : 0;
}

/* Adds time of a segment kind to the way of the waiter. */
static inline void add_to_waiter(struct ana_backtrace *backtrace, uint32_t segment_kind, int64_t ns)
{
    struct of_waiter *of = &backtrace->waiter[segment_kind];
    if (ns > 0)
        *of = (struct of_waiter){backtrace->wait, ana_plus(waiter_ns(backtrace, of), ns)};
}

/* Follows the waiter's way back from a step; returns the step that it comes to, NULL: none. */
static inline const struct ana_cause_step *hop_waiter(const struct ana_causes *causes, struct ana_backtrace *backtrace,
                                                      const struct ana_cause_step *step, uint32_t *index,
                                                      uint32_t *number, int64_t *inside_ns)
{
    struct ana_hop hop;
    const struct ana_cause_step *to = ana_hop_back(causes, step, index, number, &hop);
    int64_t polled_ns = hop.begin_ns - hop.until_ns, called_ns = hop.ended_ns - hop.left_ns;
    const uint32_t inside = ana_segment_inside(causes, hop.index, hop.place);
    if (polled_ns > 0)
        *inside_ns = ana_plus(*inside_ns, polled_ns);
    if (called_ns > 0 && !inside)
        *inside_ns = ana_plus(*inside_ns, called_ns);
    if (__builtin_expect(inside, 0))
        add_to_waiter(backtrace, kind_of(causes, inside), called_ns);
    add_to_waiter(backtrace, kind_of(causes, hop.segment), hop.until_ns - hop.ended_ns);
    return to;
}

/* Returns the step before the polls in which a wait lies, which is no part of the waiter's way; NULL: none. */
static __attribute__((noinline)) const struct ana_cause_step *leave_polls(const struct ana_causes *causes,
                                                                          struct ana_backtrace *backtrace,
                                                                          const struct ana_cause_step *step,
                                                                          uint32_t *index, uint32_t *number)
{
    struct ana_hop hop;
    const struct ana_cause_step *to = ana_hop_from(causes, step, false, index, number, &hop);
    if (hop.ended_ns > hop.left_ns)
        backtrace->waiter[KIND_INSIDE] = (struct of_waiter){backtrace->wait, hop.ended_ns - hop.left_ns};
    add_to_waiter(backtrace, kind_of(causes, hop.segment), hop.until_ns - hop.ended_ns);
    return to;
}

/* Whether a wait lies in polls before the waiter's step. */
static inline bool is_polled(const struct ana_late_wait *wait, const struct ana_cause_step *waiter)
{
    return waiter->spins && wait->end_ns <= waiter->begin_ns;
}

/* Follows both ways until they meet, the later one first; returns the number of hops on the late rank's. */
static inline uint32_t follow_both(const struct ana_causes *causes, struct ana_backtrace *backtrace,
                                   const struct ana_late_wait *wait)
{
    backtrace->wait++;
    uint32_t index = wait->waiter, number = wait->waiter_step, hops = 0;
    const struct ana_cause_step *late = backtrace->hop[0].to, *waiter = ana_step_at(causes, index, number);
    int64_t most = backtrace->left > ANA_BACKTRACE_MOST ? ANA_BACKTRACE_MOST
                   : backtrace->left < 8                ? 8
                                                        : backtrace->left,
            left = most;
    int64_t inside_ns = 0;
    if (waiter && __builtin_expect(is_polled(wait, waiter), 0)) {
        waiter = leave_polls(causes, backtrace, waiter, &index, &number);
        inside_ns = waiter_ns(backtrace, &backtrace->waiter[KIND_INSIDE]);
    }
    while (late && waiter && late != waiter && left > 0) {
        left--;
        if (late->begin_ns >= waiter->begin_ns) {
            if (hops++ == backtrace->hops)
                hop_late(causes, backtrace);
            late = backtrace->hop[hops].to;
        } else {
            waiter = hop_waiter(causes, backtrace, waiter, &index, &number, &inside_ns);
        }
    }
    backtrace->waiter[KIND_INSIDE] = (struct of_waiter){backtrace->wait, inside_ns};
    backtrace->left -= most - left;
    return hops;
}

/* ---- costs ------------------------------------------------------------------------------------------------------ */

/* Notes a charge; room has been made for it.  Others may be adding to the same cost. */
static inline void charge(struct ana_backtrace *backtrace, struct ana_cost *cost, int64_t ns, bool direct)
{
    backtrace->charge[backtrace->charges++] = (struct charge){cost, ns, backtrace->late, direct, backtrace->aside};
}

/* Makes room for this number of charges.  False: out of memory. */
static inline bool room_for(struct ana_backtrace *backtrace, size_t charges)
{
    size_t all = backtrace->charges + charges;
    if (all > backtrace->charge_room)
        backtrace->charge_room =
            ana_lengthen(&backtrace->charge, backtrace->charge_room, all, sizeof *backtrace->charge);
    return all <= backtrace->charge_room;
}

void ana_backtrace_charge(struct ana_causes *causes, struct ana_backtrace *backtrace)
{
    for (size_t i = 0; i < backtrace->charges; i++) {
        const struct charge *one = &backtrace->charge[i];
        int64_t *sum = one->direct ? &one->cost->direct_ns : &one->cost->passed_ns;
        *sum = ana_plus(*sum, one->ns);
        one->cost->aside_ns = ana_plus(one->cost->aside_ns, one->aside ? one->ns : 0);
        if (one->cost->late != one->late)
            one->cost->late_ns = 0;
        one->cost->late = one->late;
        if (one->ns > one->cost->late_ns) {
            one->cost->longest_ns = ana_plus(one->cost->longest_ns, one->ns - one->cost->late_ns);
            one->cost->late_ns = one->ns;
        }
        one->cost->waits++;
        one->cost->squares += (double)one->ns * (double)one->ns;
    }
    backtrace->charges = 0;
    causes->out_of_memory |= backtrace->out_of_memory;
}

/* Returns the excess of a piece on the late rank's way over the waiter's: of the piece alone; `all`: where all its
 * ranks together have more, however little each. */
static inline int64_t excess_of(const struct ana_backtrace *backtrace, const struct piece *piece, bool all)
{
    int64_t its_ns = waiter_ns(backtrace, &backtrace->waiter[piece->segment_kind]);
    if (all)
        return its_ns < 0 ? piece->ns : 0;
    return piece->ns - its_ns;
}

/* Charges a wait to the first `pieces` - 1 of the late rank's way by their excess.  False: none has any. */
static inline __attribute__((always_inline)) bool share_out(struct ana_backtrace *backtrace,
                                                            const struct ana_late_wait *wait, uint32_t pieces, bool all)
{
    double sum = 0, most = 0;
    const struct piece *worst = NULL;
    for (const struct piece *piece = &backtrace->piece[1]; piece < &backtrace->piece[pieces]; piece++) {
        int64_t excess_ns = excess_of(backtrace, piece, all);
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
    for (const struct piece *piece = &backtrace->piece[1]; sum > most && piece < &backtrace->piece[pieces]; piece++) {
        int64_t excess_ns = excess_of(backtrace, piece, all);
        if (excess_ns <= 0 || piece == worst)
            continue;
        int64_t ns = (int64_t)((double)wait->ns * ((double)excess_ns / sum));
        if (ns > 0)
            charge(backtrace, piece->cost, ns, piece->index == wait->culprit);
        left -= ns;
    }
    charge(backtrace, worst->cost, left, worst->index == wait->culprit);
    return true;
}

/* Charges a wait by the excess of all ranks together: each segment kind counts the time the waiter's way has more of
 * it. */
static __attribute__((noinline)) bool share_all(struct ana_backtrace *backtrace, const struct ana_late_wait *wait,
                                                uint32_t pieces)
{
    for (const struct piece *piece = &backtrace->piece[1]; piece < &backtrace->piece[pieces]; piece++) {
        struct of_waiter *its = &backtrace->waiter[piece->segment_kind];
        *its = (struct of_waiter){backtrace->wait, ana_plus(waiter_ns(backtrace, its), -piece->ns)};
    }
    return share_out(backtrace, wait, pieces, true);
}

/* Charges the end of a time span to its cost; returns the wait still to be charged. */
static int64_t charge_part(struct ana_backtrace *backtrace, struct ana_cost *cost, int64_t from_ns, int64_t to_ns,
                           int64_t left_ns, bool direct)
{
    int64_t ns = ana_earlier(to_ns - from_ns, left_ns);
    if (ns <= 0)
        return left_ns;
    charge(backtrace, cost, ns, direct);
    return left_ns - ns;
}

/* Charges a wait of a GPU to the work of the late rank, and of the ranks it had waited for, in that time before its
 * launch. */
static __attribute__((noinline)) void follow_device(const struct ana_causes *causes, struct ana_backtrace *backtrace,
                                                    const struct ana_late_wait *wait)
{
    uint32_t index = wait->culprit, number = wait->culprit_step;
    int64_t left = wait->ns;
    if (!room_for(backtrace, 3 * ANA_BACKTRACE_MOST + 1)) {
        backtrace->out_of_memory = true;
        return;
    }
    const struct ana_cause_step *step = ana_step_at(causes, index, number);
    for (int hops = 0; hops < ANA_BACKTRACE_MOST && left > 0 && step; hops++) {
        struct ana_hop hop;
        step = ana_hop_back(causes, step, &index, &number, &hop);
        bool direct = hop.index == wait->culprit;
        const uint32_t local = ana_segment_inside(causes, hop.index, hop.place);
        struct ana_cost *inside = &causes->rank_cost[hop.index].inside;
        struct ana_cost *called = local ? &ana_cause_segment_at(causes, local)->cost : inside;
        struct ana_cost *outside =
            hop.segment ? &ana_cause_segment_at(causes, hop.segment)->cost : &causes->rank_cost[hop.index].unknown;
        left = charge_part(backtrace, inside, hop.until_ns, hop.begin_ns, left, direct);
        left = charge_part(backtrace, outside, hop.ended_ns, hop.until_ns, left, direct);
        left = charge_part(backtrace, called, hop.left_ns, hop.ended_ns, left, direct);
    }
    if (left > 0)
        charge(backtrace, &causes->rank_cost[wait->culprit].unknown, left, true);
}

static inline void follow(const struct ana_causes *causes, struct ana_backtrace *backtrace,
                          const struct ana_late_wait *wait)
{
    bool kept = wait->culprit == backtrace->culprit && wait->culprit_step == backtrace->culprit_step;
    if (!kept)
        begin_late(causes, backtrace, wait->culprit, wait->culprit_step);
    uint32_t hops = follow_both(causes, backtrace, wait), pieces = backtrace->hop[hops].pieces;
    add_hops(backtrace, hops);
    if (!room_for(backtrace, pieces))
        backtrace->out_of_memory = true;
    else if (!share_out(backtrace, wait, pieces, false) && !share_all(backtrace, wait, pieces))
        charge(backtrace, &causes->rank_cost[wait->culprit].unknown, wait->ns, true);
}

int64_t ana_backtrace_follow(const struct ana_causes *causes, struct ana_backtrace *backtrace, uint64_t from,
                             uint64_t to, int64_t left)
{
    backtrace->left = left;
    backtrace->culprit = UINT32_MAX; /* the kept way may have been overwritten */
    const size_t segment_kinds = causes->segment_kinds + KIND_FIRST + 1;
    backtrace->segments =
        ana_lengthen(&backtrace->of_segment, backtrace->segments, causes->segments, sizeof *backtrace->of_segment);
    backtrace->segment_kinds =
        ana_lengthen(&backtrace->waiter, backtrace->segment_kinds, segment_kinds, sizeof *backtrace->waiter);
    if (causes->segments > backtrace->segments || segment_kinds > backtrace->segment_kinds) {
        backtrace->out_of_memory = true;
        return 0;
    }
    for (; from < to; from++) {
        const struct ana_late_wait *wait = &causes->wait[from % ANA_WAITS_PENDING];
        backtrace->late = (uint64_t)wait->culprit << 32 | wait->culprit_step;
        backtrace->aside = wait->aside;
        if (__builtin_expect(wait->device, 0))
            follow_device(causes, backtrace, wait);
        else
            follow(causes, backtrace, wait);
    }
    return left - backtrace->left;
}
