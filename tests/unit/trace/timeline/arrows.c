/* Messages and regions of a part of a run, one by one: which are chosen where not all have room. */
#include "trace/timeline/arrows.h"
#include "tests/support/planted.h"

enum { STEPS = 10, STEP_NS = 100 * US, OUTER = 1, INNER = 2 };

/* Ten steps of 100 us: rank 0 sends to rank 1 twice, received 10 and 5 us after the sends began, in step 7 the second
 * one 60 us after.  On rank 0 all steps are in a region, and each but the first is one, too. */
static struct ana_job *make_job(void)
{
    folder_make("arrows");
    struct tb *from = tb_new(0, 2), *to = tb_new(1, 2);
    static const char *const names[] = {"outer", "inner"};
    for (uint32_t id = 0; id < 2; id++)
        tb_define(from, TRC_DEF_REGION, id + 1, 0, 0, names[id], strlen(names[id]), strlen(names[id]));
    for (int64_t i = 0; i < STEPS; i++) {
        int64_t at = STEP_NS * (i + 1);
        tb_send(from, 0, at, at + 2 * US, 1, 7, 64);
        tb_send(from, 0, at + 20 * US, at + 22 * US, 1, 8, 64);
        tb_region(from, 0, TRC_REGION_BEGIN, i ? INNER : OUTER, 8 * US);
        if (i)
            tb_region(from, 0, TRC_REGION_END, INNER, 38 * US);
        tb_recv(to, 0, at + 5 * US, at + 10 * US, 0, 7, 64);
        tb_recv(to, 0, at + 15 * US, at + (i == 7 ? 80 : 25) * US, 0, 8, 64);
    }
    folder_write(from, 0);
    folder_write(to, 1);
    tb_free(from);
    tb_free(to);
    struct ana_job *job = folder_open();
    ana_job_advance(job, 0);
    return job;
}

static void check_messages(const struct ana_job *job)
{
    struct ana_arrow arrow[STEPS];
    struct ana_selection of = {.begin_ns = STEP_NS, .end_ns = STEP_NS * (STEPS + 1)};
    size_t all, n = ana_arrows(job, of, STEPS, STEPS, arrow, &all);
    CHECK(n == STEPS && all == 2 * STEPS, "a step is a part of the time, with two messages: %zu of %zu", n, all);
    int64_t begin_ns = arrow[0].sent_ns;
    CHECK(begin_ns == STEP_NS * 8 + 20 * US && arrow[0].received_ns - begin_ns == 60 * US, "the slowest is first: %lld",
          (long long)begin_ns);
    unsigned steps = 0;
    for (size_t i = 1; i < n; i++) {
        CHECK(arrow[i].received_ns - arrow[i].sent_ns == 10 * US && arrow[i].source == 0 && arrow[i].destination == 1,
              "else the slower one of the two");
        steps |= 1u << (arrow[i].sent_ns / STEP_NS);
    }
    CHECK(__builtin_popcount(steps) == STEPS - 1, "one of each other step: %x", steps);
    n = ana_arrows(job, of, 1, STEPS, arrow, &all);
    CHECK(n == 1 && arrow[0].sent_ns == begin_ns, "one part: the slowest alone");
    of = (struct ana_selection){.begin_ns = STEP_NS * 8 + 50 * US, .end_ns = STEP_NS * 8 + 60 * US};
    CHECK(ana_arrows(job, of, 4, STEPS, arrow, &all) == 1 && all == 1, "it is under way all the time: %zu", all);
    uint8_t selected[2] = {1, 0};
    of.ranks = selected;
    CHECK(ana_arrows(job, of, 4, STEPS, arrow, &all) == 0, "its receiver is not shown");
}

static void check_regions(const struct ana_job *job)
{
    struct ana_region_span span[STEPS];
    const int64_t begin_ns = STEP_NS, end_ns = STEP_NS * (STEPS + 1);
    size_t n = ana_region_spans(job, 0, begin_ns, end_ns, STEPS, span);
    CHECK(n == STEPS, "nine inner ones, and the outer one: %zu", n);
    for (size_t i = 0; i + 1 < n; i++)
        CHECK(strcmp(span[i].name, "inner") == 0 && span[i].level == 1 &&
                  span[i].begin_ns == STEP_NS * (int64_t)(i + 2) + 30 * US &&
                  span[i].end_ns - span[i].begin_ns == 30 * US,
              "inner %zu: %lld", i, (long long)span[i].begin_ns);
    CHECK(strcmp(span[n - 1].name, "outer") == 0 && !span[n - 1].level && span[n - 1].begin_ns == STEP_NS + 30 * US,
          "the outer one is open at the end");
    n = ana_region_spans(job, 0, begin_ns, end_ns, STEPS - 1, span);
    CHECK(n == 1 && !span[0].level, "no room for all: the outer level alone, %zu", n);
    n = ana_region_spans(job, 0, STEP_NS * 3, STEP_NS * 4, STEPS, span);
    CHECK(n == 2 && span[0].level == 1, "those of the time alone: %zu", n);
    CHECK(!ana_region_spans(job, 1, begin_ns, end_ns, STEPS, span), "a rank without");
}

int main(void)
{
    struct ana_job *job = make_job();
    check_messages(job);
    check_regions(job);
    ana_job_close(job);
    folder_remove();
    return check_result();
}
