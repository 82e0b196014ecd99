#include "trace/horovod/wires.h"
#include <string.h>

struct wire {
    const uint8_t *bytes;
    size_t size;
    size_t left; /* entries and dimensions that may still be looked at: parts may overlap, and then name each other
                    often */
};

static bool spend_entry(struct wire *w)
{
    return w->left > 0 && w->left--;
}

static bool load_bytes(const struct wire *w, size_t at, void *out, size_t n)
{
    if (at > w->size || w->size - at < n)
        return false;
    memcpy(out, w->bytes + at, n);
    return true;
}

/* Follows the unsigned offset at `at` to its place. */
static bool follow_offset(const struct wire *w, size_t at, size_t *to)
{
    uint32_t distance;
    if (!load_bytes(w, at, &distance, sizeof distance) || distance == 0)
        return false;
    *to = at + distance;
    return *to < w->size;
}

/* Finds field `i` of a table.  False: it has its default value, or cannot be read. */
static bool find_field(const struct wire *w, size_t table, unsigned i, size_t *at)
{
    int32_t back;
    uint16_t vtable_size, offset;
    if (!load_bytes(w, table, &back, sizeof back))
        return false;
    int64_t vtable = (int64_t)table - back;
    if (vtable < 0 || !load_bytes(w, (size_t)vtable, &vtable_size, sizeof vtable_size))
        return false;
    size_t slot = 4 + 2 * (size_t)i;
    if (slot + 2 > vtable_size || !load_bytes(w, (size_t)vtable + slot, &offset, sizeof offset) || offset == 0)
        return false;
    *at = table + offset;
    return *at < w->size;
}

static int byte_field(const struct wire *w, size_t table, unsigned i)
{
    size_t at;
    int8_t value = 0;
    return find_field(w, table, i, &at) && load_bytes(w, at, &value, 1) ? value : 0;
}

static int32_t int_field(const struct wire *w, size_t table, unsigned i)
{
    size_t at;
    int32_t value = 0;
    return find_field(w, table, i, &at) && load_bytes(w, at, &value, sizeof value) ? value : 0;
}

/* Finds a vector: the place of its first element, and how many of `each` bytes it really has. */
static bool find_vector(const struct wire *w, size_t slot, size_t each, size_t *first, size_t *n)
{
    size_t at;
    uint32_t count;
    if (!follow_offset(w, slot, &at) || !load_bytes(w, at, &count, sizeof count))
        return false;
    *first = at + 4;
    size_t room = (w->size - *first) / each;
    *n = count < room ? count : room;
    return true;
}
static bool read_vector(const struct wire *w, size_t table, unsigned i, size_t each, size_t *first, size_t *n)
{
    size_t slot;
    return find_field(w, table, i, &slot) && find_vector(w, slot, each, first, n);
}

/* Finds a string that is there to its end. */
static bool find_string(const struct wire *w, size_t slot, const char **text, size_t *size)
{
    size_t at;
    uint32_t n;
    if (!follow_offset(w, slot, &at) || !load_bytes(w, at, &n, sizeof n) || w->size - (at + 4) < n)
        return false;
    *text = (const char *)w->bytes + at + 4;
    *size = n;
    return true;
}

static uint64_t multiply_dimensions(struct wire *w, size_t first, size_t n)
{
    uint64_t product = 1;
    for (size_t i = 0; i < n; i++) {
        if (!spend_entry(w))
            return 0;
        int64_t value = 0;
        load_bytes(w, first + 8 * i, &value, sizeof value);
        if (value < 0 || __builtin_mul_overflow(product, (uint64_t)value, &product))
            return 0;
    }
    return product;
}

/* Finds the table at the root, and its vector of tables. */
static bool find_root(const struct wire *w, size_t *first, size_t *n, bool *shutdown)
{
    size_t table;
    *n = 0;
    if (!follow_offset(w, 0, &table))
        return false;
    *shutdown = byte_field(w, table, 1) != 0;
    read_vector(w, table, 0, 4, first, n);
    return true;
}

bool ana_hvd_requests(const uint8_t *bytes, size_t size, ana_hvd_add *take, void *user, bool *shutdown)
{
    struct wire w = {bytes, size, size};
    size_t first, n, table, at, shape;
    if (!find_root(&w, &first, &n, shutdown))
        return false;
    for (size_t i = 0; i < n && spend_entry(&w); i++) {
        struct ana_hvd_entry entry = {.name = ""};
        if (!follow_offset(&w, first + 4 * i, &table))
            continue;
        entry.op = byte_field(&w, table, 1);
        entry.dtype = byte_field(&w, table, 2);
        if (find_field(&w, table, 3, &at) && !find_string(&w, at, &entry.name, &entry.name_size))
            continue;
        entry.root = int_field(&w, table, 4);
        entry.reduction = byte_field(&w, table, 9);
        if (read_vector(&w, table, 6, 8, &shape, &entry.dimensions)) {
            entry.shape = w.bytes + shape;
            entry.elements = multiply_dimensions(&w, shape, entry.dimensions);
        }
        take(user, &entry);
    }
    return true;
}

bool ana_hvd_responses(const uint8_t *bytes, size_t size, ana_hvd_add *take, void *user, bool *shutdown)
{
    struct wire w = {bytes, size, size};
    size_t first, n, table, at;
    if (!find_root(&w, &first, &n, shutdown))
        return false;
    for (size_t i = 0; i < n && spend_entry(&w); i++) {
        struct ana_hvd_entry entry = {.name = ""};
        size_t names, names_n = 0, sizes, sizes_n = 0, devices;
        if (!follow_offset(&w, first + 4 * i, &table))
            continue;
        entry.op = byte_field(&w, table, 0);
        entry.dtype = byte_field(&w, table, 5);
        read_vector(&w, table, 1, 4, &names, &names_n);
        read_vector(&w, table, 3, 4, &devices, &entry.devices);
        read_vector(&w, table, 4, 8, &sizes, &sizes_n);
        if (find_field(&w, table, 2, &at))
            find_string(&w, at, &entry.error, &entry.error_size);
        for (size_t k = 0; k < names_n && spend_entry(&w); k++) {
            if (!find_string(&w, names + 4 * k, &entry.name, &entry.name_size))
                continue;
            /* An allgather has the first dimension of every rank instead. */
            entry.elements = sizes_n == names_n ? multiply_dimensions(&w, sizes + 8 * k, 1) : 0;
            take(user, &entry);
        }
    }
    return true;
}
