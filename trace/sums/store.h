/* The latest relations, kept for the time under the cursor and for time ranges. Bounded: the newest ANA_STORE_MESSAGES
 * messages, ANA_STORE_WAITS wait states and ANA_STORE_INSTANCES collective instances.  Replaced ones are unknown. */
#pragma once

#include "trace/relations/relations.h"
#include "trace/relations/waits.h"
#include "trace/util/hash_map.h"

#define ANA_STORE_MESSAGES  (1u << 19)
#define ANA_STORE_WAITS     (1u << 19)
#define ANA_STORE_INSTANCES (1u << 18)

struct ana_stored_message {
    uint32_t source, destination;
    uint64_t bytes;
    int64_t send_begin_ns, send_wait_ns, send_complete_ns; /* see ana_message; complete INT64_MIN: not seen */
    int64_t recv_begin_ns, recv_wait_ns, recv_complete_ns;
};

/* Places that begin and complete messages; beside them, so that a message stays a line of the cache. */
struct ana_stored_places {
    uint32_t comm, send, receive; /* number of ana_store_comm; places of trace/why, + 1, 0: unknown */
};

struct ana_stored_instance {
    uint64_t comm_identity, sequence;
    const struct trc_comm *comm;
    uint32_t place;            /* place of trace/why, + 1, on its first rank; 0: unknown */
    uint32_t call, last_index; /* call: job-wide number */
    uint32_t arrivals;
    int64_t first_ns, last_ns; /* arrivals */
    int64_t lost_ns;
    bool mismatched;
    uint32_t next; /* hash chain: previous instance that may have the same key, its place in the ring, + 1; 0: none */
};

struct ana_stored_wait {
    enum ana_wait_kind kind;
    uint32_t waiter, culprit, call; /* call: job-wide number of the one that the waiter is in */
    uint32_t comm, place;           /* communicator and place of `call`, as in ana_stored_places */
    uint32_t site;                  /* sum of the waiter's call site in the tally of the run, + 1; 0: unknown */
    uint32_t segment;               /* segment of the culprit before it came, number of trace/why, + 1; 0: unknown */
    float segment_ns;               /* duration of `segment` */
    uint64_t before;                /* the waiter's wait before this one, as a number of waits so far; 0: none */
    int64_t begin_ns, end_ns;
};

struct ana_store {
    struct ana_stored_message *message;
    struct ana_stored_places *places; /* places of each message */
    struct ana_map comms;             /* identity of a communicator; its number is its place in here, + 1 */
    struct ana_stored_wait *wait;
    uint64_t *last_wait; /* last wait of each rank, as a number of waits so far; 0: none */
    struct ana_stored_instance *instance;
    uint32_t *found_at; /* hash of ana_store_find's key -> newest candidate, as in ana_stored_instance.next */
    uint64_t messages, waits, instances; /* numbers so far, replaced ones included */
    int64_t waits_since_ns;              /* all that ended later are here; INT64_MIN: all */
};

/* Makes room for a job of `ranks` ranks.  False: out of memory. */
bool ana_store_init(struct ana_store *store, size_t ranks);
/* Frees it; the struct is the caller's. */
void ana_store_free(struct ana_store *store);
/* Stores a message; returns the stored one, valid until the next.  Inline, because each message passes here. */
static inline const struct ana_stored_message *ana_store_message(struct ana_store *store, const struct ana_message *m,
                                                                 struct ana_stored_places places)
{
    struct ana_stored_message *slot = &store->message[store->messages % ANA_STORE_MESSAGES];
    store->places[store->messages % ANA_STORE_MESSAGES] = places;
    store->messages++;
    *slot = (struct ana_stored_message){
        .source = (uint32_t)m->source,
        .destination = (uint32_t)m->destination,
        .bytes = m->bytes,
        .send_begin_ns = m->send_begin_ns,
        .send_wait_ns = m->send_wait_begin_ns,
        .send_complete_ns = m->send_complete_ns,
        .recv_begin_ns = m->recv_begin_ns,
        .recv_wait_ns = m->recv_wait_begin_ns,
        .recv_complete_ns = m->recv_complete_ns,
    };
    return slot;
}

