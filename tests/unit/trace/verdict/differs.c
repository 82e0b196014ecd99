/* Members that differ from most: found whatever the order, also where some say nothing in a term, and among many
 * thousands. */
#include "tests/support/check.h"
#include "trace/verdict/differs.h"
#include <stdlib.h>
#include <string.h>

#define ANY ANA_AGREES_WITH_ALL
#define SAY(...)                                                                                                       \
    {                                                                                                                  \
        .term = { __VA_ARGS__ }                                                                                        \
    }

static const struct {
    const char *what;
    size_t n;
    struct ana_agreed all[6];
    size_t odds, odd, term, usual;
} cases[] = {
    {"nobody", 0, {SAY(0)}, 0, 0, 0, 0},
    {"one", 1, {SAY(1)}, 0, 0, 0, 0},
    {"all agree", 3, {SAY(1, 2), SAY(1, 2), SAY(1, 2)}, 0, 0, 0, 0},
    {"the last", 3, {SAY(1, 2), SAY(1, 2), SAY(1, 3)}, 1, 2, 1, 0},
    {"the first", 3, {SAY(7, 2), SAY(1, 2), SAY(1, 2)}, 1, 0, 0, 1},
    {"two in two terms", 5, {SAY(1, 2, 3), SAY(1, 2, 4), SAY(1, 2, 3), SAY(9, 2, 3), SAY(1, 2, 3)}, 2, 1, 2, 0},
    {"two against two: the first is most", 4, {SAY(5), SAY(6), SAY(5), SAY(6)}, 2, 1, 0, 0},
    {"who says nothing agrees", 3, {SAY(1, ANY), SAY(1, 4), SAY(1, 4)}, 0, 0, 0, 0},
    {"who says nothing hides nobody", 4, {SAY(1, ANY), SAY(1, 4), SAY(1, 8), SAY(1, 4)}, 1, 2, 1, 1},
    {"who says nothing counts in the other terms", 4, {SAY(2, 4), SAY(1, ANY), SAY(1, ANY), SAY(1, ANY)}, 1, 0, 0, 1},
};

static void many(size_t n, size_t ways)
{
    struct ana_agreed *all = calloc(n, sizeof *all);
    struct ana_difference d;
    for (size_t i = 0; i < n; i++)
        all[i].term[2] = i % 3 ? 5 : 100 + i % (3 * ways); /* two thirds say 5 */
    CHECK(ana_find_difference(all, n, &d));
    CHECK(d.odds == (n + 2) / 3 && d.odd == 0 && d.term == 2 && d.usual == 1 && d.most.term[2] == 5,
          "%zu in %zu ways: %zu differ, first %zu in term %zu", n, ways, d.odds, d.odd, d.term);
    free(all);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ana_difference d;
        CHECK(ana_find_difference(cases[i].all, cases[i].n, &d));
        CHECK(d.odds == cases[i].odds &&
                  (!d.odds || (d.odd == cases[i].odd && d.term == cases[i].term && d.usual == cases[i].usual)),
              "%s: %zu differ, the first is %zu in term %zu from %zu", cases[i].what, d.odds, d.odd, d.term, d.usual);
    }
    many(100000, 1);
    many(100000, 30000);
    return check_result();
}
