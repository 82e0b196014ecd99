/* The longest periods of a mark are the same whether they are kept or found among its times, and none gets lost where
 * the one turns into the other: after many calls, or when times are forgotten. */
#include "tests/support/check.h"
#include "trace/iter/iter.h"
#include <stdlib.h>

#define CALLS 300

static int by_length(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* Compares the longest periods of a mark with all periods so far. */
static void check_longest(const struct ana_iter_mark *mark, const int64_t *end_ns, size_t calls)
{
    int64_t all[CALLS], found[ANA_ITER_LONGEST];
    struct ana_iter_period room[ANA_ITER_LONGEST];
    const struct ana_iter_period *longest = ana_iter_longest(mark, room);
    size_t n = 0;
    for (size_t i = 1; i < calls; i++)
        all[n++] = end_ns[i] - end_ns[i - 1];
    qsort(all, n, sizeof *all, by_length);
    for (size_t i = 0; i < ANA_ITER_LONGEST; i++) {
        const struct ana_iter_period *p = &longest[i];
        found[i] = p->ns;
        if (p->ns > 0)
            CHECK(p->number > 0 && p->number < calls && p->end_ns == end_ns[p->number] &&
                      p->ns == end_ns[p->number] - end_ns[p->number - 1],
                  "after %zu calls: period %d", calls, (int)p->number);
    }
    qsort(found, ANA_ITER_LONGEST, sizeof *found, by_length);
    for (size_t i = 0; i < ANA_ITER_LONGEST; i++)
        CHECK(found[i] == (i < n ? all[i] : 0), "after %zu calls: %lld in place of %lld", calls, (long long)found[i],
              (long long)(i < n ? all[i] : 0));
}

/* Random periods of a mark of a rank that may keep `room` times. */
static void check_room(uint32_t room, unsigned seed)
{
    struct ana_iter iter;
    int64_t end_ns[CALLS], now_ns = 0;
    CHECK(ana_iter_init(&iter, 1), "no memory");
    iter.room = room;
    struct ana_iter_place *place = ana_map_add(&iter.marks, 0, 1, 0);
    CHECK(place, "no memory");
    *place = (struct ana_iter_place){.symbol = 1, .mark = {.place = 1, .stride = 1, .floor_ns = INT64_MAX}};
    const struct ana_iter_mark *mark = &place->mark;
    iter.rank[0].marks = 1;
    srand(seed);
    for (size_t i = 0; i < CALLS; i++) {
        end_ns[i] = now_ns += 1 + rand() % 1000;
        struct ana_run_fact fact = {.kind = ANA_RUN_CALL, .call = {.mark = 1, .begin_ns = now_ns, .end_ns = now_ns}};
        ana_iter_consume(&iter, &fact, 1);
        check_longest(mark, end_ns, i + 1);
    }
    CHECK(mark->entries <= room, "%u times", mark->entries);
    ana_iter_free(&iter);
}

int main(void)
{
    for (unsigned seed = 0; seed < 20; seed++) {
        check_room(ANA_ITER_ENTRIES, seed);
        check_room(2 + seed, seed);
    }
    return check_result();
}
