/* Steps and waits, kept until a wait is followed back (backtrace.c) and the run replayed (replay.c). */
#include "trace/cause/path.h"
#include "trace/cause/replay.h"
#include "trace/cause/backtrace.h"
#include "trace/util/grow.h"
#include "trace/util/pages.h"
#include "trace/util/times.h"
#include <string.h>

#define BATCH 1024u /* waits that are followed in one go because their time has come, at least */

uint32_t ana_steps_room(size_t ranks)
{
    uint32_t room = ANA_STEPS_OF_RANK;
    while (room > ANA_STEPS_LEAST && room * ranks > ANA_STEPS)
        room /= 2;
    return room;
}

/* Room for as many things as there are steps. */
static size_t size_of_steps(const struct ana_causes *causes, size_t each)
{
    return (causes->ranks * causes->room + ANA_STEPS_AHEAD) * each;
}

static void consume_facts(void *user, const void *facts, size_t n);

struct ana_causes *ana_causes_new(size_t ranks, struct ana_thread_pool *thread_pool)
{
    struct ana_causes *causes = calloc(1, sizeof *causes);
    if (!causes)
        return NULL;
    ana_map_init(&causes->inside, sizeof(uint32_t));
    causes->ranks = ranks;
    causes->room = ana_steps_room(ranks);
    causes->mask = causes->room - 1;
    causes->rank = calloc(ranks + 1, sizeof *causes->rank);
    causes->rank_cost = calloc(ranks + 1, sizeof *causes->rank_cost);
    causes->step = ana_pages_make(size_of_steps(causes, sizeof *causes->step), false);
    causes->until = ana_pages_make(size_of_steps(causes, sizeof *causes->until), false);
    causes->wait = malloc(ANA_WAITS_PENDING * sizeof *causes->wait);
    causes->thread_pool = thread_pool;
    causes->due_ns = INT64_MIN;
    for (size_t i = 0; causes->rank && i < ranks; i++)
        causes->rank[i].spins_ns = INT64_MIN;
    bool backtrace = true;
    for (unsigned i = 0; i < (thread_pool ? ANA_BACKTRACE_PARTS : 1); i++)
        backtrace &= (causes->backtrace[i] = ana_backtrace_new(ranks)) != NULL;
    causes->path = ana_path_new(ranks);
    causes->replay = ana_replay_new(ranks, causes->room);
    bool steps = causes->rank && causes->rank_cost && causes->step && causes->until;
    if (steps && causes->wait && backtrace && causes->path && causes->replay &&
        ana_queue_open(&causes->queue, thread_pool, sizeof(struct ana_run_fact), consume_facts, causes))
        return causes;
    ana_causes_free(causes);
    return NULL;
}

void ana_causes_free(struct ana_causes *causes)
{
    if (!causes)
        return;
    ana_queue_close(&causes->queue);
    ana_pages_drop(causes->step, size_of_steps(causes, sizeof *causes->step));
    ana_pages_drop(causes->until, size_of_steps(causes, sizeof *causes->until));
    free(causes->rank);
    free(causes->rank_cost);
    free(causes->segment);
    free(causes->place);
    ana_map_free(&causes->inside);
    free(causes->wait);
    for (unsigned i = 0; i < ANA_BACKTRACE_PARTS; i++)
        ana_backtrace_free(causes->backtrace[i]);
    ana_path_free(causes->path);
    ana_replay_free(causes->replay, causes->ranks);
    free(causes);
}

/* ---- due work --------------------------------------------------------------------------------------------------- */

/* Work in parts: the run is replayed (the first part), and waits are followed.  The parts do not depend on each
 * other. */
struct due {
    struct ana_causes *causes;
    int64_t replay_ns;  /* end of the replay; INT64_MIN: */
    uint32_t index, to; /* ... a rank, up to this step of its; 0: not at all */
    uint64_t waits;     /* number of waits to follow */
    size_t parts;       /* parts that follow waits */
    int64_t left;       /* steps on the ways of each part */
    int64_t gone[ANA_BACKTRACE_PARTS];
};

