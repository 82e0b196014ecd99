/* Collectives: the ranks that meet under one number of one communicator. */
#include "trace/check/check_impl.h"
#include <stdlib.h>

/* The members of a communicator. */
struct ana_group {
    uint32_t *rank; /* NULL: not known, or alone */
    size_t count;
    bool known;
};

struct ana_meeting {
    uint64_t identity, sequence;
    const struct ana_act **act; /* acts of the ranks that came, and the actors that wait */
    struct ana_actor **waiter;
    uint8_t *has; /* a bit for each rank of the job: it has come */
    size_t came, left, room, expected;
    size_t first; /* the members before this one have come */
    struct ana_stamp *stamp;
};

void ana_meetings_begin(struct ana_check *c)
{
    ana_map_init(&c->meetings, sizeof(struct ana_meeting *));
    ana_map_init(&c->groups, sizeof(struct ana_group));
}

static void find_members(struct ana_check *c, const struct ana_act *act, struct ana_group *group)
{
    size_t expected = (size_t)act->comm->def.size + (size_t)act->comm->def.remote_size;
    struct ana_range range = ana_members(c->job, act->rank, act->comm, false);
    group->rank = malloc((range.to - range.from + 1) * sizeof *group->rank);
    for (size_t m = range.from; group->rank && m < range.to; m++) {
        size_t index = ana_member(c->job, act->rank, act->comm, m);
        if (index < ana_job_ranks(c->job))
            group->rank[group->count++] = (uint32_t)index;
    }
    group->known = group->count == expected || expected == 1;
}

static struct ana_group *find_group(struct ana_check *c, const struct ana_act *act)
{
    struct ana_group *group = ana_map_find(&c->groups, act->identity, 0, 0);
    if (group)
        return group;
    group = ana_map_make(&c->groups, act->identity, 0, 0);
    if (group)
        find_members(c, act, group);
    c->memory |= !group || !group->rank;
    return group;
}

static struct ana_meeting *find_meeting(struct ana_check *c, const struct ana_act *act, uint64_t sequence)
{
    struct ana_meeting **place = ana_map_add(&c->meetings, act->identity, sequence, 0);
    if (place && !*place && (*place = calloc(1, sizeof **place))) {
        (*place)->has = calloc(ana_job_ranks(c->job) / 8 + 1, 1);
        (*place)->identity = act->identity;
        (*place)->sequence = sequence;
        (*place)->expected = (size_t)act->comm->def.size + (size_t)act->comm->def.remote_size;
    }
    return place ? *place : NULL;
}

static bool make_room(struct ana_meeting *meeting)
{
    if (meeting->came < meeting->room || !meeting->has)
        return meeting->has;
    size_t room = meeting->room ? meeting->room * 2 : 4;
    void *act = realloc(meeting->act, room * sizeof *meeting->act);
    meeting->act = act ? act : meeting->act;
    void *waiter = act ? realloc(meeting->waiter, room * sizeof *meeting->waiter) : NULL;
    meeting->waiter = waiter ? waiter : meeting->waiter;
    meeting->room = waiter ? room : meeting->room;
    return waiter != NULL;
}

static bool is_complete(const struct ana_meeting *meeting)
{
    return meeting->came >= meeting->expected;
}

static void free_meeting(struct ana_check *c, struct ana_meeting *meeting)
{
    ana_map_remove(&c->meetings, ana_map_find(&c->meetings, meeting->identity, meeting->sequence, 0));
    ana_stamp_drop(c, meeting->stamp);
    free(meeting->act);
    free(meeting->waiter);
    free(meeting->has);
    free(meeting);
}

/* The last member has come. */
static void end_meeting(struct ana_check *c, const struct ana_meeting *meeting)
{
    ana_check_agree(c, meeting->act, meeting->came, true);
    for (size_t i = 0; i < meeting->came; i++)
        if (meeting->waiter[i])
            ana_actor_wake(c, meeting->waiter[i]);
}

