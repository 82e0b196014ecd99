/* Ranks that share processors, and one that is late a few times: the larger of the two comes first, in the headline and
 * in the prices. */
#include "tests/support/planted.h"
#include "trace/headline/headline.h"
#include "trace/session/session.h"

enum { RANKS = 4, STEPS = 120 };

/* Steps of 10 ms: each rank waits 5 ms for one of two processors, then two ranks wait `message_ns` for messages of the
 * other two, in turn; rank 3 enters the 40th and the 80th sum `late_ns` later.  Another call lasts `calls_ns`. */
static struct ana_job *run(int steps, int64_t message_ns, int64_t late_ns, int64_t calls_ns)
{
    struct planted p = planted_begin("crowd", RANKS);
    for (int i = 1; i <= steps; i++) {
        for (int r = 0; r < RANKS; r++)
            p.at[r] += 10 * MS + (r == 3 && i % 40 == 0 && i < STEPS ? late_ns : 0);
        planted_meet(&p, 0x30, TB_WORLD, UINT64_MAX);
        for (int r = i % 2; message_ns && r < RANKS; r += 2) {
            p.at[r] += message_ns;
            planted_message(&p, r, r ^ 1);
        }
        struct trc_sig wait = tb_sig(TB_WAITALL);
        wait.site = 0x40;
        for (int r = 0; r < RANKS && calls_ns; r++) {
            tb_event(p.tb[r], 0, &wait, p.at[r], p.at[r] + calls_ns, (struct tb_more){0});
            p.at[r] += calls_ns;
        }
    }
    struct trc_usage begin = {.whose = TRC_USAGE_THREAD},
                     beat = {.whose = TRC_USAGE_THREAD,
                             .fields = 1u << TRC_USAGE_CPU | 1u << TRC_USAGE_QUEUED,
                             .value = {[TRC_USAGE_CPU] = 50000, [TRC_USAGE_QUEUED] = 50000}};
    for (int r = 0; r < RANKS; r++) {
        tb_fact(p.tb[r], "affinity", "0-1");
        tb_usage(p.tb[r], 0, 0, &begin, 1);
        for (int64_t at = 0; at + 100 * MS < p.at[r]; at += 100 * MS)
            tb_usage(p.tb[r], at, at + 100 * MS, &beat, 1);
    }
    return planted_open(&p);
}

static void check_headline(const char *what, int steps, int64_t late_ns, const char *begin)
{
    struct ana_job *job = run(steps, 30 * MS, late_ns, 0);
    struct ana_summary s = folder_summary(job);
    char out[512];
    ana_headline(job, &s, NULL, out, sizeof out);
    CHECK(strncmp(out, begin, strlen(begin)) == 0, "%s: %s", what, out);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* An upper limit for a call includes the rank's wait for a processor: the price of processors precedes it. */
static void check_prices(void)
{
    struct ana_job *job = run(STEPS, 0, 0, 15 * MS);
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
    check_headline("late twice, by less than all wait for processors", STEPS, 100 * MS, "4 ranks share 2 processors");
    check_headline("late twice, by more", STEPS, 2000 * MS, "rank 3 ");
    check_headline("for less than a quarter of a second", 10, 0, "4 ranks share 2 processors");
    check_prices();
    return check_result();
}
