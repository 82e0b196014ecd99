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

/* The value of (a, b, c), or NULL.  Valid until the next ana_map_add. */
void *ana_map_find(const struct ana_map *map, uint64_t a, uint64_t b, uint64_t c);

/* The value of (a, b, c), made of zeros if it was not there; NULL only when out of memory. */
void *ana_map_add(struct ana_map *map, uint64_t a, uint64_t b, uint64_t c);

static inline void *ana_map_value(const struct ana_map *map, size_t i)
{
    return (char *)map->values + i * map->value_size;
}
static inline const uint64_t *ana_map_key(const struct ana_map *map, size_t i)
{
    return map->keys + 3 * i;
}

#endif
