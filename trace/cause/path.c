/* The critical path; see path.h. */
#include "trace/cause/path.h"
#include "trace/cause/backtrace.h"
#include "trace/util/times.h"
#include "trace/util/grow.h"
#include <stdlib.h>
#include <string.h>

struct ana_path *ana_path_new(size_t ranks)
{
    struct ana_path *path = calloc(1, sizeof *path);
    if (!path)
        return NULL;
    path->root_ns = INT64_MIN;
    path->sums.begin_ns = INT64_MAX;
    path->begin = calloc(ranks + 1, sizeof *path->begin);
    path->cut = calloc(ranks + 1, sizeof *path->cut);
    if (path->begin && path->cut)
        return path;
    ana_path_free(path);
    return NULL;
}

void ana_path_sums_free(struct ana_path_sums *sums)
{
    free(sums->segment);
    free(sums->place);
    *sums = (struct ana_path_sums){0};
}

void ana_path_free(struct ana_path *path)
{
    if (!path)
        return;
    ana_path_sums_free(&path->sums);
    free(path->begin);
    free(path->cut);
    free(path);
}

/* ---- sums ------------------------------------------------------------------------------------------------------- */

/* Makes room for sums of all segments and places.  False: out of memory. */
static bool make_room(size_t segments, size_t places, struct ana_path_sums *sums)
{
    sums->segments = ana_lengthen(&sums->segment, sums->segments, segments, sizeof *sums->segment);
    sums->places = ana_lengthen(&sums->place, sums->places, places, sizeof *sums->place);
    return segments <= sums->segments && places <= sums->places;
}

static inline void add_to(int64_t *sum, int64_t ns)
{
    *sum = ana_plus(*sum, ns);
}

/* Adds a time in calls of a place; `to_ns` before `from_ns` is none. */
static inline void add_call(struct ana_path_sums *sums, uint32_t place, int64_t from_ns, int64_t to_ns)
{
    if (to_ns > from_ns)
        add_to(place ? &sums->place[place - 1] : &sums->unknown_ns, ana_plus(to_ns, -from_ns));
}

/* Adds a time in a segment; `to_ns` before `from_ns` is none. */
static inline void add_segment(struct ana_path_sums *sums, uint32_t segment, int64_t from_ns, int64_t to_ns)
{
    if (to_ns > from_ns)
        add_to(segment ? &sums->segment[segment - 1] : &sums->unknown_ns, ana_plus(to_ns, -from_ns));
}

/* Adds a time before a rank's first call or after its last; `to_ns` before `from_ns` is none. */
static void add_end(struct ana_path_sums *sums, int64_t from_ns, int64_t to_ns)
{
    if (to_ns > from_ns)
        add_to(&sums->ends_ns, ana_plus(to_ns, -from_ns));
}

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The rank's last step before `number` that had ended by then, of any thread; 0: none. */
static uint32_t ended_before(const struct ana_causes *causes, uint32_t index, uint32_t number, int64_t ns)
{
    enum { MOST = 64 };
    for (int i = 0; i < MOST && number > 1; i++) {
        const struct ana_cause_step *step = ana_step_at(causes, index, --number);
        if (!step)
            return 0;
        if (step->end_ns <= ns)
            return number;
    }
    return 0;
}

/* Returns the step of the rank itself that a way goes on to when it would end, or not lead back. */
static __attribute__((noinline)) struct ana_cause_step *next_of_rank(const struct ana_causes *causes, uint32_t own,
                                                                     uint32_t *number, struct ana_hop *hop)
{
    *number = ended_before(causes, hop->index, own, hop->until_ns);
    struct ana_cause_step *step = ana_step_at(causes, hop->index, *number);
    hop->segment = hop->known ? hop->segment : 0;
    hop->place = step ? step->place : 0;
    hop->ended_ns = step ? step->end_ns : hop->until_ns;
    hop->left_ns = step ? step->begin_ns : hop->until_ns;
    return step;
}

/* A way back, and where it has come to. */
struct trail {
    struct ana_cause_step *step; /* NULL: nowhere */
    uint32_t index, number;
};

static inline struct trail trail_from(const struct ana_causes *causes, uint32_t index, uint32_t number)
{
    return (struct trail){ana_step_at(causes, index, number), index, number};
}

