#include "interpose/load/names.h"

#include <string.h>

struct entry {
    uint8_t table;
    uint16_t at; /* position in the pool */
};
struct table {
    char prefix[8];
    uint16_t first; /* first entry of the bucket */
};
#include "interpose/load/names.inc" /* made by names.sh */

_Static_assert(sizeof tables / sizeof *tables == IPO_NO_NAMES, "the tables of the Makefile");

/* `bit`: 32 ignores the case. */
static bool is_equal(const char *row, const char *text, size_t length, char bit)
{
    for (size_t i = 0; i < length; i++)
        if ((row[i] | bit) != (text[i] | bit))
            return false;
    return !row[length];
}

static int find_entry(const char *text, size_t length, char bit)
{
    uint16_t hash = 0;
    for (size_t i = 0; i < length; i++)
        hash = (uint16_t)(hash * 33 + ipo_name_code(text[i]));
    for (unsigned at = hash % BUCKETS; bucket[at]; at = (at + 1) % BUCKETS)
        if (is_equal(pool + entries[bucket[at] - 1].at, text, length, bit))
            return bucket[at] - 1;
    return -1;
}

int ipo_name_spelled(enum ipo_names table, const char *text, size_t length)
{
    int found = find_entry(text, length, 32);
    return found >= 0 && entries[found].table == table ? found - tables[table].first : -1;
}

static bool has_prefix(const char *text, const char *prefix)
{
    text += *text == 'P';
    while (*prefix && ipo_name_code(*text) == ipo_name_code(*prefix))
        text++, prefix++;
    return !*prefix;
}

struct ipo_name ipo_name_of(const char *text)
{
    struct ipo_name name = {text, IPO_NO_NAMES, -1};
    if (!ipo_name_begins(text))
        return name;
    int found = find_entry(text, strlen(text), 0);
    if (found >= 0) {
        name.table = entries[found].table;
        name.row = found - tables[name.table].first;
        return name;
    }
    for (unsigned i = 0; i < IPO_NO_NAMES; i++)
        if (tables[i].prefix[0] && has_prefix(text, tables[i].prefix))
            name.table = i;
    return name;
}
