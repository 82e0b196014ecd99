/* The table from handles to objects against a plain model, also where it is crowded; and by threads that enter and
 * remove keys of their own while others look theirs up. */
#include "interpose/base/table.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum { KEYS = 20000, STEPS = 400000, CROWD = 80, THREADS = 4 };

static struct ipo_table table;

static uint64_t key_of(uint64_t i)
{
    return i % 2 ? 0x84000000 + i : 0x7f00c0de0000 + i * 0x240;
}

/* Half of the table is in use on average: hardly a key finds all of its places taken. */
static void check_random(void)
{
    static char values[KEYS];
    static void *model[KEYS];
    uint64_t state = 3, refused = 0;
    for (unsigned step = 0; step < STEPS; step++) {
        uint64_t i = draw(&state, KEYS), other = draw(&state, KEYS);
        if (draw(&state, 5) < 3) {
            ipo_table_remove(&table, key_of(i));
            model[i] = NULL;
        } else if (ipo_table_put(&table, key_of(i), &values[draw(&state, KEYS)])) {
            model[i] = ipo_table_get(&table, key_of(i));
        } else {
            refused++;
        }
        CHECK(ipo_table_get(&table, key_of(other)) == model[other], "key %#lx", (unsigned long)key_of(other));
    }
    CHECK(refused < 20, "%lu of %d keys found no room", (unsigned long)refused, STEPS);
    for (unsigned i = 0; i < KEYS; i++) {
        CHECK(ipo_table_get(&table, key_of(i)) == model[i], "key %#lx at the end", (unsigned long)key_of(i));
        ipo_table_remove(&table, key_of(i));
    }
}

/* More keys of one place than it is looked for: the rest are refused, and a put of one that is there is not. */
static void check_crowd(void)
{
    static char values[CROWD];
    uint64_t keys[CROWD], n = 0;
    for (uint64_t key = 64; n < CROWD; key += 64)
        if (ipo_table_slot(key, 0) == 5)
            keys[n++] = key;
    for (unsigned i = 0; i < CROWD; i++)
        CHECK(ipo_table_put(&table, keys[i], &values[i]) == (i < IPO_TABLE_PROBES), "the %uth of one place", i);
    ipo_table_remove(&table, keys[3]);
    CHECK(ipo_table_put(&table, keys[60], &values[0]), "one that is there");
    CHECK(ipo_table_put(&table, keys[70], &values[70]), "in the place of one that is gone");
    CHECK(!ipo_table_get(&table, keys[3]) && ipo_table_get(&table, keys[70]) == &values[70], "it and its heir");
    for (unsigned i = 0; i < CROWD; i++)
        ipo_table_remove(&table, keys[i]);
    for (unsigned i = 0; i < CROWD; i++)
        CHECK(!ipo_table_get(&table, keys[i]), "the %uth is removed", i);
}

static uint64_t number[THREADS][1000];

/* All keys share the table, each has one owner at a time, as handles have. */
static void *enter_and_remove(void *argument)
{
    const uint64_t me = (uintptr_t)argument;
    uint64_t state = me + 1;
    bool there[1000] = {0};
    for (unsigned step = 0; step < STEPS / 4; step++) {
        uint64_t i = draw(&state, 1000), key = key_of(i * THREADS + me);
        uint64_t *found = ipo_table_get(&table, key);
        CHECK(there[i] ? found == &number[me][i] : !found, "key %lu of thread %lu", (unsigned long)i,
              (unsigned long)me);
        if (there[i])
            ipo_table_remove(&table, key);
        else
            CHECK(ipo_table_put(&table, key, &number[me][i]), "no room for key %lu", (unsigned long)i);
        there[i] = !there[i];
    }
    return NULL;
}

static void check_threads(void)
{
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, enter_and_remove, (void *)i);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

int main(void)
{
    check_random();
    check_crowd();
    check_threads();
    return check_result();
}
