/* The ranks of one collective, by communicator and sequence number. */
#include "trace/relations/match_impl.h"
#include <stdlib.h>
#include <string.h>

static size_t members(const struct trc_comm *comm)
{
    int64_t size = comm->def.size > 0 ? comm->def.size : 0;
    if (comm->def.flags & TRC_COMM_INTER && comm->def.remote_size > 0)
        size += comm->def.remote_size;
    return (size_t)size;
}

/* World rank of member i, those of the local group first. */
static int32_t member_rank(const struct trc_comm *comm, size_t i)
{
    size_t size = (size_t)comm->def.size;
    return i < size ? trc_comm_world_rank(comm, (int32_t)i, false)
                    : trc_comm_world_rank(comm, (int32_t)(i - size), true);
}

/* Whether MPI lets two functions meet in one collective: MPI_Bcast and MPI_Bcast_c. */
static bool same_operation(const struct trc_call *a, const struct trc_call *b)
{
    if (a == b || strcmp(a->name, b->name) == 0)
        return true;
    size_t n = strlen(a->name), m = strlen(b->name);
    n -= n > 2 && strcmp(a->name + n - 2, "_c") == 0 ? 2 : 0;
    m -= m > 2 && strcmp(b->name + m - 2, "_c") == 0 ? 2 : 0;
    return n == m && memcmp(a->name, b->name, n) == 0;
}

/* Sorts arrivals.  Stable, and fast where little is out of order: events come by their ends. */
static void sort_by_begin(struct ana_arrival *arrival, size_t n, struct ana_arrival *spare)
{
    if (n <= 24 || !spare) {
        for (size_t i = 1; i < n; i++) {
            struct ana_arrival moving = arrival[i];
            size_t hole = i;
            for (; hole > 0 && arrival[hole - 1].begin_ns > moving.begin_ns; hole--)
                arrival[hole] = arrival[hole - 1];
            arrival[hole] = moving;
        }
        return;
    }
    size_t half = n / 2, a = 0, b = half, out = 0;
    sort_by_begin(arrival, half, spare);
    sort_by_begin(arrival + half, n - half, spare);
    if (arrival[half - 1].begin_ns <= arrival[half].begin_ns)
        return;
    memcpy(spare, arrival, half * sizeof *spare);
    while (a < half)
        arrival[out++] = b < n && arrival[b].begin_ns < spare[a].begin_ns ? arrival[b++] : spare[a++];
}

static void report_instance(struct ana_match *match, const struct ana_open_instance *open)
{
    match->counts.instances++;
    match->counts.mismatched += open->mismatched;
    if (!match->sink.on_instance)
        return;
    struct ana_instance instance = {.call = open->call,
                                    .comm = open->comm,
                                    .comm_identity = open->identity,
                                    .sequence = open->sequence,
                                    .mismatched = open->mismatched,
                                    .nonblocking = open->nonblocking,
                                    .root = open->root,
                                    .arrivals = open->arrivals,
                                    .arrival = open->arrival};
    match->sink.on_instance(match->sink.user, &instance);
    if (open->nonblocking && !open->mismatched && open->arrivals > 1 && match->sink.on_joined)
        ana_coll_all_begun(match, open);
}

static void forget_instance(struct ana_match *match, struct ana_open_instance *open)
{
    *(open->older ? &open->older->newer : &match->oldest) = open->newer;
    *(open->newer ? &open->newer->older : &match->newest) = open->older;
    ana_map_remove(&match->instances, ana_map_find(&match->instances, open->identity, open->sequence, 0));
    match->kept_arrivals -= open->room;
    free(open->arrival);
    ana_pool_give(&match->instance_pool, open);
    match->walked = NULL;
}

static void give_up_oldest(struct ana_match *match)
{
    match->counts.incomplete++;
    forget_instance(match, match->oldest);
}

/* The rank index of the root that an event names; -1: none. */
static int64_t root_of(const struct ana_match *match, const struct ana_event *event)
{
    int32_t peer = event->sig->peer;
    if (peer == TRC_PEER_NONE)
        return -1;
    uint32_t root = peer == TRC_PEER_ROOT ? (uint32_t)event->index : ana_match_partner(match, event, peer);
    return root != ANA_NOBODY ? (int64_t)root : -1;
}

static bool is_nonblocking(const struct ana_event *event)
{
    return event->sig->flags & (TRC_SIG_START | TRC_SIG_SUB | TRC_SIG_ENQUEUE);
}

/* Describes the operation by one event, without its arrivals. */
static struct ana_open_instance describe_instance(const struct ana_match *match, const struct ana_event *event,
                                                  uint64_t identity)
{
    return (struct ana_open_instance){.identity = identity,
                                      .sequence = event->sequence,
                                      .call = event->use->call,
                                      .comm = event->use->comm,
                                      .first_index = (uint32_t)event->index,
                                      .root = root_of(match, event),
                                      .nonblocking = is_nonblocking(event),
                                      .expected = members(event->use->comm)};
}

struct ana_open_instance *ana_coll_open(struct ana_match *match, const struct ana_open_instance *like)
{
    while (match->oldest && (match->instances.count >= ANA_MATCH_INSTANCES || match->kept_arrivals > ANA_MATCH_ENDS))
        give_up_oldest(match);
    struct ana_open_instance *open = ana_pool_take(&match->instance_pool);
    if (!open)
        return NULL;
    *open = *like;
    struct ana_open_instance **place = ana_map_make(&match->instances, open->identity, open->sequence, 0);
    if (!place) {
        ana_pool_give(&match->instance_pool, open);
        return NULL;
    }
    *place = open;
    open->older = match->newest;
    *(match->newest ? &match->newest->newer : &match->oldest) = open;
    match->newest = open;
    match->walked = NULL;
    return open;
}

