/* The times that a mark keeps, packed. */
#include "trace/iter/iter.h"
#include <stdlib.h>

#define LEAST_WIDTH 4u /* bytes: enough for four seconds */

/* Returns the new room when one more entry is needed. */
static uint32_t more_than(uint32_t room)
{
    return room < 11   ? room + room / 2 + 1 /* most kinds of calls have few */
           : room < 16 ? 16
                       : room + room / 4; /* thousands of ranks have such marks */
}

bool ana_iter_entry_room(struct ana_iter_mark *mark, uint64_t most)
{
    struct ana_iter_mark more = *mark;
    uint8_t width = ana_packed_width(most), least = mark->width ? mark->width : LEAST_WIDTH;
    more.room = mark->entries == mark->room ? more_than(mark->room) : mark->room;
    more.width = width > least ? width : least;
    bool is_wider = more.width > mark->width;
    more.entry = realloc(is_wider ? NULL : mark->entry, (size_t)more.room * 2 * more.width + ANA_PACKED_BEHIND);
    if (!more.entry)
        return false;
    if (is_wider) {
        more.entries = 0;
        while (more.entries < mark->entries) {
            struct ana_iter_entry entry = ana_iter_entry_at(mark, more.entries);
            ana_iter_entry_put(&more, (uint64_t)entry.end_ns - (uint64_t)mark->first_ns, (uint64_t)entry.mpi_ns);
        }
        free(mark->entry);
    }
    *mark = more;
    return true;
}

void ana_iter_entries_halve(struct ana_iter_mark *mark)
{
    size_t size = 2u * mark->width;
    const uint8_t *from = mark->entry;
    uint8_t *to = mark->entry;
    mark->entries = (mark->entries + 1) / 2;
    for (uint32_t i = 0; i < mark->entries; i++, from += 2 * size, to += size)
        memmove(to, from, sizeof(struct ana_iter_entry)); /* longest entry: bytes behind a shorter one are not needed */
}
