/* Ranks that share processors, and one that is late: the larger of the two comes first, in the headline and
 * in the prices. */
#include "tests/support/planted.h"
#include "trace/headline/headline.h"
#include "trace/session/session.h"
#include "trace/verdict/straggler.h"

enum { RANKS = 4, STEPS = 120 };

/* Steps of 10 ms: each rank waits 5 ms for one of two processors, then two ranks wait `message_ns` for messages of the
 * other two, in turn; rank 3 (`root`: 2) enters every `each`-th sum `late_ns` later.  Another call lasts
 * `calls_ns`.  `root`: rank 0 receives from all before each sum. */
struct plan {
    int steps, each;
    int64_t message_ns, late_ns, calls_ns;
    bool root;
    unsigned percent; /* time on a processor */
};

static struct ana_job *run(struct plan plan)
{
    struct planted p = planted_begin("crowd", RANKS);
    for (int i = 1; i <= plan.steps; i++) {
        for (int r = 0; r < RANKS; r++)
            p.at[r] += 10 * MS + (r == (plan.root ? 2 : 3) && i % plan.each == 0 && i < STEPS ? plan.late_ns : 0);
        for (int r = 1; plan.root && r < RANKS; r++)
            planted_message(&p, r, 0);
        planted_meet(&p, 0x30, TB_WORLD, UINT64_MAX);
        for (int r = i % 2; plan.message_ns && r < RANKS; r += 2) {
            p.at[r] += plan.message_ns;
            planted_message(&p, r, r ^ 1);
        }
        struct trc_sig wait = tb_sig(TB_WAITALL);
        wait.site = 0x40;
        for (int r = 0; r < RANKS && plan.calls_ns; r++) {
            tb_event(p.tb[r], 0, &wait, p.at[r], p.at[r] + plan.calls_ns, (struct tb_more){0});
            p.at[r] += plan.calls_ns;
        }
    }
    const unsigned cpu_us = 1000 * plan.percent;
    struct trc_usage begin = {.whose = TRC_USAGE_THREAD},
                     beat = {.whose = TRC_USAGE_THREAD,
                             .fields = 1u << TRC_USAGE_CPU | 1u << TRC_USAGE_QUEUED,
                             .value = {[TRC_USAGE_CPU] = cpu_us, [TRC_USAGE_QUEUED] = 100000 - cpu_us}};
    for (int r = 0; r < RANKS; r++) {
        tb_fact(p.tb[r], "affinity", "0-1");
        tb_usage(p.tb[r], 0, 0, &begin, 1);
        for (int64_t at = 0; at + 100 * MS < p.at[r]; at += 100 * MS)
            tb_usage(p.tb[r], at, at + 100 * MS, &beat, 1);
    }
    return planted_open(&p);
}

static void check_headline(const char *what, struct plan plan, const char *begin)
{
    struct ana_job *job = run(plan);
    struct ana_summary s = folder_summary(job);
    char out[512];
    ana_headline(job, &s, NULL, out, sizeof out);
    CHECK(!ana_job_straggler(job)->found || strncmp(begin, "rank", 4) == 0, "%s: a straggler", what);
    CHECK(strncmp(out, begin, strlen(begin)) == 0, "%s: %s", what, out);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* An upper limit for a call includes the rank's wait for a processor: the price of processors precedes it. */
static void check_prices(void)
{
    struct ana_job *job = run((struct plan){.steps = STEPS, .each = 40, .calls_ns = 15 * MS, .percent = 50});
    struct ana_summary s = folder_summary(job);
    int64_t most_ns = 0;
    for (size_t i = 0; i < s.price_count; i++)
        most_ns = s.prices[i].saves_ns > most_ns ? s.prices[i].saves_ns : most_ns;
    CHECK(s.price_count > 1 && s.prices[0].kind == ANA_PRICE_PROCESSOR && s.prices[0].saves_ns < most_ns &&
              s.prices[1].at_most,
          "%zu prices, the first of kind %d: %lld, the largest %lld", s.price_count, (int)s.prices[0].kind,
          (long long)s.prices[0].saves_ns, (long long)most_ns);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    check_headline("late twice, by less than all wait for processors",
                   (struct plan){STEPS, 40, 30 * MS, 100 * MS, 0, false, 50}, "4 ranks share 2 processors");
    check_headline("late twice, by more", (struct plan){STEPS, 40, 30 * MS, 2000 * MS, 0, false, 50}, "rank 3 ");
    check_headline("late at each second sum, by less than all wait for processors",
                   (struct plan){STEPS, 2, 0, 8 * MS, 0, false, 50}, "4 ranks share 2 processors");
    check_headline("late at each second sum, by more", (struct plan){STEPS, 2, 0, 60 * MS, 0, false, 50}, "rank 3 ");
    check_headline("late at each sum, 60 % of it on a processor", (struct plan){STEPS, 1, 0, 60 * MS, 0, false, 60},
                   "rank 3 is late: spends 70 ms (42 ms on a processor) between calls at 0x30, others 10 ms; ");
    check_headline("for less than a quarter of a second", (struct plan){10, 40, 30 * MS, 0, 0, false, 50},
                   "4 ranks share 2 processors");
    check_headline("a price above all waiting for processors", (struct plan){STEPS, 3, 0, 25 * MS, 0, true, 50},
                   "all lose 22.4% waiting in MPI_Allreduce: rank 0 comes last, held up by others before; rank 2, ");
    check_prices();
    return check_result();
}