static bool append_arrival(struct ana_match *match, struct ana_open_instance *open, struct ana_arrival arrival)
{
    if (open->arrivals == open->room) {
        size_t room = open->room ? open->room * 2 : 4;
        room = room > open->expected ? open->expected : room;
        struct ana_arrival *moved = realloc(open->arrival, room * sizeof *moved);
        if (!moved)
            return false;
        match->kept_arrivals += room - open->room;
        open->arrival = moved;
        open->room = room;
    }
    open->arrival[open->arrivals++] = arrival;
    return true;
}

void ana_coll_arrive(struct ana_match *match, const struct ana_event *event, uint64_t identity)
{
    if (!event->use->comm || event->use->comm->def.size <= 0)
        return;
    if (trc_order_in_doubt(event->use->comm,
                           event->sequence)) { /* it is not known which collective of the others it belongs to */
        match->counts.incomplete++;
        return;
    }
    if (event->sig->flags & TRC_SIG_START && match->sink.on_joined)
        ana_coll_request(match, event, identity);
    bool bystander = event->use->comm->def.flags & TRC_COMM_INTER && event->sig->peer == TRC_PEER_NULL;
    struct ana_arrival arrival = {.index = event->index,
                                  .begin_ns = event->begin_ns,
                                  .end_ns = event->end_ns,
                                  .comm_rank = bystander ? -1 : event->use->comm->def.rank,
                                  .step = event->step};
    if (members(event->use->comm) == 1) {
        struct ana_open_instance alone = describe_instance(match, event, identity);
        alone.arrivals = 1;
        alone.arrival = &arrival;
        report_instance(match, &alone);
        return;
    }
    struct ana_open_instance **found = ana_map_find(&match->instances, identity, event->sequence, 0), *open;
    if (found) {
        open = *found;
    } else {
        struct ana_open_instance fresh = describe_instance(match, event, identity);
        open = ana_coll_open(match, &fresh);
    }
    if (!open || !append_arrival(match, open, arrival)) {
        if (open)
            forget_instance(match, open);
        match->counts.incomplete++;
        return;
    }
    int64_t root = root_of(match, event);
    bool roots_differ = open->root >= 0 && root >= 0 && open->root != root;
    if (roots_differ || !same_operation(open->call, event->use->call))
        open->mismatched = true;
    if (open->root < 0)
        open->root = root;
    open->nonblocking |= is_nonblocking(event);
    if (open->arrivals < open->expected)
        return;
    struct ana_arrival *spare = open->arrivals > 24 ? malloc(open->arrivals / 2 * sizeof *spare) : NULL;
    sort_by_begin(open->arrival, open->arrivals, spare);
    free(spare);
    report_instance(match, open);
    forget_instance(match, open);
}

void ana_coll_free(struct ana_match *match)
{
    while (match->oldest)
        forget_instance(match, match->oldest);
}

/* ---- what is open ---------------------------------------------------------------------------------------------- */

size_t ana_match_open_instances(const struct ana_match *match)
{
    return match->instances.count;
}

/* The i-th oldest open instance.  Goes on from the one asked for last, so that a walk over all is linear. */
static const struct ana_open_instance *open_at(struct ana_match *match, size_t i)
{
    if (i >= match->instances.count)
        return NULL;
    if (!match->walked || match->walked_at > i) {
        match->walked = match->oldest;
        match->walked_at = 0;
    }
    for (; match->walked_at < i; match->walked_at++)
        match->walked = match->walked->newer;
    return match->walked;
}

bool ana_match_open_instance(struct ana_match *match, size_t i, struct ana_instance *out)
{
    const struct ana_open_instance *open = open_at(match, i);
    if (!open)
        return false;
    *out = (struct ana_instance){.call = open->call,
                                 .comm = open->comm,
                                 .comm_identity = open->identity,
                                 .sequence = open->sequence,
                                 .mismatched = open->mismatched,
                                 .nonblocking = open->nonblocking,
                                 .root = open->root,
                                 .arrivals = open->arrivals,
                                 .arrival = open->arrival};
    return true;
}

size_t ana_match_missing(struct ana_match *match, size_t i, size_t *out, size_t max)
{
    const struct ana_open_instance *open = open_at(match, i);
    if (!open)
        return 0;
    bool *came = calloc(match->processes + 1, sizeof *came);
    for (size_t a = 0; came && a < open->arrivals; a++)
        came[open->arrival[a].index] = true;
    size_t missing = open->expected - open->arrivals, n = 0;
    /* Only as many members as there are ranks can be missing; the size is a number of a file. */
    size_t most = open->expected < match->processes + max ? open->expected : match->processes + max;
    for (size_t m = 0; came && m < most && n < missing && n < max; m++) {
        uint32_t index = ana_match_index(match, open->first_index, member_rank(open->comm, m));
        if (index == ANA_NOBODY || !came[index])
            out[n++] = index == ANA_NOBODY ? SIZE_MAX : index;
    }
    while (came && n < missing && n < max)
        out[n++] = SIZE_MAX;
    free(came);
    return missing;
}