/* Follows one hop back. */
static inline __attribute__((always_inline)) struct ana_hop hop_back(const struct ana_causes *causes,
                                                                     struct trail *trail)
{
    struct ana_hop hop;
    uint32_t index = trail->index, number = trail->number;
    struct ana_cause_step *step = ana_hop_back(causes, trail->step, &index, &number, &hop);
    if (__builtin_expect(!step || step->begin_ns > hop.begin_ns, 0)) {
        struct ana_hop own = hop;
        step = next_of_rank(causes, trail->number, &number, &own);
        index = own.index;
        hop = own;
    }
    *trail = (struct trail){step, index, number};
    return hop;
}

/* Adds the way back from the begin of a step, down to the root's time. */
static void add_way(const struct ana_causes *causes, struct trail trail, struct ana_path_sums *sums)
{
    int64_t floor_ns = causes->path->root_ns;
    uint64_t most = (uint64_t)causes->room * causes->ranks; /* damaged files may have circles */
    while (trail.step && trail.step->begin_ns > floor_ns && most-- > 0) {
        struct ana_hop hop = hop_back(causes, &trail);
        int64_t until_ns = later(hop.until_ns, floor_ns), ended_ns = later(hop.ended_ns, floor_ns);
        int64_t left_ns = later(hop.left_ns, floor_ns);
        add_call(sums, hop.polled, until_ns, hop.begin_ns);
        add_segment(sums, hop.segment, ended_ns, until_ns);
        add_call(sums, hop.place, left_ns, ended_ns);
        if (trail.step)
            add_to(&sums->unknown_ns, left_ns - later(trail.step->begin_ns, floor_ns));
        else if (floor_ns == INT64_MIN)
            sums->begin_ns = left_ns;
        else
            add_to(&sums->unknown_ns, left_ns - floor_ns);
    }
}

/* ---- rounds ----------------------------------------------------------------------------------------------------- */

/* Returns the rank whose way begins last, among ranks that have steps after the root. */
static uint32_t last_rank(const struct ana_causes *causes, const uint32_t *begin)
{
    uint32_t last = UINT32_MAX;
    int64_t last_ns = causes->path->root_ns;
    for (uint32_t i = 0; i < causes->ranks; i++) {
        const struct ana_cause_step *step = ana_step_at(causes, i, begin[i]);
        if (step && step->begin_ns > last_ns) {
            last = i;
            last_ns = step->begin_ns;
        }
    }
    return last;
}

/* Marks the steps of the first way with `round` * 2 + 1, as far back as `until_ns`; it ends at the root. */
static inline void mark_way(const struct ana_causes *causes, struct trail *first, int64_t until_ns)
{
    const struct ana_path *path = causes->path;
    uint32_t mark = path->round * 2 + 1;
    while (first->step && first->step->begin_ns >= until_ns) {
        if (first->step->begin_ns <= path->root_ns || first->step->mark == mark) {
            first->step = NULL;
            return;
        }
        first->step->mark = mark;
        hop_back(causes, first);
    }
}

/* Returns the begin of the first way's step that another way meets; the first one's marks are set as far as needed,
 * the other's are `round` * 2.  INT64_MAX: it meets another way first; INT64_MIN: it does not meet them after the
 * root. */
static int64_t meets(const struct ana_causes *causes, struct trail trail, struct trail *first)
{
    const struct ana_path *path = causes->path;
    for (; trail.step; hop_back(causes, &trail)) {
        struct ana_cause_step *step = trail.step;
        if (step->begin_ns <= path->root_ns)
            return INT64_MIN;
        mark_way(causes, first, step->begin_ns);
        if (step->mark / 2 == path->round)
            return step->mark % 2 ? step->begin_ns : INT64_MAX;
        step->mark = path->round * 2;
    }
    return INT64_MIN;
}

/* Follows the way from a step back to `ns`, makes that step the root, and adds the path before it. */
static void move_root(struct ana_causes *causes, struct trail trail, int64_t ns)
{
    struct ana_path *path = causes->path;
    while (trail.step && trail.step->begin_ns > ns)
        hop_back(causes, &trail);
    if (!trail.step || !make_room(causes->segments, causes->places, &path->sums)) {
        causes->out_of_memory |= trail.step != NULL;
        return;
    }
    add_way(causes, trail, &path->sums);
    path->root_ns = trail.step->begin_ns;
    for (uint32_t i = 0; i < causes->ranks; i++)
        path->cut[i] = ana_step_ended(causes, i, path->root_ns);
}