/* Stores a wait state; `more` has the members that the span lacks.  Returns the stored one, valid until the next. */
static inline const struct ana_stored_wait *ana_store_wait(struct ana_store *store, const struct ana_wait_span *span,
                                                           const struct ana_stored_wait *more)
{
    struct ana_stored_wait *slot = &store->wait[store->waits % ANA_STORE_WAITS];
    if (store->waits++ >= ANA_STORE_WAITS && slot->end_ns > store->waits_since_ns)
        store->waits_since_ns = slot->end_ns;
    *slot = (struct ana_stored_wait){
        .kind = span->kind,
        .waiter = (uint32_t)span->waiter,
        .culprit = (uint32_t)span->culprit,
        .call = more->call,
        .comm = more->comm,
        .place = more->place,
        .site = more->site,
        .segment = more->segment,
        .segment_ns = more->segment_ns,
        .before = store->last_wait[span->waiter],
        .begin_ns = span->begin_ns,
        .end_ns = span->end_ns,
    };
    store->last_wait[span->waiter] = store->waits;
    return slot;
}
/* Stores a collective instance; `call` is job-wide, `place` as in ana_stored_instance.  Returns the stored one, valid
 * until the next. */
const struct ana_stored_instance *ana_store_instance(struct ana_store *store, const struct ana_instance *instance,
                                                     uint32_t call, uint32_t place, int64_t lost_ns);
/* Stores a copy of `instance`, except `next`.  Returns it, valid until the next. */
const struct ana_stored_instance *ana_store_put_instance(struct ana_store *store,
                                                         const struct ana_stored_instance *instance);
/* The number of a communicator by its identity, + 1; 0: out of memory. */
uint32_t ana_store_comm(struct ana_store *store, uint64_t identity);

/* Returns the number of kept ones among `so_far`, given room for `room`. */
static inline size_t ana_store_count(uint64_t so_far, size_t room)
{
    return so_far < room ? (size_t)so_far : room;
}
/* Message i, 0 <= i < ana_store_count(); the newest is 0. */
static inline const struct ana_stored_message *ana_store_message_at(const struct ana_store *store, size_t i)
{
    return &store->message[(store->messages - 1 - i) % ANA_STORE_MESSAGES];
}
/* Returns the places that began and completed message i. */
static inline const struct ana_stored_places *ana_store_places_at(const struct ana_store *store, size_t i)
{
    return &store->places[(store->messages - 1 - i) % ANA_STORE_MESSAGES];
}
/* Instance i, 0 <= i < ana_store_count(); the newest is 0. */
static inline const struct ana_stored_instance *ana_store_instance_at(const struct ana_store *store, size_t i)
{
    return &store->instance[(store->instances - 1 - i) % ANA_STORE_INSTANCES];
}
/* Wait state i, 0 <= i < ana_store_count(); the newest is 0. */
static inline const struct ana_stored_wait *ana_store_wait_at(const struct ana_store *store, size_t i)
{
    return &store->wait[(store->waits - 1 - i) % ANA_STORE_WAITS];
}
/* The wait state of this number, for a walk over one rank from last_wait[] by `before`; NULL past the oldest kept. */
static inline const struct ana_stored_wait *ana_store_wait_of(const struct ana_store *store, uint64_t number)
{
    bool kept = number && number + ANA_STORE_WAITS > store->waits;
    return kept ? &store->wait[(number - 1) % ANA_STORE_WAITS] : NULL;
}
/* The instance of a communicator with this sequence number; NULL: it is not kept, or no longer. */
const struct ana_stored_instance *ana_store_find(const struct ana_store *store, uint64_t comm_identity,
                                                 uint64_t sequence);
