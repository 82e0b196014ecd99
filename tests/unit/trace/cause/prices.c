/* Planted delays whose price is known by arithmetic: what mending one saves, and that the path is as long as the
 * run. */
#include "tests/support/planted.h"
#include "trace/session/session.h"
#include <stdlib.h>

#define ALL UINT64_MAX

/* The price of a segment of one rank, or of some; NULL: it has none. */
static const struct ana_price *price_of(const struct ana_summary *s, const char *from, const char *to)
{
    for (size_t i = 0; i < s->price_count; i++)
        if (s->prices[i].kind == ANA_PRICE_SEGMENT && strcmp(s->prices[i].from.place, from) == 0 &&
            strcmp(s->prices[i].to.place, to) == 0)
            return &s->prices[i];
    return NULL;
}

static struct ana_summary summary_of(const char *what, struct planted *p, struct ana_job **job)
{
    *job = planted_open(p);
    struct ana_summary s = folder_summary(*job);
    CHECK(s.path_ns == s.end_ns - s.begin_ns && s.path_unknown_ns == 0, "%s: path %lld of %lld, unknown %lld", what,
          (long long)s.path_ns, (long long)(s.end_ns - s.begin_ns), (long long)s.path_unknown_ns);
    return s;
}

static void done(struct ana_summary *s, struct ana_job *job)
{
    ana_summary_free(s);
    ana_job_close(job);
    folder_remove();
}

static void check_price(const char *what, const struct ana_price *price, size_t rank, int64_t saves_ns, int64_t path_ns)
{
    CHECK(price && price->ranks == 1 && price->rank[0] == rank, "%s", what);
    CHECK(price && price->saves_ns == saves_ns && price->path_ns == path_ns, "%s: saves %lld, on the path %lld", what,
          price ? (long long)price->saves_ns : 0, price ? (long long)price->path_ns : 0);
}

/* Each iteration all compute 2 ms and rank 2 4.5 ms: mending it saves 2.5 ms each time. */
static void one_late_segment(void)
{
    enum { TIMES = 100 };
    struct ana_job *job;
    struct planted p = planted_begin("one", 4);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int i = 0; i < TIMES; i++) {
        for (int r = 0; r < 4; r++)
            p.at[r] += r == 2 ? 4500 * US : 2 * MS;
        planted_meet(&p, 0x30, TB_WORLD, ALL);
        for (int r = 0; r < 4; r++)
            p.at[r] += 100 * US;
        planted_meet(&p, 0x20, TB_WORLD, ALL);
    }
    struct ana_summary s = summary_of("one", &p, &job);
    const struct ana_price *price = price_of(&s, "0x20", "0x30");
    check_price("one", price, 2, TIMES * 2500 * US, TIMES * 4500 * US);
    CHECK(price == &s.prices[0]);
    done(&s, job);
}

/* Rank 2 is late once, by 2 s, and more than ANA_DELAY_LAG_NS before the end: it has its price. */
static void once(void)
{
    struct ana_job *job;
    struct planted p = planted_begin("once", 3);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int r = 0; r < 3; r++)
        p.at[r] += r == 2 ? 2010 * MS : 10 * MS;
    planted_meet(&p, 0x30, TB_WORLD, ALL);
    for (int r = 0; r < 3; r++)
        p.at[r] += 1100 * MS;
    planted_meet(&p, 0x40, TB_WORLD, ALL);
    struct ana_summary s = summary_of("once", &p, &job);
    check_price("once", price_of(&s, "0x20", "0x30"), 2, 2000 * MS, 2010 * MS);
    done(&s, job);
}

/* Rank 2 is late once, by 2 s, between two phases of short rounds in which rank 1 is a little late: more steps than are
 * kept, so the run is replayed as it goes, and what costs most then must be found before that.  `places`: of the calls
 * in these rounds. */
static void once_among_many(int rounds, int places)
{
    struct ana_job *job;
    struct planted p = planted_begin("among", 3);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int phase = 0; phase < 2; phase++) {
        for (int i = 0; i < rounds; i++) {
            for (int r = 0; r < 3; r++)
                p.at[r] += r == 1 ? 150 * US : 100 * US;
            planted_meet(&p, (unsigned)(0x1000 + 0x10 * (i % places)), TB_WORLD, ALL);
        }
        planted_meet(&p, 0x30, TB_WORLD, ALL);
        for (int r = 0; r < 3 && phase == 0; r++)
            p.at[r] += r == 2 ? 2010 * MS : 10 * MS;
        planted_meet(&p, phase == 0 ? 0x40 : 0x50, TB_WORLD, ALL);
    }
    struct ana_summary s = summary_of("among", &p, &job);
    check_price("among", price_of(&s, "0x30", "0x40"), 2, 2000 * MS, 2010 * MS);
    done(&s, job);
}