static void do_due(void *user, size_t part)
{
    struct due *due = user;
    struct ana_causes *causes = due->causes;
    if (part == 0) {
        if (due->replay_ns != INT64_MIN)
            ana_replay_until(causes, due->replay_ns);
        else if (due->to)
            ana_replay_to(causes, due->index, due->to);
        return;
    }
    uint64_t from = causes->followed + due->waits * (part - 1) / due->parts;
    uint64_t to = causes->followed + due->waits * part / due->parts;
    due->gone[part - 1] =
        ana_backtrace_follow(causes, causes->backtrace[causes->thread_pool ? part - 1 : 0], from, to, due->left);
}

/* Does the due work side by side, with the same result as in sequence. */
static void do_work(struct ana_causes *causes, struct due *due)
{
    due->causes = causes;
    due->parts = due->waits < ANA_BACKTRACE_FEW ? due->waits > 0 : (size_t)(due->waits / ANA_BACKTRACE_FEW);
    due->parts = due->parts < ANA_BACKTRACE_PARTS ? due->parts : ANA_BACKTRACE_PARTS;
    due->left = due->parts ? causes->backtrace_left / (int64_t)due->parts : 0;
    ana_thread_pool_run(causes->thread_pool, due->parts + 1, do_due, due);
    causes->followed += due->waits;
    causes->out_of_memory |= causes->replay->out_of_memory;
    for (size_t i = 0; i < due->parts; i++)
        causes->backtrace_left -= due->gone[i];
    for (size_t i = 0; i < (causes->thread_pool ? due->parts : 1); i++)
        ana_backtrace_charge(causes, causes->backtrace[i]);
}

/* Returns whether a wait ended by `due_ns`, or is more than `back` steps back in one of its ranks. */
static inline bool is_due(const struct ana_causes *causes, uint64_t number, int64_t due_ns, uint32_t back)
{
    const struct ana_late_wait *wait = &causes->wait[number % ANA_WAITS_PENDING];
    return wait->end_ns <= due_ns || causes->rank[wait->waiter].so_far - wait->waiter_step > back ||
           causes->rank[wait->culprit].so_far - wait->culprit_step > back;
}

static uint64_t count_due(const struct ana_causes *causes, int64_t due_ns, uint32_t back)
{
    uint64_t number = causes->followed;
    while (number < causes->waits && is_due(causes, number, due_ns, back))
        number++;
    return number - causes->followed;
}

/* Sets until when waits may be followed, if the job has come to `now_ns`; INT64_MAX: to its end. */
static void set_due(struct ana_causes *causes, int64_t now_ns)
{
    int64_t due_ns = now_ns == INT64_MAX ? now_ns : ana_plus(now_ns, -ANA_DELAY_LAG_NS);
    causes->due_ns = due_ns > causes->due_ns ? due_ns : causes->due_ns;
}

void ana_causes_follow(struct ana_causes *causes, int64_t now_ns)
{
    set_due(causes, now_ns);
    uint64_t due = count_due(causes, causes->due_ns, causes->room / 8 * 3);
    do_work(causes, &(struct due){.replay_ns = INT64_MIN, .waits = due});
}

/* Follows waits, and replays the steps of a rank, before the steps needed are overwritten.  Only where a rank begins
 * another turn of its ring: by then the segments to take out of the run were chosen. */
static void make_ring_room(struct ana_causes *causes, uint32_t index)
{
    uint32_t room = causes->room, so_far = causes->rank[index].so_far, done = causes->replay->rank[index].done;
    bool waits = causes->followed < causes->waits && is_due(causes, causes->followed, INT64_MIN, room / 2);
    if (!waits && so_far - done < room / 4 * 3)
        return;
    uint32_t least = done ? room / 8 * 5 : room / 4 * 3;
    do_work(causes, &(struct due){
                        .replay_ns = INT64_MIN,
                        .index = index,
                        .to = so_far - done < least ? 0 : so_far - room / 2,
                        .waits = count_due(causes, INT64_MIN, room / 8 * 3),
                    });
}

/* ---- segments, places, steps ------------------------------------------------------------------------------------- */

/* Makes room for the element of this number, + 1; elements before it not emitted yet are zero.  False: out of
 * memory. */
static bool room_for(void *array, size_t *count, size_t *room, size_t size, uint32_t number)
{
    for (; *count < number; ++*count) {
        if (!ana_grow(array, *count, room, size))
            return false;
        char *at;
        memcpy(&at, array, sizeof at);
        memset(at + *count * size, 0, size);
    }
    return true;
}

