/* FlatBuffers, as far as the lists of the stand-in for Horovod need them: written front to back, read by offsets. */
#ifndef HVD_LISTS_H
#define HVD_LISTS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ROOM (1 << 16) /* bytes of a list */

struct list {
    unsigned char bytes[ROOM];
    uint32_t used;
};
static inline uint32_t put(struct list *l, const void *value, uint32_t n, uint32_t align)
{
    l->used = (l->used + align - 1) / align * align;
    uint32_t at = l->used;
    if (at + n > ROOM - 8)
        abort();
    memcpy(l->bytes + at, value, n);
    l->used += n;
    return at;
}
static inline uint32_t put32(struct list *l, uint32_t value)
{
    return put(l, &value, 4, 4);
}
/* Makes the offset at `slot` lead to the next item. */
static inline void link_here(struct list *l, uint32_t slot)
{
    l->used = (l->used + 3) / 4 * 4;
    uint32_t distance = l->used - slot;
    memcpy(l->bytes + slot, &distance, 4);
}
static inline void put_string(struct list *l, uint32_t slot, const char *text)
{
    link_here(l, slot);
    put32(l, (uint32_t)strlen(text));
    put(l, text, (uint32_t)strlen(text) + 1, 1);
}
/* A table with a word of 4 bytes at each of the fields given, 0xff ends them; returns its place. */
static inline uint32_t put_table(struct list *l, uint32_t slot, const unsigned char *fields, uint32_t *at)
{
    uint16_t vtable[2 + 16] = {0};
    unsigned last = 0, n = 0;
    for (; fields[n] != 0xff; n++) {
        vtable[2 + fields[n]] = (uint16_t)(4 + 4 * n);
        last = fields[n] > last ? fields[n] : last;
    }
    vtable[0] = (uint16_t)(4 + 2 * (last + 1));
    vtable[1] = (uint16_t)(4 + 4 * n);
    uint32_t v = put(l, vtable, vtable[0], 4);
    link_here(l, slot);
    uint32_t table = l->used;
    put32(l, table - v);
    for (unsigned i = 0; i < n; i++)
        at[i] = put32(l, 0);
    return table;
}
static inline uint32_t load(const unsigned char *p)
{
    uint32_t value;
    memcpy(&value, p, 4);
    return value;
}
static inline const unsigned char *follow(const unsigned char *slot)
{
    return slot + load(slot);
}
static inline const unsigned char *field(const unsigned char *table, unsigned i)
{
    const unsigned char *vtable = table - (int32_t)load(table);
    uint16_t bytes, offset = 0;
    memcpy(&bytes, vtable, 2);
    if (4 + 2 * i < bytes)
        memcpy(&offset, vtable + 4 + 2 * i, 2);
    return offset ? table + offset : NULL;
}

#endif
