/* Arrays that grow. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ANA_GROW_FIRST 64u /* elements; a power of two */

/* Makes room for one more than `count` elements of `size` bytes.  `array` is the address of a pointer to malloc'ed
 * elements, or to NULL; *room is how many there is room for.  New elements are not set.  False: out of memory, and
 * nothing has changed. */
static inline bool ana_grow(void *array, size_t count, size_t *room, size_t size)
{
    void *at;
    if (count < *room)
        return true;
    memcpy(&at, array, sizeof at);
    at = realloc(at, (*room ? *room * 2 : ANA_GROW_FIRST) * size);
    if (!at)
        return false;
    memcpy(array, &at, sizeof at);
    *room = *room ? *room * 2 : ANA_GROW_FIRST;
    return true;
}

/* Grows an array as ana_grow, without a stored room: the array began as NULL and only this function grows it, so the
 * room follows from `count`. */
static inline bool ana_grow_alone(void *array, size_t count, size_t size)
{
    const bool full = count == 0 || (count >= ANA_GROW_FIRST && !(count & (count - 1)));
    size_t room = full ? count : SIZE_MAX;
    return ana_grow(array, count, &room, size);
}

/* Makes an array of `length` elements at least `count` long; new elements are zero.  Returns its length now: `length`
 * when out of memory. */
static inline size_t ana_lengthen(void *array, size_t length, size_t count, size_t size)
{
    size_t more = count + count / 2;
    char *at;
    if (count <= length)
        return length;
    memcpy(&at, array, sizeof at);
    at = realloc(at, more * size);
    if (!at)
        return length;
    memcpy(array, &at, sizeof at);
    memset(at + length * size, 0, (more - length) * size);
    return more;
}