static void add_place(struct ana_causes *causes, const struct ana_run_fact *fact)
{
    if (!room_for(&causes->place, &causes->places, &causes->place_room, sizeof *causes->place, fact->index)) {
        causes->out_of_memory = true;
        return;
    }
    struct ana_cause_place *place = &causes->place[fact->index - 1];
    place->communicates = fact->place.communicates;
    place->edge = fact->place.edge;
    place->ideal = (ana_pair){place->communicates};
    place->ends = fact->place.ends;
}

static void add_segment(struct ana_causes *causes, const struct ana_run_fact *fact)
{
    if (!room_for(&causes->segment, &causes->segments, &causes->segment_room, sizeof *causes->segment, fact->index)) {
        causes->out_of_memory = true;
        return;
    }
    struct ana_cause_segment *segment = &causes->segment[fact->index - 1];
    segment->from = fact->segment.from;
    segment->segment_kind = fact->segment.segment_kind;
    if (segment->segment_kind > causes->segment_kinds)
        causes->segment_kinds = segment->segment_kind;
    if (!fact->segment.inside || fact->segment.inside > causes->places)
        return;
    uint32_t *inside = ana_map_add(&causes->inside, fact->segment.rank, fact->segment.inside, 0);
    causes->out_of_memory |= !inside;
    if (inside) {
        *inside = fact->index;
        causes->place[fact->segment.inside - 1].delays = true;
    }
}

/* Makes the ring of a rank, or follows waits that would lose their steps in it.  False: it has no ring. */
static bool begin_turn(struct ana_causes *causes, uint32_t index)
{
    struct ana_cause_rank *rank = &causes->rank[index];
    causes->backtrace_left += ANA_BACKTRACE_OF_STEP * ANA_STEPS_TURN;
    if (!rank->step) {
        rank->lost = rank->lost || !ana_replay_rank_begin(causes->replay, index, causes->room);
        rank->step = rank->lost ? NULL : causes->step + (size_t)index * causes->room;
        causes->out_of_memory |= rank->lost;
        return !rank->lost;
    }
    if (rank->so_far - causes->path->begin[index] >= causes->room / 4)
        ana_path_round(causes);
    make_ring_room(causes, index);
    return !rank->lost;
}

/* Stores how long a step's segment was, without the polls in it. */
static __attribute__((noinline)) void add_polls(const struct ana_causes *causes, struct ana_cause_rank *rank,
                                                struct ana_cause_step *step, uint32_t polled_ns)
{
    step->polled = 1;
    step->spins = rank->spins_ns != INT64_MIN;
    causes->until[step - causes->step] = step->spins ? rank->spins_ns : step->begin_ns - polled_ns;
    rank->spins_ns = INT64_MIN;
}

