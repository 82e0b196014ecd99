/* Finds members that differ from most: of many that should agree in all their terms. For trace/verdict only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ANA_AGREED_MOST = 5 };
#define ANA_AGREES_WITH_ALL UINT64_MAX /* value of a term: not known, or of no matter */

/* Terms of one member, the most telling term first. */
struct ana_agreed {
    uint64_t term[ANA_AGREED_MOST];
    size_t who; /* for the caller */
};

struct ana_difference {
    size_t odds;  /* number of members that differ from most; 0: none */
    size_t odd;   /* index of the first odd member */
    size_t term;  /* the first term in which that one differs */
    size_t usual; /* one that says in this term what most say */
    struct ana_agreed most;
};

/* Whether two agree in all terms. */
bool ana_agree(const struct ana_agreed *a, const struct ana_agreed *b);
/* Finds what most of `n` say, and who differs from it, in time linear in n for the few ways in which they usually
 * differ.  Where two say the same number of times different things, the first counts as most.  *out is then complete.
 * False: out of memory. */
bool ana_find_difference(const struct ana_agreed *all, size_t n, struct ana_difference *out);
