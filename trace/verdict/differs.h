/* Finds members that differ from most: of many that should agree in all their terms. For trace/verdict only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ana_case;
struct trc_comm;

/* Values that all ranks must agree on that meet in one call, the most telling one first. */
enum ana_term {
    ANA_TERM_CALL,
    ANA_TERM_ROOT,
    ANA_TERM_AMOUNT, /* bytes or, on devices, elements */
    ANA_TERM_TYPE,
    ANA_TERM_OPERATION,
    ANA_TERM_TAG
};
enum { ANA_AGREED_MOST = ANA_TERM_TAG + 1 };
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

/* finding.c */
/* The call of a rank that meets others; NULL and 0: not known. */
struct ana_given_call {
    const char *call, *type, *operation;
    uint64_t site;
};
/* Blames the ranks that differ from most of `n`, all where one half stands against the other, and makes the summary
 * of their calls on a communicator; `number`: of the collective there, or 0. */
void ana_case_explain_difference(struct ana_case *c, const struct ana_agreed *all, size_t n,
                                 const struct ana_difference *difference, struct ana_given_call odd,
                                 struct ana_given_call usual, const struct trc_comm *comm, int64_t number);