/* Rank 0 is 10 ms late, ranks 1 and 2 therefore: as fast as others after the same call, it saves all of it. */
static void chain(void)
{
    enum { TIMES = 50 };
    struct ana_job *job;
    struct planted p = planted_begin("chain", 3);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int i = 0; i < TIMES; i++) {
        for (int r = 0; r < 3; r++)
            p.at[r] += r == 0 ? 12 * MS : 2 * MS;
        planted_message(&p, 0, 1);
        planted_message(&p, 1, 2);
        planted_meet(&p, 0x20, TB_WORLD, ALL);
    }
    struct ana_summary s = summary_of("chain", &p, &job);
    check_price("chain", price_of(&s, "0x20", "0x100"), 0, TIMES * 10 * MS, TIMES * 12 * MS);
    char words[200];
    ana_price_saving(&s, price_of(&s, "0x20", "0x100"), words, sizeof words);
    CHECK(strcmp(words, "as fast as other work after the same call saves 500 ms of 600 ms (83.3%)") == 0, "%s", words);
    done(&s, job);
}

/* Rank 1 is 10 ms late and rank 2 4 ms: mending rank 1 saves 6 ms only, since rank 2 is next. */
static void one_hides_the_other(void)
{
    struct ana_job *job;
    struct planted p = planted_begin("hidden", 3);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    p.at[0] += 1 * MS;
    p.at[1] += 11 * MS;
    p.at[2] += 5 * MS;
    planted_meet(&p, 0x30, TB_WORLD, ALL);
    struct ana_summary s = summary_of("hidden", &p, &job);
    check_price("hidden", price_of(&s, "0x20", "0x30"), 1, 6 * MS, 11 * MS);
    done(&s, job);
}

/* Each iteration another rank is 3 ms late: mending one saves little, mending what all do saves all of it. */
static void it_moves(void)
{
    enum { RANKS = 4, ROUNDS = 25 };
    struct ana_job *job;
    struct planted p = planted_begin("moves", RANKS);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int i = 0; i < ROUNDS * RANKS; i++) {
        for (int r = 0; r < RANKS; r++)
            p.at[r] += r == i % RANKS ? 4 * MS : MS;
        planted_meet(&p, 0x20, TB_WORLD, ALL);
    }
    struct ana_summary s = summary_of("moves", &p, &job);
    const struct ana_price *price = price_of(&s, "0x20", "0x20");
    /* The median that they are made as fast as is known within 1/16 of a millisecond. */
    CHECK(price && price->ranks == RANKS &&
              llabs(price->saves_ns - RANKS * ROUNDS * 3 * MS) <= RANKS * ROUNDS * MS / 16,
          "moves: %zu ranks, %lld", price ? price->ranks : 0, price ? (long long)price->saves_ns : 0);
    done(&s, job);
}

/* Rank 2 comes late to a collective with rank 0, which therefore sends late to rank 1: mending rank 2 saves both. */
static void sender_late_by_a_collective(void)
{
    struct ana_job *job;
    struct planted p = planted_sender();
    struct ana_summary s = summary_of("sender", &p, &job);
    check_price("sender", price_of(&s, "0x20", "0x30"), 2, 10 * MS, 11 * MS);
    done(&s, job);
}

/* Rank 0 computes 10 ms longer after it has sent, and nobody waits for it: nothing has a price. */
static void overlapped(void)
{
    struct ana_job *job;
    struct planted p = planted_begin("overlap", 2);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int i = 0; i < 10; i++) {
        planted_message(&p, 0, 1);
        p.at[0] += 12 * MS;
        p.at[1] += 12 * MS;
    }
    struct ana_summary s = summary_of("overlap", &p, &job);
    for (size_t i = 0; i < s.price_count; i++)
        CHECK(s.prices[i].kind != ANA_PRICE_SEGMENT || s.prices[i].saves_ns == 0, "%lld",
              (long long)s.prices[i].saves_ns);
    done(&s, job);
}

