/* The newest collectives of any communicators are kept, each one, whatever identities they have by
 * chance. */
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "trace/sums/store.h"
#include <stdlib.h>

enum { COMMS = 3000, MORE = 2 * ANA_STORE_INSTANCES + ANA_STORE_INSTANCES / 3 };

static struct made {
    uint64_t identity, sequence;
} made[MORE];

static bool is_kept(const struct ana_store *store, size_t i)
{
    const struct ana_stored_instance *found = ana_store_find(store, made[i].identity, made[i].sequence);
    return found && found->comm_identity == made[i].identity && found->sequence == made[i].sequence &&
           found->first_ns == (int64_t)i;
}

/* Counts the kept ones of [from, to). */
static size_t count_kept(const struct ana_store *store, size_t from, size_t to)
{
    size_t kept = 0;
    for (size_t i = from; i < to; i++)
        kept += is_kept(store, i);
    return kept;
}

int main(void)
{
    static uint64_t identity[COMMS], sequence[COMMS];
    struct ana_store store;
    uint64_t seed = 7;
    CHECK(ana_store_init(&store, 2));
    for (int c = 0; c < COMMS; c++) /* some differ in a bit or two, as identities of counters do */
        identity[c] = c % 3 ? (uint64_t)draw(&seed, INT32_MAX) << 32 | draw(&seed, INT32_MAX) : (uint64_t)c;
    CHECK(!ana_store_find(&store, identity[0], 0), "of nothing");
    for (size_t i = 0; i < MORE; i++) {
        size_t c = i % 2 ? draw(&seed, COMMS) : draw(&seed, 3); /* a few have most */
        made[i] = (struct made){identity[c], sequence[c]++};
        struct ana_arrival arrival[2] = {{.begin_ns = (int64_t)i}, {.begin_ns = (int64_t)i + 5, .index = 1}};
        struct ana_instance instance = {
            .comm_identity = made[i].identity, .sequence = made[i].sequence, .arrivals = 2, .arrival = arrival};
        ana_store_instance(&store, &instance, 3, 4, 5);
        if (i + 1 == ANA_STORE_INSTANCES)
            CHECK(count_kept(&store, 0, i + 1) == i + 1, "as many as there is room for");
    }
    size_t first = MORE - ANA_STORE_INSTANCES;
    CHECK(count_kept(&store, first, MORE) == ANA_STORE_INSTANCES, "the newest");
    CHECK(count_kept(&store, 0, first) == 0, "no other");
    for (size_t i = 0; i < ANA_STORE_INSTANCES; i += 1000)
        CHECK(ana_store_instance_at(&store, i)->first_ns == (int64_t)(MORE - 1 - i), "newest first");
    ana_store_free(&store);
    return check_result();
}
