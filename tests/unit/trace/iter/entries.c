/* The times that a mark keeps come back as they were put in, whatever they need. */
#include "tests/support/check.h"
#include "trace/iter/iter.h"
#include <stdlib.h>

#define MOST 3000u

static struct ana_iter_entry entry[MOST];

static void compare(const struct ana_iter_mark *mark, uint32_t stride, const char *what)
{
    for (uint32_t i = 0; i < mark->entries; i++) {
        struct ana_iter_entry is = ana_iter_entry_at(mark, i), was = entry[i * stride];
        CHECK(is.end_ns == was.end_ns && is.mpi_ns == was.mpi_ns, "%s, entry %u of %u: %lld, %lld", what, i,
              mark->entries, (long long)is.end_ns, (long long)is.mpi_ns);
    }
}

/* Calls at times that grow by `step_ns` each, from `first_ns` on, and by ever more where `bends`. */
static void try(int64_t first_ns, int64_t step_ns, bool bends, const char *what)
{
    struct ana_iter_mark mark = {.first_ns = first_ns};
    int64_t at_ns = first_ns;
    for (uint32_t i = 0; i < MOST; i++) {
        at_ns += bends ? step_ns * i * i : step_ns;
        entry[i] = (struct ana_iter_entry){at_ns, (at_ns - first_ns) / 3};
        CHECK(ana_iter_entry_add(&mark, entry[i]), "%s: out of memory", what);
    }
    CHECK(mark.entries == MOST, "%s: %u entries", what, mark.entries);
    compare(&mark, 1, what);
    ana_iter_entries_halve(&mark);
    CHECK(mark.entries == MOST / 2, "%s: %u entries are left", what, mark.entries);
    compare(&mark, 2, what);
    free(mark.entry);
}

int main(void)
{
    try(0, 1000, false, "a short run");
    try(-5000, 40000000, false, "minutes");
    try(1000000, 100000, true, "days");
    try(0, INT64_MAX / MOST, false, "as long as can be");
    try(0, -1000, false, "times that fall"); /* of damage */
    return check_result();
}
