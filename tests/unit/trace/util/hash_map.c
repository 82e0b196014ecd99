/* The hash map against a plain array: made, found, walked, removed, in any order; and the pool beside it. */
#include "tests/support/check.h"
#include "trace/util/hash_map.h"
#include "trace/util/pool.h"

#include <stdlib.h>

#define KEYS 4000 /* keys with few different first integers, so that they differ in the others only */

static uint64_t first(int i)
{
    return (uint64_t)(i % 3);
}
static uint64_t second(int i)
{
    return (uint64_t)i << 32;
}
static uint64_t third(int i)
{
    return (uint64_t)(-(i % 2));
}

static int *find(const struct ana_map *map, int i)
{
    return ana_map_find(map, first(i), second(i), third(i));
}

/* Map and model hold the same: each key is found if and only if it is there, with its value. */
static void compare(const struct ana_map *map, const bool *there)
{
    size_t count = 0, wrong = 0;
    for (int i = 0; i < KEYS; i++) {
        const int *value = find(map, i);
        count += there[i];
        wrong += there[i] ? !value || *value != i : value != NULL;
    }
    CHECK(wrong == 0 && map->count == count, "%zu wrong, %zu of %zu values", wrong, map->count, count);
    for (size_t i = 0; i < map->count; i++) {
        int value = *(const int *)ana_map_value(map, i);
        const uint64_t *key = ana_map_key(map, i);
        wrong += key[0] != first(value) || key[1] != second(value) || key[2] != third(value);
    }
    CHECK(wrong == 0, "%zu keys are not those of their values", wrong);
}

static void test_order(void)
{
    struct ana_map map;
    ana_map_init(&map, sizeof(int));
    CHECK(!find(&map, 1) && map.count == 0, "an empty map has nothing");
    for (int i = 0; i < 100; i++) {
        int *value = ana_map_add(&map, first(i), second(i), third(i));
        CHECK(value && *value == 0, "a new value is zeros");
        *value = i;
        CHECK(ana_map_add(&map, first(i), second(i), third(i)) == value, "added twice is there once");
    }
    for (int i = 0; i < 100; i++)
        CHECK(*(int *)ana_map_value(&map, (size_t)i) == i, "values lie in the order of their making");
    ana_map_remove(&map, ana_map_value(&map, 10));
    CHECK(map.count == 99 && *(int *)ana_map_value(&map, 10) == 99, "the last one takes the place");
    ana_map_free(&map);
    CHECK(map.count == 0 && !find(&map, 1) && ana_map_add(&map, 1, 2, 3), "a map that was freed is empty and usable");
    ana_map_free(&map);
}

static void test_random(void)
{
    static bool there[KEYS];
    struct ana_map map;
    ana_map_init(&map, sizeof(int));
    srand(1);
    for (int step = 0; step < 200000; step++) {
        int i = rand() % KEYS;
        bool fills = step / 20000 % 2 == 0; /* grows and shrinks by turns */
        if (there[i] && rand() % 4 < (fills ? 1 : 3)) {
            ana_map_remove(&map, find(&map, i));
            there[i] = false;
        } else if (!there[i] && rand() % 4 < (fills ? 3 : 1)) {
            *(int *)ana_map_add(&map, first(i), second(i), third(i)) = i;
            there[i] = true;
        }
        if (step % 5000 == 0)
            compare(&map, there);
    }
    for (size_t i = map.count; i-- > 0;) { /* every other one, while walking */
        const int *value = ana_map_value(&map, i);
        if (i % 2 == 0) {
            there[*value] = false;
            ana_map_remove(&map, value);
        }
    }
    compare(&map, there);
    while (map.count)
        ana_map_remove(&map, ana_map_value(&map, 0));
    for (int i = 0; i < KEYS; i++)
        there[i] = false;
    compare(&map, there);
    ana_map_free(&map);
}

static void test_pool(void)
{
    struct ana_pool pool;
    static uint64_t *item[20000];
    ana_pool_init(&pool, 2 * sizeof(uint64_t));
    for (size_t i = 0; i < 20000; i++) {
        item[i] = ana_pool_alloc(&pool);
        item[i][0] = item[i][1] = i;
    }
    size_t wrong = 0;
    for (size_t i = 0; i < 20000; i++)
        wrong += item[i][0] != i || item[i][1] != i;
    CHECK(wrong == 0 && pool.taken == 20000, "%zu items share memory", wrong);
    ana_pool_free_item(&pool, item[7]);
    CHECK(pool.taken == 19999 && ana_pool_alloc(&pool) == item[7], "what was given back is taken again");
    ana_pool_free(&pool);
    CHECK(pool.taken == 0 && ana_pool_alloc(&pool), "a pool that was freed is empty and usable");
    ana_pool_free(&pool);
}

int main(void)
{
    test_order();
    test_random();
    test_pool();
    return check_result();
}
