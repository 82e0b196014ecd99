/* Checks that tests of summaries repeat. */
#ifndef TESTS_SUMMARY_CHECKS_H
#define TESTS_SUMMARY_CHECKS_H

#include "trace/summary/summary.h"
#include <math.h>
#include <string.h>

/* The row of a call; one of zeros if there is none. */
static inline const struct ana_call_stat *call_named(const struct ana_summary *s, const char *name)
{
    static const struct ana_call_stat none;
    for (size_t i = 0; i < s->call_count; i++)
        if (strcmp(s->calls[i].name, name) == 0)
            return &s->calls[i];
    return &none;
}

/* The same but for rounding. */
static inline bool is(double got, double want)
{
    return fabs(got - want) < 1e-9 * (1 + fabs(want));
}

#endif