struct ana_meeting *ana_meeting_enter(struct ana_check *c, struct ana_actor *actor, const struct ana_act *act,
                                      uint64_t sequence, size_t *place)
{
    if (!act->comm || act->comm->def.size <= 0 || trc_order_in_doubt(act->comm, sequence))
        return NULL;
    const struct ana_group *group = find_group(c, act);
    struct ana_meeting *meeting = c->memory ? NULL : find_meeting(c, act, sequence);
    if (!meeting || !make_room(meeting)) {
        c->memory = true;
        return NULL;
    }
    if (is_complete(meeting)) /* damage: nobody can come to it any more */
        return NULL;
    *place = meeting->came++;
    meeting->waiter[*place] = NULL;
    meeting->act[*place] = act;
    meeting->has[act->rank / 8] |= (uint8_t)(1 << act->rank % 8);
    bool waits = group->known && !c->partial;
    if (waits && !meeting->stamp)
        meeting->stamp = ana_stamp_copy(c, actor);
    else
        ana_stamp_meet(meeting->stamp, actor);
    if (is_complete(meeting))
        end_meeting(c, meeting);
    if (waits)
        return meeting;
    if (is_complete(meeting))
        free_meeting(c, meeting);
    return NULL;
}

void ana_meeting_wait(struct ana_meeting *meeting, size_t place, struct ana_actor *actor)
{
    if (!meeting || is_complete(meeting))
        return;
    meeting->waiter[place] = actor;
    actor->missing++;
}

void ana_meeting_leave(struct ana_check *c, struct ana_meeting *meeting, size_t place, struct ana_actor *actor)
{
    if (!meeting)
        return;
    meeting->left++;
    if (!is_complete(meeting)) {
        meeting->waiter[place] = NULL;
        return;
    }
    ana_clock_join(actor, meeting->stamp);
    if (meeting->left == meeting->expected)
        free_meeting(c, meeting);
}

static bool has_come(const struct ana_meeting *meeting, uint32_t rank)
{
    return meeting->has[rank / 8] >> rank % 8 & 1;
}

uint32_t ana_meeting_missing(const struct ana_check *c, struct ana_meeting *meeting, size_t *at)
{
    const struct ana_group *group = ana_map_find(&c->groups, meeting->identity, 0, 0);
    while (meeting->first < group->count && has_come(meeting, group->rank[meeting->first]))
        meeting->first++;
    for (*at = *at > meeting->first ? *at : meeting->first; *at < group->count;) {
        uint32_t rank = group->rank[(*at)++];
        if (!has_come(meeting, rank))
            return rank;
    }
    return ANA_NO_RANK;
}

/* Some members never came.  That is an error where all have finalized: they will not come any more. */
static void judge_incomplete(struct ana_check *c, struct ana_meeting *meeting)
{
    const struct ana_group *group = ana_map_find(&c->groups, meeting->identity, 0, 0);
    bool over = group->known && !c->partial;
    size_t first = 0;
    for (size_t i = 0; i < group->count && over; i++)
        over = c->player[group->rank[i]].finalized;
    if (over)
        ana_found_add(c, ANA_CHECK_ALONE, meeting->act, meeting->came, "rank %s never called it",
                      ana_rank_label(c->job, ana_meeting_missing(c, meeting, &first)).text);
    else
        ana_check_agree(c, meeting->act, meeting->came, false);
}

void ana_check_incomplete(struct ana_check *c)
{
    for (size_t i = 0; i < c->meetings.count; i++) {
        struct ana_meeting *meeting = *(struct ana_meeting **)ana_map_value(&c->meetings, i);
        if (meeting && meeting->came > 0 && !is_complete(meeting))
            judge_incomplete(c, meeting);
    }
}

void ana_meetings_free(struct ana_check *c)
{
    for (size_t i = c->meetings.count; i-- > 0;) {
        struct ana_meeting *meeting = *(struct ana_meeting **)ana_map_value(&c->meetings, i);
        if (meeting)
            free_meeting(c, meeting);
    }
    for (size_t i = 0; i < c->groups.count; i++)
        free(((struct ana_group *)ana_map_value(&c->groups, i))->rank);
    ana_map_free(&c->groups);
    ana_map_free(&c->meetings);
}
