#include "trace/relations/slices.h"
#include <math.h>

#define NARROWEST 16u  /* 66 us: of a job that has few items so far */
#define WIDEST    26u  /* 67 ms: a live view lags by a slice */
#define MANY      1024 /* ranks: above, fewer steps of each are kept (ana_steps_room) */

/* Returns the length of a tick, in ns; 1 if a file does not tell. */
static double tick_ns(const struct trc_file *file)
{
    const struct trc_anchor *start = &trc_head(file)->start, *last = trc_complete(file);
    const bool known = last->ticks > start->ticks && last->monotonic_ns > start->monotonic_ns;
    return known ? (double)(last->monotonic_ns - start->monotonic_ns) / (double)(last->ticks - start->ticks) : 1;
}

/* Returns the items of a file in one ns: of all its time, or half of its densest chunk's if that is more. */
static double density(const struct trc_file *file)
{
    uint64_t first = UINT64_MAX, last = 0;
    double items = 0, densest = 0;
    for (size_t c = 0; c < trc_event_chunks(file); c++) {
        const struct trc_chunk_info chunk = trc_event_chunk(file, c);
        const double records = (double)chunk.records;
        items += records;
        first = chunk.first_ticks < first ? chunk.first_ticks : first;
        last = chunk.last_ticks > last ? chunk.last_ticks : last;
        if (chunk.last_ticks > chunk.first_ticks)
            densest = fmax(densest, records / 2 / (double)(chunk.last_ticks - chunk.first_ticks));
    }
    return (last > first ? fmax(densest, items / (double)(last - first)) : densest) / tick_ns(file);
}

unsigned ana_slice_shift(struct trc_file *const *files, size_t n)
{
    double most = 0;
    unsigned shift = NARROWEST;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, density(files[i]));
    const double items = n > MANY ? ANA_SLICE_ITEMS / 2.0 : ANA_SLICE_ITEMS;
    while (most > 0 && shift < WIDEST && most * (double)((uint64_t)2 << shift) <= items)
        shift++;
    return shift;
}
