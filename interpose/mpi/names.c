#include "interpose/mpi/names.h"
#include "interpose/mpi/calls.h"

#include <string.h>

#define BUCKETS 2048u /* about three times the rows */

static uint16_t bucket[BUCKETS]; /* row + 1; 0 free */
static bool filled;

static inline char lower_letter(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static uint32_t hash_name(const char *name, size_t length)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)lower_letter(name[i])) * 16777619u;
    return hash ^ hash >> 15;
}

static void fill_buckets(void)
{
    _Static_assert(IPO_CALLS < BUCKETS / 2, "room for every row");
    for (int i = 0; i < IPO_CALLS; i++) {
        const char *name = ipo_calls[i].name + 4;
        uint32_t at = hash_name(name, strlen(name)) % BUCKETS;
        while (bucket[at])
            at = (at + 1) % BUCKETS;
        bucket[at] = (uint16_t)(i + 1);
    }
    filled = true;
}

static bool is_equal(const char *row, const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (lower_letter(row[i]) != lower_letter(name[i]))
            return false;
    return !row[length];
}

int ipo_call_spelled(const char *name, size_t length)
{
    if (!filled)
        fill_buckets();
    for (uint32_t at = hash_name(name, length) % BUCKETS; bucket[at]; at = (at + 1) % BUCKETS)
        if (is_equal(ipo_calls[bucket[at] - 1].name + 4, name, length))
            return bucket[at] - 1;
    return -1;
}

int ipo_call_named(const char *name)
{
    int row = ipo_call_spelled(name + 4, strlen(name + 4));
    return row >= 0 && strcmp(ipo_calls[row].name, name) == 0 ? row : -1;
}