/* Whether the steps since the root will soon be overwritten. */
static bool is_pressed(const struct ana_causes *causes)
{
    for (uint32_t i = 0; i < causes->ranks; i++)
        if (causes->rank[i].so_far - causes->path->cut[i] > causes->room / 8 * 5)
            return true;
    return false;
}

void ana_path_round(struct ana_causes *causes)
{
    struct ana_path *path = causes->path;
    uint32_t last = last_rank(causes, path->begin);
    path->round++;
    if (last != UINT32_MAX) {
        const struct trail from = trail_from(causes, last, path->begin[last]);
        struct trail first = from;
        int64_t cut_ns = from.step->begin_ns, join_ns = cut_ns;
        for (uint32_t i = 0; i < causes->ranks && join_ns != INT64_MIN; i++) {
            const struct trail trail = trail_from(causes, i, path->begin[i]);
            if (i != last && trail.step && trail.step->begin_ns > path->root_ns)
                join_ns = ana_earlier(join_ns, meets(causes, trail, &first));
        }
        bool cut = join_ns == INT64_MIN && is_pressed(causes);
        path->cuts += cut;
        if (cut || join_ns > path->root_ns)
            move_root(causes, from, cut ? cut_ns : join_ns);
    }
    for (uint32_t i = 0; i < causes->ranks; i++)
        path->begin[i] = causes->rank[i].so_far;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static bool copy_sums(const struct ana_causes *causes, const struct ana_path_sums *from, struct ana_path_sums *out)
{
    *out = *from;
    out->segment = out->place = NULL;
    out->segments = out->places = 0;
    if (!make_room(causes->segments, causes->places, out) || !make_room(from->segments, from->places, out))
        return false;
    if (from->segments)
        memcpy(out->segment, from->segment, from->segments * sizeof *out->segment);
    if (from->places)
        memcpy(out->place, from->place, from->places * sizeof *out->place);
    return true;
}

/* Returns the rank that the path ends at: the one that computes, the longest; else the one that last entered the call
 * that it is in, or was. */
static uint32_t end_of(const struct ana_causes *causes, const struct ana_path_end *end)
{
    uint32_t best = UINT32_MAX;
    bool computes = false;
    int64_t best_ns = INT64_MIN;
    for (uint32_t i = 0; i < causes->ranks; i++) {
        const struct ana_cause_step *step = ana_step_at(causes, i, causes->rank[i].so_far);
        bool outside = step && !end[i].over && end[i].inside_ns == INT64_MIN;
        int64_t ns = !step                           ? INT64_MIN
                     : outside                       ? -step->end_ns
                     : end[i].inside_ns != INT64_MIN ? end[i].inside_ns
                                                     : step->begin_ns;
        if (!step || (computes && !outside) || (best != UINT32_MAX && computes == outside && ns <= best_ns))
            continue;
        best = i;
        best_ns = ns;
        computes = outside;
    }
    return best;
}

bool ana_path_decode(struct ana_causes *causes, const struct ana_path_end *end, int64_t begin_ns, int64_t end_ns,
                     struct ana_path_sums *out)
{
    if (!copy_sums(causes, &causes->path->sums, out)) {
        ana_path_sums_free(out);
        return false;
    }
    uint32_t index = end_of(causes, end);
    const struct ana_cause_step *step =
        index == UINT32_MAX ? NULL : ana_step_at(causes, index, causes->rank[index].so_far);
    if (!step)
        return true;
    int64_t floor_ns = causes->path->root_ns;
    add_end(out, later(step->end_ns, floor_ns), end_ns);
    bool waited = step->releaser && step->release_ns > step->begin_ns;
    add_call(out, step->place, later(waited ? step->release_ns : step->begin_ns, floor_ns), step->end_ns);
    add_way(causes,
            waited ? trail_from(causes, step->releaser - 1, step->releaser_step)
                   : trail_from(causes, index, causes->rank[index].so_far),
            out);
    if (out->begin_ns != INT64_MAX)
        add_end(out, begin_ns, out->begin_ns);
    return true;
}

int64_t ana_path_length(const struct ana_path_sums *sums)
{
    int64_t all = ana_plus(sums->ends_ns, sums->unknown_ns);
    for (size_t i = 0; i < sums->segments; i++)
        all = ana_plus(all, sums->segment[i]);
    for (size_t i = 0; i < sums->places; i++)
        all = ana_plus(all, sums->place[i]);
    return all;
}
