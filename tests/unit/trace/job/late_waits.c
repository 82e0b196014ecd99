/* Waits that are found in any order are counted in the order of their calls and culprits. */
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "trace/job/late.h"

enum { RANKS = 5, WAITS = 300 };

static struct ana_wait_span got[WAITS];
static size_t n;

static void note(void *user, struct ana_late_wait_item *item)
{
    CHECK(user == &n && item->has_in == (item->in.place > 0) && n < WAITS);
    got[n++] = item->span;
}

/* Adds random waits; the waits of a call come in random order. */
static void add(struct ana_late_waits *waits, uint64_t *seed, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t step = 1 + (uint32_t)draw(seed, 20), place = (uint32_t)draw(seed, 2);
        const struct ana_wait_span span = {.waiter = draw(seed, RANKS),
                                           .culprit = draw(seed, RANKS),
                                           .waiter_step = step,
                                           .came_step = (uint32_t)draw(seed, 9),
                                           .begin_ns = step * 100,
                                           .end_ns = step * 100 + (int64_t)draw(seed, 30)};
        CHECK(ana_late_waits_add(waits,
                                 &(struct ana_late_wait_item){.span = span, .in.place = place, .has_in = place > 0}));
    }
}

static void in_order(void)
{
    struct ana_late_waits waits = {0};
    for (uint64_t seed = 1; seed < 50; seed++) {
        const size_t count = draw(&seed, WAITS);
        n = 0;
        add(&waits, &(uint64_t){seed}, count);
        ana_late_waits_flush(&waits, note, &n);
        CHECK(n == count && waits.count == 0, "%zu of %zu", n, count);
        bool seen[RANKS] = {false};
        for (size_t i = 0; i < n; i++) {
            const struct ana_wait_span *a = &got[i ? i - 1 : 0], *b = &got[i];
            const bool same = i > 0 && a->waiter == b->waiter;
            CHECK(same || !seen[b->waiter], "all of a waiter's follow one another");
            seen[b->waiter] = true;
            CHECK(!same || a->waiter_step < b->waiter_step ||
                      (a->waiter_step == b->waiter_step &&
                       (a->end_ns < b->end_ns || (a->end_ns == b->end_ns && a->culprit <= b->culprit))),
                  "wait %zu", i);
        }
    }
    ana_late_waits_flush(&waits, note, &n);
    CHECK(waits.count == 0);
    ana_late_waits_free(&waits);
}

int main(void)
{
    in_order();
    return check_result();
}
