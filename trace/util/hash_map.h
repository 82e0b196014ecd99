/* Hash map for all code that reads traces: equal-sized values, each found by a key of three integers.  Values lie
 * side by side, so that they can be walked like an array: in order of their making, as long as none is removed.
 * A value moves when another is made or removed: a value that others point to lies in a pool (pool.h), its address
 * in the map. One thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ana_map {
    size_t value_size;
    size_t count;
    void *values;    /* count x value_size bytes; moves when the map grows */
    uint64_t *keys;  /* count x 3 */
    uint32_t *slots; /* index + 1, 0 free */
    size_t slot_count, room;
};

/* An empty map of values of `value_size` bytes; allocates nothing. */
void ana_map_init(struct ana_map *map, size_t value_size);
/* Frees values and keys, not what values point to.  Leaves an empty map, which can be used again. */
void ana_map_free(struct ana_map *map);

/* The value with index i, 0 <= i < map->count.  Valid until the next value is made or removed. */
static inline void *ana_map_value(const struct ana_map *map, size_t i)
{
    return (char *)map->values + i * map->value_size;
}
/* The three integers of its key.  Valid as long as the value. */
static inline const uint64_t *ana_map_key(const struct ana_map *map, size_t i)
{
    return map->keys + 3 * i;
}

/* The slot where the search for a key begins; of a map that has slots. */
static inline size_t ana_map_home(const struct ana_map *map, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = a * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 29) ^ b) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 32) ^ c) * 0x94d049bb133111ebu;
    return (size_t)(h ^ (h >> 31)) & (map->slot_count - 1);
}

/* The slot that holds the key, or the free one where it belongs; of a map that has slots. */
static inline uint32_t *ana_map_slot(const struct ana_map *map, uint64_t a, uint64_t b, uint64_t c)
{
    size_t mask = map->slot_count - 1;
    for (size_t s = ana_map_home(map, a, b, c);; s = (s + 1) & mask) {
        uint32_t index = map->slots[s];
        if (index == 0)
            return &map->slots[s];
        const uint64_t *key = ana_map_key(map, index - 1);
        if (key[0] == a && key[1] == b && key[2] == c)
            return &map->slots[s];
    }
}

/* The value of (a, b, c), or NULL.  Valid until the next value is made or removed. */
static inline void *ana_map_find(const struct ana_map *map, uint64_t a, uint64_t b, uint64_t c)
{
    uint32_t index = map->slot_count ? *ana_map_slot(map, a, b, c) : 0;
    return index ? ana_map_value(map, index - 1) : NULL;
}

/* Returns whether making another value would move every value. */
static inline bool ana_map_is_full(const struct ana_map *map)
{
    return map->count == map->room;
}

/* A value of zeros for a key that is not there yet; NULL only when out of memory. */
void *ana_map_make(struct ana_map *map, uint64_t a, uint64_t b, uint64_t c);

/* The value of (a, b, c), made of zeros if it was not there; NULL only when out of memory. */
static inline void *ana_map_add(struct ana_map *map, uint64_t a, uint64_t b, uint64_t c)
{
    void *value = ana_map_find(map, a, b, c);
    return value ? value : ana_map_make(map, a, b, c);
}

/* Removes a value that ana_map_find or ana_map_value gave.  The last one moves to its index: who removes while
 * walking walks from the last index to the first. */
void ana_map_remove(struct ana_map *map, const void *value);
