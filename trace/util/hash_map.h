/* A table of equal-sized values found by a key of three integers.  Values lie side by side, in order of their making,
 * so that they can be walked and sorted like an array. */
#ifndef ANA_MAP_H
#define ANA_MAP_H

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

void ana_map_init(struct ana_map *map, size_t value_size);
void ana_map_free(struct ana_map *map); /* leaves it empty and usable */

static inline void *ana_map_value(const struct ana_map *map, size_t i)
{
    return (char *)map->values + i * map->value_size;
}
static inline const uint64_t *ana_map_key(const struct ana_map *map, size_t i)
{
    return map->keys + 3 * i;
}

/* The slot that holds the key, or the free one where it belongs; of a map that has slots. */
static inline uint32_t *ana_map_slot(const struct ana_map *map, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = a * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 29) ^ b) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 32) ^ c) * 0x94d049bb133111ebu;
    size_t mask = map->slot_count - 1;
    for (size_t s = (size_t)(h ^ (h >> 31)) & mask;; s = (s + 1) & mask) {
        uint32_t index = map->slots[s];
        if (index == 0)
            return &map->slots[s];
        const uint64_t *key = ana_map_key(map, index - 1);
        if (key[0] == a && key[1] == b && key[2] == c)
            return &map->slots[s];
    }
}

/* The value of (a, b, c), or NULL.  Valid until the next ana_map_add. */
static inline void *ana_map_find(const struct ana_map *map, uint64_t a, uint64_t b, uint64_t c)
{
    uint32_t index = map->slot_count ? *ana_map_slot(map, a, b, c) : 0;
    return index ? ana_map_value(map, index - 1) : NULL;
}

/* A value of zeros for a key that is not there yet; NULL only when out of memory. */
void *ana_map_make(struct ana_map *map, uint64_t a, uint64_t b, uint64_t c);

/* The value of (a, b, c), made of zeros if it was not there; NULL only when out of memory. */
static inline void *ana_map_add(struct ana_map *map, uint64_t a, uint64_t b, uint64_t c)
{
    void *value = ana_map_find(map, a, b, c);
    return value ? value : ana_map_make(map, a, b, c);
}

#endif
