/* Tensors of hvd_standin.c: in the lists of requests and responses that ranks exchange, and in the cache of responses
 * that each rank has and that stays the same on all. */
#ifndef HVD_TENSORS_H
#define HVD_TENSORS_H

#include "hvd_lists.h"
#include <stdint.h>
#include <string.h>

#define TENSORS 512
#define NAME    48

enum { ALLREDUCE = 0, JOIN = 3, REFUSED = 8 }; /* types of requests and responses */
enum { FLOAT32 = 7, FLOAT64 = 8 };

struct tensor {
    char name[NAME];
    int64_t elements;
    int type, dtype;
};

/* ---- the two lists ----------------------------------------------------------------------------------------------- */

static void write_requests(struct list *l, int rank, const struct tensor *tensor, int n, int shutdown)
{
    uint32_t at[8];
    l->used = 0;
    put_table(l, put32(l, 0), (const unsigned char[]){0, 1, 0xff}, at);
    l->bytes[at[1]] = (unsigned char)shutdown;
    link_here(l, at[0]);
    put32(l, (uint32_t)n);
    uint32_t slots = l->used;
    for (int i = 0; i < n; i++)
        put32(l, 0);
    for (int i = 0; i < n; i++) {
        put_table(l, slots + 4 * (uint32_t)i, (const unsigned char[]){0, 1, 2, 3, 6, 0xff}, at);
        memcpy(l->bytes + at[0], &rank, 4);
        l->bytes[at[1]] = (unsigned char)tensor[i].type;
        l->bytes[at[2]] = (unsigned char)tensor[i].dtype;
        put_string(l, at[3], tensor[i].name);
        link_here(l, at[4]);
        put32(l, 1);
        put(l, &tensor[i].elements, 8, 4);
    }
    l->bytes[l->used++] = 0;
}

/* `error`: why it is refused, of type REFUSED. */
static void write_responses(struct list *l, int size, int type, const struct tensor *tensor, int n, const char *error,
                            int shutdown)
{
    uint32_t at[8], one[8];
    l->used = 0;
    put_table(l, put32(l, 0), (const unsigned char[]){0, 1, 0xff}, at);
    l->bytes[at[1]] = (unsigned char)shutdown;
    link_here(l, at[0]);
    put32(l, n > 0);
    if (n > 0) {
        put_table(l, put32(l, 0), (const unsigned char[]){0, 1, 3, 4, 5, 2, 0xff}, one);
        l->bytes[one[0]] = (unsigned char)type;
        l->bytes[one[4]] = FLOAT32;
        put_string(l, one[5], error);
        link_here(l, one[1]);
        put32(l, (uint32_t)n);
        uint32_t slots = l->used;
        for (int i = 0; i < n; i++)
            put32(l, 0);
        for (int i = 0; i < n; i++)
            put_string(l, slots + 4 * (uint32_t)i, tensor[i].name);
        link_here(l, one[2]);
        put32(l, (uint32_t)size);
        for (int i = 0; i < size; i++)
            put32(l, (uint32_t)-1); /* the device: a CPU */
        link_here(l, one[3]);
        put32(l, (uint32_t)n);
        for (int i = 0; i < n; i++)
            put(l, &tensor[i].elements, 8, 4);
    }
    l->bytes[l->used++] = 0;
}

/* ---- the cache: bits are places in `by_bit`, age is the order in `recent` ---------------------------------------- */

static int capacity = 1024;
static struct tensor cached[TENSORS];
static int by_bit[TENSORS], recent[TENSORS], taken[TENSORS], entries, bits;

static void touch(int entry)
{
    int i = 0;
    while (recent[i] != entry)
        i++;
    memmove(recent + 1, recent, (size_t)i * sizeof *recent);
    recent[0] = entry;
}
static int bit_of(const char *name)
{
    for (int b = 0; b < bits; b++)
        if (by_bit[b] >= 0 && strcmp(cached[by_bit[b]].name, name) == 0)
            return b;
    return -1;
}
static void cache(const struct tensor *t)
{
    int b = bit_of(t->name), entry = 0;
    if (capacity == 0)
        return;
    if (b >= 0) {
        entry = by_bit[b];
    } else if (entries == capacity) {
        entry = recent[entries - 1];
        for (b = 0; by_bit[b] != entry;)
            b++;
    } else {
        while (taken[entry])
            entry++;
        taken[entry] = 1;
        by_bit[bits++] = entry;
        recent[entries++] = entry;
    }
    cached[entry] = *t;
    touch(entry);
}
static void drop(int b)
{
    int entry = by_bit[b], i = 0;
    while (recent[i] != entry)
        i++;
    memmove(recent + i, recent + i + 1, (size_t)(--entries - i) * sizeof *recent);
    by_bit[b] = -1;
    taken[entry] = 0;
}
/* End of a cycle in which a tensor was dropped: the oldest gets bit 0. */
static void number_anew(void)
{
    bits = entries;
    for (int i = 0; i < entries; i++)
        by_bit[entries - 1 - i] = recent[i];
}

#endif
