#include "trace/map.h"
#include <stdlib.h>
#include <string.h>

static inline size_t hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = a * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 29) ^ b) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 32) ^ c) * 0x94d049bb133111ebu;
    return (size_t)(h ^ (h >> 31));
}

void ana_map_init(struct ana_map *map, size_t value_size)
{
    *map = (struct ana_map){.value_size = value_size};
}

void ana_map_free(struct ana_map *map)
{
    free(map->values);
    free(map->keys);
    free(map->slots);
    ana_map_init(map, map->value_size);
}

/* The slot that holds the key, or the free one where it belongs. */
static inline uint32_t *slot_of(const struct ana_map *map, uint64_t a, uint64_t b, uint64_t c)
{
    size_t mask = map->slot_count - 1;
    for (size_t s = hash(a, b, c) & mask;; s = (s + 1) & mask) {
        uint32_t index = map->slots[s];
        if (index == 0)
            return &map->slots[s];
        const uint64_t *key = ana_map_key(map, index - 1);
        if (key[0] == a && key[1] == b && key[2] == c)
            return &map->slots[s];
    }
}

void *ana_map_find(const struct ana_map *map, uint64_t a, uint64_t b, uint64_t c)
{
    if (map->slot_count == 0)
        return NULL;
    uint32_t index = *slot_of(map, a, b, c);
    return index ? ana_map_value(map, index - 1) : NULL;
}

static bool grow(struct ana_map *map)
{
    size_t room = map->room ? map->room * 2 : 16, slot_count = room * 2;
    if (room > UINT32_MAX / 4)
        return false;
    void *values = realloc(map->values, room * map->value_size);
    if (values)
        map->values = values;
    uint64_t *keys = realloc(map->keys, room * 3 * sizeof *keys);
    if (keys)
        map->keys = keys;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!values || !keys || !slots) {
        free(slots);
        return false;
    }
    free(map->slots);
    map->slots = slots;
    map->slot_count = slot_count;
    map->room = room;
    for (size_t i = 0; i < map->count; i++) {
        const uint64_t *key = ana_map_key(map, i);
        *slot_of(map, key[0], key[1], key[2]) = (uint32_t)(i + 1);
    }
    return true;
}

void *ana_map_add(struct ana_map *map, uint64_t a, uint64_t b, uint64_t c)
{
    uint32_t *slot = map->slot_count ? slot_of(map, a, b, c) : NULL;
    if (slot && *slot)
        return ana_map_value(map, *slot - 1);
    if (map->count == map->room) {
        if (!grow(map))
            return NULL;
        slot = slot_of(map, a, b, c);
    }
    size_t i = map->count++;
    *slot = (uint32_t)(i + 1);
    uint64_t *key = map->keys + 3 * i;
    key[0] = a;
    key[1] = b;
    key[2] = c;
    return memset(ana_map_value(map, i), 0, map->value_size);
}