static inline void add_step(struct ana_causes *causes, const struct ana_run_fact *fact)
{
    struct ana_cause_rank *rank = &causes->rank[fact->index];
    if (__builtin_expect(rank->so_far % ANA_STEPS_TURN == 0, 0) && !begin_turn(causes, fact->index))
        return;
    rank->several |= fact->thread > 0;
    uint32_t number = ++rank->so_far, back = fact->call.back ? number - fact->call.back : 0;
    struct ana_cause_step *step = &rank->step[number & causes->mask];
    *step = (struct ana_cause_step){
        .begin_ns = fact->call.begin_ns,
        .end_ns = fact->call.end_ns,
        .segment = fact->call.segment,
        .place = (uint16_t)fact->call.place,
        .back = __builtin_expect(back > ANA_STEP_BACK_MOST, 0) ? ANA_STEP_BACK_MOST : back & ANA_STEP_BACK_MOST,
    };
    if (__builtin_expect(fact->call.segment > causes->segments || fact->call.place > causes->places, 0))
        step->segment = step->place = 0; /* memory ran out before they were emitted */
    if (__builtin_expect(rank->spins_ns != INT64_MIN || fact->call.polled_ns, 0))
        add_polls(causes, rank, step, fact->call.polled_ns);
    __builtin_prefetch(step + ANA_STEPS_AHEAD, 1);
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

/* Notes in the waiter's step who ended its wait last. */
static void set_releaser(const struct ana_causes *causes, const struct ana_late_wait *wait, int64_t release_ns)
{
    struct ana_cause_step *step = ana_step_at(causes, wait->waiter, wait->waiter_step);
    if (!step || !wait->culprit_step || (step->releaser && step->release_ns >= release_ns))
        return;
    step->release_ns = release_ns;
    step->releaser = wait->culprit + 1;
    step->releaser_step = wait->culprit_step;
}

/* Queues a wait, to be followed back once all before it is known. */
static void add_wait(struct ana_causes *causes, const struct ana_late_wait *wait)
{
    if (!wait->device)
        set_releaser(causes, wait, wait->end_ns);
    if (wait->ns <= 0)
        return;
    causes->waited_ns = ana_plus(causes->waited_ns, wait->ns);
    if (__builtin_expect(causes->waits - causes->followed == ANA_WAITS_PENDING, 0))
        do_work(causes, &(struct due){.replay_ns = INT64_MIN, .waits = ANA_WAITS_PENDING / 8});
    causes->wait[causes->waits++ % ANA_WAITS_PENDING] = *wait;
}

/* Whether a segment was chosen to be taken out.  The run is not replayed before, unless its steps would be lost: a
 * segment has a price from its choice on only. */
static bool has_scenario(const struct ana_replay *replay)
{
    for (uint32_t i = 1; i < ANA_SCENARIO_CALLS; i++)
        if (replay->scenario[i].what)
            return true;
    return false;
}

static void settle(struct ana_causes *causes, int64_t now_ns, bool replays, bool idle)
{
    bool last = now_ns == INT64_MAX;
    set_due(causes, now_ns);
    const int64_t due_ns = causes->due_ns;
    replays = idle || (replays && has_scenario(causes->replay));
    bool many =
        causes->waits - causes->followed >= BATCH && is_due(causes, causes->followed + BATCH - 1, due_ns, UINT32_MAX);
    if (!replays && !last && !many)
        return;
    struct due due = {.replay_ns = replays ? due_ns : INT64_MIN, .waits = count_due(causes, due_ns, UINT32_MAX)};
    if (replays && last)
        ana_replay_ends(causes);
    do_work(causes, &due);
}

/* ---- all facts --------------------------------------------------------------------------------------------------- */

static void consume_facts(void *user, const void *facts, size_t n)
{
    struct ana_causes *causes = user;
    const struct ana_run_fact *fact = facts;
    for (const struct ana_run_fact *stop = fact + n; fact < stop; fact++) {
        switch ((enum ana_run_fact_kind)fact->kind) {
        case ANA_RUN_CALL:
        case ANA_RUN_STEP:
            add_step(causes, fact);
            break;
        case ANA_RUN_POLLS:
            causes->rank[fact->index].spins_ns = fact->spins.begin_ns;
            break;
        case ANA_RUN_NEED:
        case ANA_RUN_MESSAGE:
            ana_replay_edge(causes, fact->index, fact->need.step, fact->need.of_index, fact->need.of_step);
            break;
        case ANA_RUN_WAIT:
            add_wait(causes, &fact->wait.late);
            break;
        case ANA_RUN_PLACE:
            add_place(causes, fact);
            break;
        case ANA_RUN_SEGMENT:
            add_segment(causes, fact);
            break;
        case ANA_RUN_ARRIVALS:
            ana_replay_arrivals(causes, fact->arrival, fact->index);
            break;
        case ANA_RUN_INSTANCE:
            ana_replay_instance(causes, fact);
            break;
        case ANA_RUN_JOINED:
            ana_replay_joined(causes, fact);
            break;
        case ANA_RUN_PROGRESS:
            settle(causes, fact->settle.now_ns, fact->settle.replays, fact->settle.idle);
            break;
        case ANA_RUN_MARK:
        case ANA_RUN_COUNT:
        case ANA_RUN_BYTES:
        case ANA_RUN_FOLD:
        case ANA_RUN_SENT:
            break;
        }
    }
}

struct ana_cost ana_causes_cost(const struct ana_causes *causes, uint32_t segment)
{
    return segment <= causes->segments ? causes->segment[segment - 1].cost : (struct ana_cost){0};
}
