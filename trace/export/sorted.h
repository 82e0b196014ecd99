/* Records put in order of time, for formats that want them so: more than fit into memory are kept in files, sorted run
 * by run, and merged in the end.  Memory: ANA_SORTED_ROOM, half as much to know what is where, and a little for each
 * run. */
#ifndef ANA_EXPORT_SORTED_H
#define ANA_EXPORT_SORTED_H

#include "trace/export/out.h"

#define ANA_SORTED_ROOM ((size_t)64 << 20)

struct ana_sorted;

/* Nothing yet; files are made beside `path`, as PATH.sort, and lose that name at once.  NULL: out of memory. */
struct ana_sorted *ana_sorted_new(const char *path);
/* Frees it; NULL is none. */
void ana_sorted_free(struct ana_sorted *sorted);

/* Adds `n` bytes, ANA_SORTED_ROOM at most, that belong to a time. */
void ana_sorted_add(struct ana_sorted *sorted, int64_t at_ns, const void *bytes, size_t n);

/* Writes all records by time; those of one time in the order in which they were added.  It can only be freed then.
 * Returns errno of the first thing that failed here; 0: all are written (what `out` met it knows itself). */
int ana_sorted_write(struct ana_sorted *sorted, struct ana_out *out);

#endif
