#include "trace/sums/store.h"
#include "trace/util/pages.h"
#include <stdlib.h>

bool ana_store_init(struct ana_store *store, size_t ranks)
{
    *store = (struct ana_store){
        .message = ana_pages_make(ANA_STORE_MESSAGES * sizeof *store->message, true),
        .places = ana_pages_make(ANA_STORE_MESSAGES * sizeof *store->places, true),
        .wait = ana_pages_make(ANA_STORE_WAITS * sizeof *store->wait, true),
        .last_wait = calloc(ranks + 1, sizeof *store->last_wait),
        .instance = ana_pages_make(ANA_STORE_INSTANCES * sizeof *store->instance, true),
        .found_at = ana_pages_make(ANA_STORE_INSTANCES * sizeof *store->found_at, true),
        .waits_since_ns = INT64_MIN,
    };
    ana_map_init(&store->comms, sizeof(uint32_t));
    if (store->message && store->places && store->wait && store->last_wait && store->instance && store->found_at)
        return true;
    ana_store_free(store);
    return false;
}

void ana_store_free(struct ana_store *store)
{
    ana_pages_drop(store->message, ANA_STORE_MESSAGES * sizeof *store->message);
    ana_pages_drop(store->places, ANA_STORE_MESSAGES * sizeof *store->places);
    ana_map_free(&store->comms);
    ana_pages_drop(store->wait, ANA_STORE_WAITS * sizeof *store->wait);
    free(store->last_wait);
    ana_pages_drop(store->instance, ANA_STORE_INSTANCES * sizeof *store->instance);
    ana_pages_drop(store->found_at, ANA_STORE_INSTANCES * sizeof *store->found_at);
    *store = (struct ana_store){0};
}

uint32_t ana_store_comm(struct ana_store *store, uint64_t identity)
{
    uint32_t *number = ana_map_add(&store->comms, identity, 0, 0);
    if (number && !*number)
        *number = (uint32_t)store->comms.count;
    return number ? *number : 0;
}

/* ---- instances -------------------------------------------------------------------------------------------------- */

/* Returns the head of the list that an instance is in.  Heads for consecutive ones of a communicator lie side by
 * side. */
static uint32_t *list_of(const struct ana_store *store, uint64_t identity, uint64_t sequence)
{
    uint64_t h = (identity ^ (identity >> 31)) * 0x9e3779b97f4a7c15u;
    return &store->found_at[((h >> 40) + sequence) % ANA_STORE_INSTANCES];
}

/* Removes the oldest one of all from its list, which it is the last of. */
static void forget_instance(struct ana_store *store, const struct ana_stored_instance *oldest)
{
    uint32_t *at = list_of(store, oldest->comm_identity, oldest->sequence),
             number = (uint32_t)(oldest - store->instance) + 1;
    while (*at && *at != number)
        at = &store->instance[*at - 1].next;
    *at = 0;
}

const struct ana_stored_instance *ana_store_put_instance(struct ana_store *store,
                                                         const struct ana_stored_instance *instance)
{
    uint32_t place = (uint32_t)(store->instances % ANA_STORE_INSTANCES);
    struct ana_stored_instance *slot = &store->instance[place];
    if (store->instances >= ANA_STORE_INSTANCES)
        forget_instance(store, slot);
    uint32_t *list = list_of(store, instance->comm_identity, instance->sequence);
    *slot = *instance;
    slot->next = *list;
    *list = place + 1;
    store->instances++;
    return slot;
}

const struct ana_stored_instance *ana_store_instance(struct ana_store *store, const struct ana_instance *instance,
                                                     uint32_t call, uint32_t place, int64_t lost_ns)
{
    const struct ana_arrival *first = instance->arrival, *last = first + instance->arrivals - 1;
    struct ana_stored_instance kept = {
        .comm_identity = instance->comm_identity,
        .sequence = instance->sequence,
        .comm = instance->comm,
        .place = place,
        .call = call,
        .last_index = (uint32_t)last->index,
        .arrivals = (uint32_t)instance->arrivals,
        .first_ns = first->begin_ns,
        .last_ns = last->begin_ns,
        .lost_ns = lost_ns,
        .mismatched = instance->mismatched,
    };
    return ana_store_put_instance(store, &kept);
}

const struct ana_stored_instance *ana_store_find(const struct ana_store *store, uint64_t identity, uint64_t sequence)
{
    for (uint32_t at = *list_of(store, identity, sequence); at; at = store->instance[at - 1].next) {
        const struct ana_stored_instance *kept = &store->instance[at - 1];
        if (kept->comm_identity == identity && kept->sequence == sequence)
            return kept;
    }
    return NULL;
}
