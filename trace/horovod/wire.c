#include "trace/horovod/wire.h"
#include <string.h>

struct wire {
    const uint8_t *bytes;
    size_t size;
    size_t left; /* entries and dimensions that may still be looked at: parts may overlap, and then name each other
                    often */
};

static bool spend(struct wire *w)
{
    return w->left > 0 && w->left--;
}

static bool load(const struct wire *w, size_t at, void *out, size_t n)
{
    if (at > w->size || w->size - at < n)
        return false;
    memcpy(out, w->bytes + at, n);
    return true;
}

/* The place that the unsigned offset at `at` leads to. */
static bool follow(const struct wire *w, size_t at, size_t *to)
{
    uint32_t distance;
    if (!load(w, at, &distance, sizeof distance) || distance == 0)
        return false;
    *to = at + distance;
    return *to < w->size;
}

/* Where field `i` of a table lies.  False: it has its default value, or cannot be read. */
static bool field(const struct wire *w, size_t table, unsigned i, size_t *at)
{
    int32_t back;
    uint16_t vtable_size, offset;
    if (!load(w, table, &back, sizeof back))
        return false;
    int64_t vtable = (int64_t)table - back;
    if (vtable < 0 || !load(w, (size_t)vtable, &vtable_size, sizeof vtable_size))
        return false;
    size_t slot = 4 + 2 * (size_t)i;
    if (slot + 2 > vtable_size || !load(w, (size_t)vtable + slot, &offset, sizeof offset) || offset == 0)
        return false;
    *at = table + offset;
    return *at < w->size;
}

static int byte_field(const struct wire *w, size_t table, unsigned i)
{
    size_t at;
    int8_t value = 0;
    return field(w, table, i, &at) && load(w, at, &value, 1) ? value : 0;
}

/* A vector: the place of its first element, and how many of `each` bytes it really has. */
static bool vector_at(const struct wire *w, size_t slot, size_t each, size_t *first, size_t *n)
{
    size_t at;
    uint32_t count;
    if (!follow(w, slot, &at) || !load(w, at, &count, sizeof count))
        return false;
    *first = at + 4;
    size_t room = (w->size - *first) / each;
    *n = count < room ? count : room;
    return true;
}
static bool vector(const struct wire *w, size_t table, unsigned i, size_t each, size_t *first, size_t *n)
{
    size_t slot;
    return field(w, table, i, &slot) && vector_at(w, slot, each, first, n);
}

/* A string that is there to its end. */
static bool string_at(const struct wire *w, size_t slot, const char **text, size_t *size)
{
    size_t at;
    uint32_t n;
    if (!follow(w, slot, &at) || !load(w, at, &n, sizeof n) || w->size - (at + 4) < n)
        return false;
    *text = (const char *)w->bytes + at + 4;
    *size = n;
    return true;
}

static uint64_t product(struct wire *w, size_t first, size_t n)
{
    uint64_t product = 1;
    for (size_t i = 0; i < n; i++) {
        if (!spend(w))
            return 0;
        int64_t value = 0;
        load(w, first + 8 * i, &value, sizeof value);
        if (value < 0 || __builtin_mul_overflow(product, (uint64_t)value, &product))
            return 0;
    }
    return product;
}

/* The table at the root, and its vector of tables. */
static bool root(const struct wire *w, size_t *first, size_t *n, bool *shutdown)
{
    size_t table;
    *n = 0;
    if (!follow(w, 0, &table))
        return false;
    *shutdown = byte_field(w, table, 1) != 0;
    vector(w, table, 0, 4, first, n);
    return true;
}

bool ana_hvd_requests(const uint8_t *bytes, size_t size, ana_hvd_take *take, void *user, bool *shutdown)
{
    struct wire w = {bytes, size, size};
    size_t first, n, table, at, shape, dimensions;
    if (!root(&w, &first, &n, shutdown))
        return false;
    for (size_t i = 0; i < n && spend(&w); i++) {
        struct ana_hvd_entry entry = {.name = ""};
        if (!follow(&w, first + 4 * i, &table))
            continue;
        entry.op = byte_field(&w, table, 1);
        entry.dtype = byte_field(&w, table, 2);
        if (field(&w, table, 3, &at) && !string_at(&w, at, &entry.name, &entry.name_size))
            continue;
        if (vector(&w, table, 6, 8, &shape, &dimensions))
            entry.elements = product(&w, shape, dimensions);
        take(user, &entry);
    }
    return true;
}

bool ana_hvd_responses(const uint8_t *bytes, size_t size, ana_hvd_take *take, void *user, bool *shutdown)
{
    struct wire w = {bytes, size, size};
    size_t first, n, table, at;
    if (!root(&w, &first, &n, shutdown))
        return false;
    for (size_t i = 0; i < n && spend(&w); i++) {
        struct ana_hvd_entry entry = {.name = ""};
        size_t names, names_n = 0, sizes, sizes_n = 0, devices;
        if (!follow(&w, first + 4 * i, &table))
            continue;
        entry.op = byte_field(&w, table, 0);
        entry.dtype = byte_field(&w, table, 5);
        vector(&w, table, 1, 4, &names, &names_n);
        vector(&w, table, 3, 4, &devices, &entry.devices);
        vector(&w, table, 4, 8, &sizes, &sizes_n);
        if (field(&w, table, 2, &at))
            string_at(&w, at, &entry.error, &entry.error_size);
        for (size_t k = 0; k < names_n && spend(&w); k++) {
            if (!string_at(&w, names + 4 * k, &entry.name, &entry.name_size))
                continue;
            /* An allgather has the first dimension of every rank instead. */
            entry.elements = sizes_n == names_n ? product(&w, sizes + 8 * k, 1) : 0;
            take(user, &entry);
        }
    }
    return true;
}
