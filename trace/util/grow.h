/* Arrays that grow one by one, and double their room when it is used up. */
#ifndef ANA_GROW_H
#define ANA_GROW_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more than `count` elements of `size` bytes.  `array` is the address of a pointer to malloc'ed
 * elements, or to NULL; *room is how many there is room for.  New elements are not set.  False: out of memory, and
 * nothing has changed. */
static inline bool ana_grow(void *array, size_t count, size_t *room, size_t size)
{
    void *at;
    if (count < *room)
        return true;
    memcpy(&at, array, sizeof at);
    at = realloc(at, (*room ? *room * 2 : 64) * size);
    if (!at)
        return false;
    memcpy(array, &at, sizeof at);
    *room = *room ? *room * 2 : 64;
    return true;
}

#endif