/* Two ranks meet 1000 times for 1 us and compute 9 us between, rank 1 one more: all of an ideal network's savings. */
static void efficiencies(void)
{
    enum { TIMES = 1000 };
    struct ana_job *job;
    struct planted p = planted_begin("ideal", 2);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int i = 0; i < TIMES; i++) {
        p.at[0] += i % 2 ? 9 * US : 5 * US;
        p.at[1] += i % 2 ? 6 * US : 10 * US;
        planted_meet(&p, 0x20, TB_WORLD, ALL);
    }
    struct ana_summary s = summary_of("ideal", &p, &job);
    const struct ana_price *price = NULL;
    for (size_t i = 0; i < s.price_count; i++)
        if (s.prices[i].kind == ANA_PRICE_COLLECTIVE)
            price = &s.prices[i];
    CHECK(price && price->saves_ns == (TIMES + 1) * US && price->path_ns == (TIMES + 1) * US, "%lld of %lld",
          price ? (long long)price->saves_ns : 0, price ? (long long)price->path_ns : 0);
    done(&s, job);
}

/* Ranks 1 and 3 are late at once: waits are charged to the last one, but to mend one alone would save nothing. */
static void two_late_at_once(void)
{
    enum { TIMES = 100 };
    struct ana_job *job;
    struct planted p = planted_begin("two", 4);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int i = 0; i < TIMES; i++) {
        for (int r = 0; r < 4; r++)
            p.at[r] += r % 2 ? 5 * MS : 2 * MS;
        planted_meet(&p, 0x30, TB_WORLD, ALL);
        planted_meet(&p, 0x20, TB_WORLD, ALL);
    }
    struct ana_summary s = summary_of("two", &p, &job);
    const struct ana_price *price = price_of(&s, "0x20", "0x30");
    CHECK(price && price->ranks == 2 && price->rank[0] == 1 && price->rank[1] == 3, "two");
    CHECK(price && price->saves_ns == TIMES * 3 * MS, "two: saves %lld", price ? (long long)price->saves_ns : 0);
    done(&s, job);
}

/* Times between calls of one wrapper: short pauses and, each `every` times, a computation, 100 in all and
 * `late_ns` longer on rank 1: two kinds of work in one segment. */
static struct ana_summary mixed(int every, int64_t late_ns, struct ana_job **job)
{
    struct planted p = planted_begin("mixed", 2);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int i = 0; i < 100 * every; i++) {
        for (int r = 0; r < 2; r++)
            p.at[r] += i % every ? 2 * US : 15 * MS + (r == 1 ? late_ns : i % 3 * 10 * US);
        planted_meet(&p, 0x20, TB_WORLD, ALL);
    }
    return summary_of("mixed", &p, job);
}

/* Equal times of all ranks are their work: nobody waits for it, so it has no price. */
static void two_kinds_of_work(void)
{
    struct ana_job *job;
    struct ana_summary s = mixed(5, 10 * US, &job);
    const struct ana_price *price = price_of(&s, "0x20", "0x20");
    CHECK(!price || price->saves_ns <= 2 * MS, "saves %lld of computing", (long long)price->saves_ns);
    done(&s, job);

    s = mixed(5, 5 * MS, &job);
    const struct ana_segment_stat *segment = planted_segment(&s, "0x20", "0x20");
    CHECK(segment->long_times == 200 && segment->times == 1000 && segment->worst_index == 1, "%llu long times",
          (unsigned long long)segment->long_times);
    CHECK(segment->by_rank_ns[0] > 14e6 && segment->by_rank_ns[0] < 16e6 && segment->by_rank_ns[1] > 18.5e6 &&
              segment->by_rank_ns[1] < 21.5e6,
          "%g and %g ns", segment->by_rank_ns[0], segment->by_rank_ns[1]);
    price = price_of(&s, "0x20", "0x20");
    CHECK(price && price->ranks == 1 && price->rank[0] == 1, "rank 1 is late");
    CHECK(price && price->saves_ns > 490 * MS && price->saves_ns <= 500 * MS, "saves %lld",
          price ? (long long)price->saves_ns : 0);
    done(&s, job);

    s = mixed(100, 5 * MS, &job); /* a hundredth: of all times the 99th percentile is a pause */
    segment = planted_segment(&s, "0x20", "0x20");
    CHECK(segment->p99_ns >= segment->median_ns && segment->p99_ns < 21.5e6, "%g ns", segment->p99_ns);
    done(&s, job);
}

/* Four ranks work for 15 ms now and then, in turn 1 ms longer: the other three wait at once, so 1 ms is saved. */
static void they_wait_at_once(void)
{
    enum { RANKS = 4, TIMES = 400 };
    struct ana_job *job;
    struct planted p = planted_begin("once", RANKS);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int i = 0; i < TIMES; i++) {
        for (int r = 0; r < RANKS; r++)
            p.at[r] += i % 4 ? 2 * US : 15 * MS + (r == i / 4 % RANKS ? MS : 0);
        planted_meet(&p, 0x20, TB_WORLD, ALL);
    }
    struct ana_summary s = summary_of("once", &p, &job);
    const struct ana_price *price = price_of(&s, "0x20", "0x20");
    CHECK(price && price->alike && price->saves_ns == TIMES / 4 * MS && planted_waits(&s) == 3 * TIMES / 4 * MS,
          "once: %zu ranks, %lld of %lld", price ? price->ranks : 0, price ? (long long)price->saves_ns : 0,
          (long long)planted_waits(&s));
    done(&s, job);
}

