#include "trace/util/cpus.h"
#include <stdlib.h>

/* Parses a number; false: there is none. */
static bool parse(const char **at, unsigned long *out)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *out = strtoul(*at, &end, 10);
    *at = end;
    return true;
}

void ana_cpus_add(struct ana_cpus *cpus, const char *list)
{
    unsigned long first, last;
    while (parse(&list, &first)) {
        last = first;
        if (*list == '-' && (list++, !parse(&list, &last)))
            return;
        for (; first <= last && first < ANA_CPUS; first++)
            cpus->bit[first / 64] |= UINT64_C(1) << first % 64;
        if (*list++ != ',')
            return;
    }
}

size_t ana_cpus_count(const struct ana_cpus *cpus)
{
    size_t n = 0;
    for (size_t i = 0; i < ANA_CPUS / 64; i++)
        n += (size_t)__builtin_popcountll(cpus->bit[i]);
    return n;
}

bool ana_cpus_meet(const struct ana_cpus *a, const struct ana_cpus *b)
{
    uint64_t both = 0;
    for (size_t i = 0; i < ANA_CPUS / 64; i++)
        both |= a->bit[i] & b->bit[i];
    return both != 0;
}
