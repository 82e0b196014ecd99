#include "trace/util/hash_map.h"
#include <stdlib.h>
#include <string.h>

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

static bool grow_map(struct ana_map *map)
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
        *ana_map_slot(map, key[0], key[1], key[2]) = (uint32_t)(i + 1);
    }
    return true;
}

void *ana_map_make(struct ana_map *map, uint64_t a, uint64_t b, uint64_t c)
{
    if (ana_map_is_full(map) && !grow_map(map))
        return NULL;
    size_t i = map->count++;
    *ana_map_slot(map, a, b, c) = (uint32_t)(i + 1);
    uint64_t *key = map->keys + 3 * i;
    key[0] = a;
    key[1] = b;
    key[2] = c;
    return memset(ana_map_value(map, i), 0, map->value_size);
}

/* The slot of value i. */
static size_t slot_of(const struct ana_map *map, size_t i)
{
    const uint64_t *key = ana_map_key(map, i);
    return (size_t)(ana_map_slot(map, key[0], key[1], key[2]) - map->slots);
}

/* Frees a slot.  Slots behind it move up, so that no search ends at the hole before it finds its key. */
static void free_slot(struct ana_map *map, size_t hole)
{
    size_t mask = map->slot_count - 1;
    for (size_t s = (hole + 1) & mask; map->slots[s]; s = (s + 1) & mask) {
        const uint64_t *key = ana_map_key(map, map->slots[s] - 1);
        size_t home = ana_map_home(map, key[0], key[1], key[2]);
        if (((s - home) & mask) < ((s - hole) & mask))
            continue; /* search for this one begins behind the hole */
        map->slots[hole] = map->slots[s];
        hole = s;
    }
    map->slots[hole] = 0;
}

void ana_map_remove(struct ana_map *map, const void *value)
{
    size_t i = (size_t)((const char *)value - (const char *)map->values) / map->value_size, last = map->count - 1;
    free_slot(map, slot_of(map, i));
    if (i != last) {
        map->slots[slot_of(map, last)] = (uint32_t)(i + 1);
        memcpy(ana_map_value(map, i), ana_map_value(map, last), map->value_size);
        memcpy(map->keys + 3 * i, map->keys + 3 * last, 3 * sizeof *map->keys);
    }
    map->count = last;
}