/* Rank 5 takes 8 ms longer than the rest, ranks 2 and 3 take 3 ms longer: mending these as well saves 3 ms more. */
static void second_cause(void)
{
    enum { TIMES = 200 };
    struct ana_job *job;
    struct planted p = planted_begin("second", 8);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int i = 0; i < TIMES; i++) {
        for (int r = 0; r < 8; r++)
            p.at[r] += r == 5 ? 18 * MS : r == 2 || r == 3 ? 13 * MS : 10 * MS;
        planted_meet(&p, 0x30, TB_WORLD, ALL);
        planted_meet(&p, 0x20, TB_WORLD, ALL);
    }
    struct ana_summary s = summary_of("second", &p, &job);
    check_price("second: the first", price_of(&s, "0x20", "0x30"), 5, TIMES * 5 * MS, TIMES * 18 * MS);
    const struct ana_price *next = NULL;
    for (size_t i = 0; i < s.price_count; i++)
        next = s.prices[i].afters ? &s.prices[i] : next;
    CHECK(next && next->ranks == 2 && next->rank[0] == 2 && next->rank[1] == 3 && next->afters == 1 &&
              next->after[0] == 5 && next->saves_ns == TIMES * 3 * MS,
          "second: %zu ranks, %lld", next ? next->ranks : 0, next ? (long long)next->saves_ns : 0);
    char words[200] = "";
    if (next)
        ana_price_words(job, next, words, sizeof words);
    CHECK(strcmp(words, "ranks 2 and 3, Allreduce 0x20 -> Allreduce 0x30, after rank 5") == 0, "%s", words);
    done(&s, job);
}

/* Returns the price of calls; NULL: there is none. */
static const struct ana_price *price_of_kind(const struct ana_summary *s, enum ana_price_kind kind)
{
    for (size_t i = 0; i < s->price_count; i++)
        if (s->prices[i].kind == kind)
            return &s->prices[i];
    return NULL;
}

/* Calls that no other rank takes part in are on the path, too. */
static void local_calls(void)
{
    struct ana_job *job;
    struct planted p = planted_begin("local", 2);
    struct trc_sig io = tb_sig(TB_FILE_WRITE), dup = tb_sig(TB_COMM_RANK);
    io.site = 0x40;
    dup.site = 0x50;
    for (int i = 0; i < 20; i++) {
        tb_event(p.tb[0], 0, &io, p.at[0], p.at[0] + 20 * MS, (struct tb_more){0});
        tb_event(p.tb[0], 0, &dup, p.at[0] + 20 * MS, p.at[0] + 23 * MS, (struct tb_more){0});
        p.at[0] += 23 * MS;
        planted_meet(&p, 0x20, TB_WORLD, ALL);
    }
    struct ana_summary s = summary_of("local", &p, &job);
    const struct ana_price *write = price_of_kind(&s, ANA_PRICE_IO), *rank = price_of_kind(&s, ANA_PRICE_LIBRARY);
    CHECK(write && write->saves_ns == 400 * MS && strcmp(write->to.place, "0x40") == 0, "%lld in I/O",
          write ? (long long)write->saves_ns : -1);
    CHECK(rank && rank->saves_ns == 60 * MS && strcmp(rank->to.place, "0x50") == 0, "%lld in the library",
          rank ? (long long)rank->saves_ns : -1);
    const struct ana_segment_stat *first = &s.segments[0], *second = &s.segments[1];
    CHECK(first->inside && strcmp(first->to.place, "0x40") == 0 && first->times == 20 && first->cost_ns == 400 * MS,
          "%lld ms lost by writing", (long long)first->cost_ns / MS);
    CHECK(second->inside && strcmp(second->to.place, "0x50") == 0 && second->cost_ns == 60 * MS,
          "%lld ms lost in the library", (long long)second->cost_ns / MS);
    done(&s, job);
}

int main(void)
{
    two_late_at_once();
    two_kinds_of_work();
    they_wait_at_once();
    second_cause();
    local_calls();
    one_late_segment();
    once();
    once_among_many(20000, 1);
    once_among_many(1000, 500);
    once_among_many(5000, 500);
    chain();
    one_hides_the_other();
    it_moves();
    sender_late_by_a_collective();
    overlapped();
    efficiencies();
    return check_result();
}
