/* The ranks of one collective, by communicator and sequence number. */
#include "trace/relations/match_impl.h"
#include "trace/util/hash.h"
#include <stdlib.h>
#include <string.h>

static uint32_t members(const struct trc_comm *comm)
{
    uint32_t size = comm->def.size > 0 ? (uint32_t)comm->def.size : 0;
    if (comm->def.flags & TRC_COMM_INTER && comm->def.remote_size > 0)
        size += (uint32_t)comm->def.remote_size;
    return size;
}

/* A number that is equal for functions that MPI lets meet in one collective, as MPI_Bcast and MPI_Bcast_c.  Each rank
 * has names of its own, which are cold in a job of many.  0: out of memory. */
static uint32_t operation_of(struct ana_match *match, const struct trc_call *call)
{
    size_t n = strlen(call->name);
    n -= n > 2 && strcmp(call->name + n - 2, "_c") == 0 ? 2 : 0;
    uint32_t *number = ana_map_add(&match->operations, ana_hash(call->name, n), n, 0);
    if (number && *number == 0)
        *number = (uint32_t)match->operations.count;
    return number ? *number : 0;
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

static struct ana_instance as_reported(const struct ana_open_instance *open)
{
    return (struct ana_instance){.call = open->call,
                                 .comm = open->comm,
                                 .comm_identity = open->identity,
                                 .sequence = open->sequence,
                                 .mismatched = open->mismatched,
                                 .nonblocking = open->nonblocking,
                                 .root = open->root,
                                 .arrivals = open->arrivals,
                                 .arrival = open->arrival};
}

static void report_instance(struct ana_match *match, const struct ana_open_instance *open)
{
    match->counts.instances++;
    match->counts.mismatched += open->mismatched;
    if (!match->sink.on_instance)
        return;
    struct ana_instance instance = as_reported(open);
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
    free(match->spare_arrival);
    match->spare_arrival = open->arrival;
    match->spare_room = open->room;
    ana_pool_free_item(&match->instance_pool, open);
    match->walked = NULL;
}

static void drop_oldest(struct ana_match *match)
{
    match->counts.incomplete++;
    forget_instance(match, match->oldest);
}

/* The rank index of the root that an event names. */
static uint32_t root_of(const struct ana_match *match, const struct ana_event *event)
{
    int32_t peer = event->sig->peer;
    if (peer == TRC_PEER_NONE)
        return ANA_NOBODY;
    return peer == TRC_PEER_ROOT ? (uint32_t)event->index : ana_match_partner(match, event, peer);
}

struct ana_route_meeting ana_coll_look_up(struct ana_match *match, const struct ana_event *event)
{
    const struct trc_comm *comm = event->use->comm;
    bool bystander = comm->def.flags & TRC_COMM_INTER && event->sig->peer == TRC_PEER_NULL;
    return (struct ana_route_meeting){.operation = operation_of(match, event->use->call),
                                      .root = root_of(match, event),
                                      .expected = members(comm),
                                      .comm_rank = bystander ? -1 : comm->def.rank};
}

/* Describes the operation by one event, without its arrivals. */
static struct ana_open_instance describe_instance(const struct ana_event *event, const struct ana_route *route,
                                                  const struct ana_route_meeting *meeting)
{
    return (struct ana_open_instance){.identity = route->identity,
                                      .sequence = event->sequence,
                                      .operation = meeting->operation,
                                      .call = event->use->call,
                                      .comm = event->use->comm,
                                      .first_index = (uint32_t)event->index,
                                      .root = meeting->root != ANA_NOBODY ? (int64_t)meeting->root : -1,
                                      .nonblocking = route->does & ANA_DOES_LATER,
                                      .expected = meeting->expected};
}

struct ana_open_instance *ana_coll_open(struct ana_match *match, const struct ana_open_instance *like)
{
    while (match->oldest && (match->instances.count >= ANA_MATCH_INSTANCES || match->kept_arrivals > ANA_MATCH_ENDS))
        drop_oldest(match);
    struct ana_open_instance *open = ana_pool_alloc(&match->instance_pool);
    if (!open)
        return NULL;
    *open = *like;
    struct ana_open_instance **place = ana_map_make(&match->instances, open->identity, open->sequence, 0);
    if (!place) {
        ana_pool_free_item(&match->instance_pool, open);
        return NULL;
    }
    *place = open;
    open->older = match->newest;
    *(match->newest ? &match->newest->newer : &match->oldest) = open;
    match->newest = open;
    match->walked = NULL;
    return open;
}

/* Makes room for more arrivals.  False: out of memory. */
static bool lengthen_arrivals(struct ana_match *match, struct ana_open_instance *open)
{
    size_t room = open->room ? open->room * 2 : 4;
    struct ana_arrival *moved = NULL;
    if (open->room == 0 && match->spare_room == open->expected) {
        moved = match->spare_arrival;
        room = match->spare_room;
        match->spare_arrival = NULL;
        match->spare_room = 0;
    } else {
        room = room > open->expected ? open->expected : room;
        moved = realloc(open->arrival, room * sizeof *moved);
    }
    if (!moved)
        return false;
    match->kept_arrivals += room - open->room;
    open->arrival = moved;
    open->room = room;
    return true;
}

/* The collective that an event belongs to, opened if nobody has come to it yet; NULL: out of memory. */
static struct ana_open_instance *instance_of(struct ana_match *match, const struct ana_event *event,
                                             const struct ana_route *route, const struct ana_route_meeting *meeting)
{
    struct ana_open_instance *newest = match->newest;
    if (newest && newest->sequence == event->sequence && newest->identity == route->identity)
        return newest;
    struct ana_open_instance **found = ana_map_find(&match->instances, route->identity, event->sequence, 0);
    if (found)
        return *found;
    struct ana_open_instance fresh = describe_instance(event, route, meeting);
    return ana_coll_open(match, &fresh);
}

/* Reports a collective that all members have come to. */
static void complete_instance(struct ana_match *match, struct ana_open_instance *open)
{
    struct ana_arrival *spare = open->arrivals > 24 ? malloc(open->arrivals / 2 * sizeof *spare) : NULL;
    sort_by_begin(open->arrival, open->arrivals, spare);
    free(spare);
    report_instance(match, open);
    forget_instance(match, open);
}

void ana_coll_arrive(struct ana_match *match, const struct ana_event *event, const struct ana_route *route,
                     const struct ana_route_meeting *meeting)
{
    /* It is not known which one of the others it belongs to. */
    if (trc_order_in_doubt(event->use->comm, event->sequence)) {
        match->counts.incomplete++;
        return;
    }
    if (route->does & ANA_DOES_REQUEST && match->sink.on_joined)
        ana_coll_request(match, event, route->identity);
    struct ana_arrival arrival = {.index = event->index,
                                  .begin_ns = event->begin_ns,
                                  .end_ns = event->end_ns,
                                  .comm_rank = meeting->comm_rank,
                                  .step = event->step};
    if (meeting->expected == 1) {
        struct ana_open_instance alone = describe_instance(event, route, meeting);
        alone.arrivals = 1;
        alone.arrival = &arrival;
        report_instance(match, &alone);
        return;
    }
    struct ana_open_instance *open = instance_of(match, event, route, meeting);
    if (!open || (open->arrivals == open->room && !lengthen_arrivals(match, open))) {
        if (open)
            forget_instance(match, open);
        match->counts.incomplete++;
        return;
    }
    open->arrival[open->arrivals++] = arrival;
    int64_t root = meeting->root != ANA_NOBODY ? (int64_t)meeting->root : -1;
    bool known = open->operation && meeting->operation; /* memory sufficed for both */
    open->mismatched |= known && open->operation != meeting->operation;
    open->mismatched |= open->root >= 0 && root >= 0 && open->root != root;
    open->root = open->root < 0 ? root : open->root;
    open->nonblocking |= route->does & ANA_DOES_LATER;
    if (open->arrivals == open->expected)
        complete_instance(match, open);
}

void ana_coll_free(struct ana_match *match)
{
    while (match->oldest)
        forget_instance(match, match->oldest);
    free(match->spare_arrival);
    match->spare_arrival = NULL;
    match->spare_room = 0;
}

/* ---- open collectives ------------------------------------------------------------------------------------------ */

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
    *out = as_reported(open);
    return true;
}
