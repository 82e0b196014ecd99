/* Reasons why a segment takes longer, by the kernel's counts: the arithmetic, and built jobs in which one rank waits
 * for a processor, reads, faults, computes more or slower; where the counts do not cover the time nothing is said. */
#include "tests/support/planted.h"
#include "trace/session/session.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include <math.h>

enum { TIMES = 100, BEAT_MS = 100 };

/* Counts of a second. */
struct rates {
    double cpu, queued, system, faults, read, instructions, cycles;
    double beside; /* processor time of other threads of the process */
};
static const struct rates computes = {.cpu = 1};

static struct trc_usage usage_of(uint32_t whose, const struct rates *rates, double s)
{
    struct trc_usage usage = {.whose = whose, .fields = (1u << TRC_USAGE_FIELDS) - 1};
    usage.value[TRC_USAGE_CPU] = (uint64_t)(rates->cpu * s * 1e6);
    usage.value[TRC_USAGE_QUEUED] = (uint64_t)(rates->queued * s * 1e6);
    usage.value[TRC_USAGE_SYSTEM] = (uint64_t)(rates->system * s * 1e6);
    usage.value[TRC_USAGE_MINOR] = (uint64_t)(rates->faults * s);
    usage.value[TRC_USAGE_INSTRUCTIONS] = (uint64_t)(rates->instructions * s);
    usage.value[TRC_USAGE_CYCLES] = (uint64_t)(rates->cycles * s);
    if (whose == TRC_USAGE_PROCESS) {
        usage.value[TRC_USAGE_READ] = (uint64_t)(rates->read * s);
        usage.value[TRC_USAGE_CPU] += (uint64_t)(rates->beside * s * 1e6);
    }
    return usage;
}

/* Counts a rank from `from_ms` until `to_ms`, each 100 ms. */
static void count(struct tb *tb, const struct rates *rates, int64_t from_ms, int64_t to_ms)
{
    struct trc_usage begin = {.whose = TRC_USAGE_THREAD};
    tb_usage(tb, from_ms * MS, from_ms * MS, &begin, 1);
    for (int64_t at = from_ms; at < to_ms; at += BEAT_MS) {
        struct trc_usage both[] = {usage_of(TRC_USAGE_PROCESS, rates, BEAT_MS / 1e3),
                                   usage_of(TRC_USAGE_THREAD, rates, BEAT_MS / 1e3)};
        tb_usage(tb, at * MS, (at + BEAT_MS) * MS, both, 2);
    }
}

/* The words for a job whose rank 1 takes `slow_ms` each time and the others 10 ms; `covered` of it is counted. */
static const char *words_of(const char *name, const struct rates *own, const struct rates *usual, int64_t slow_ms,
                            double covered)
{
    static char words[160];
    struct planted p = planted_begin(name, 3);
    int64_t end_ms = TIMES * slow_ms / BEAT_MS * BEAT_MS + BEAT_MS;
    for (int i = 0; i < TIMES; i++) {
        for (int r = 0; r < 3; r++)
            p.at[r] += (r == 1 ? slow_ms : 10) * MS;
        planted_meet(&p, 0x20, TB_WORLD, 7);
    }
    for (int r = 0; r < 3; r++)
        count(p.tb[r], r == 1 ? own : usual, 0, (int64_t)((double)end_ms * covered));
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const struct ana_segment_stat *segment = planted_segment(&s, "0x20", "0x20");
    CHECK(segment->worst_index == 1, "rank %zu is the worst", segment->worst_index);
    ana_reason_words(ana_segment_reason(segment, 3), words, sizeof words);
    CHECK(s.price_count && strcmp(s.prices[0].reason.kind ? "" : words, "") == 0, "the price does not know why");
    char line[512];
    ana_headline(job, &s, NULL, line, sizeof line);
    CHECK(!words[0] || strstr(line, words), "the headline does not say why: %s", line);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
    return words;
}

#define SAYS(words, ...)                                                                                               \
    do {                                                                                                               \
        const char *got_ = words_of(__VA_ARGS__);                                                                      \
        CHECK(strcmp(got_, words) == 0, "%s, not %s", got_, words);                                                    \
    } while (0)

static void test_jobs(void)
{
    SAYS("same work, 1.4 x the time: waited 28.6% for a processor", "queued",
         &((struct rates){.cpu = 10.0 / 14, .queued = 4.0 / 14}), &computes, 14, 1);
    SAYS("waited 40.0% for a processor", "both", &((struct rates){.cpu = 0.6, .queued = 0.4}), &computes, 20, 1);
    SAYS("reads 990 MB, off the processor 50.0% of the time", "reads", &((struct rates){.cpu = 0.5, .read = 0.5e9}),
         &computes, 20, 1);
    SAYS("off the processor 50.0% of the time: it slept, or waited for something", "sleeps",
         &((struct rates){.cpu = 0.5}), &computes, 20, 1);
    SAYS("396019 page faults, in the kernel 45.0% of the time", "faults",
         &((struct rates){.cpu = 1, .system = 0.45, .faults = 200000}), &computes, 20, 1);
    /* Calls that poll through the kernel do not count as kernel time between them; the program's own does. */
    SAYS("475219 page faults, in the kernel 45.0% of the time", "polls",
         &((struct rates){.cpu = 1, .system = 0.45, .faults = 200000}), &((struct rates){.cpu = 1, .system = 0.4}), 24,
         1);
    SAYS("more work, as far as is known: 2.0 x the processor time", "in kernel",
         &((struct rates){.cpu = 1, .system = 0.65, .faults = 200000}), &((struct rates){.cpu = 1, .system = 0.95}), 20,
         1);
    SAYS("more work, as far as is known: 2.0 x the processor time", "work", &computes, &computes, 20, 1);
    static const struct rates busy = {.cpu = 1, .instructions = 2e9, .cycles = 3e9};
    static const struct rates slowly = {.cpu = 1, .instructions = 1e9, .cycles = 3e9};
    SAYS("more work, as far as is known: 2.0 x the processor time", "unknown", &slowly, &busy, 20, 1);
    /* Other threads compute: more work and waiting were not counted. */
    SAYS("", "spins", &((struct rates){.cpu = 1, .beside = 3}), &((struct rates){.cpu = 1, .beside = 3}), 20, 1);
    SAYS("", "waits", &((struct rates){.cpu = 0.3, .beside = 3}), &((struct rates){.cpu = 0.6, .beside = 3}), 20, 1);
    SAYS("", "uncovered", &((struct rates){.cpu = 0.5, .queued = 0.5}), &computes, 20, 0.3);
}

/* A rank that stands for a second once, on a disk, and for less before that, while it is as fast as the others else. */
static void test_once(void)
{
    static const struct rates reads = {.read = 1e9}, sleeps = {0};
    struct planted p = planted_begin("once", 2);
    for (int i = 0; i < TIMES; i++) {
        for (int r = 0; r < 2; r++)
            p.at[r] += (r == 1 && i == 49 ? 1010 : r == 1 && i == 9 ? 310 : 10) * MS;
        planted_meet(&p, 0x20, TB_WORLD, 3);
    }
    count(p.tb[0], &computes, 0, 2300);
    count(p.tb[1], &computes, 0, 100);
    count(p.tb[1], &sleeps, 100, 400);
    count(p.tb[1], &computes, 400, 800);
    count(p.tb[1], &reads, 800, 1800);
    count(p.tb[1], &computes, 1800, 2300);
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    char words[160];
    ana_reason_words(ana_segment_reason(planted_segment(&s, "0x20", "0x20"), 2), words, sizeof words);
    CHECK(strstr(words, "reads ") && strstr(words, "off the processor 9"), "%s", words);
    const struct ana_loop_level *loop = &s.iterations.loop[s.iterations.level];
    ana_reason_words(&loop->slow[0].reason, words, sizeof words);
    CHECK(loop->slow_count > 2 && loop->slow[0].number == 50 && strncmp(words, "reads ", 6) == 0, "the slowest: %s",
          words);
    ana_reason_words(&loop->slow[1].reason, words, sizeof words);
    CHECK(loop->slow[1].number == 10 && strncmp(words, "off the processor 9", 19) == 0, "the second: %s", words);
    CHECK(!loop->slow[2].reason.kind, "a usual iteration needs no reason");
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* A running job, read again and again: its reasons are the same as at its end. */
static void test_running(void)
{
    enum { PARTS = 4, END_MS = 1400 };
    static const struct rates waits = {.cpu = 10.0 / 14, .queued = 4.0 / 14};
    struct planted p = planted_begin("running", 2);
    struct ana_job *job = NULL;
    char words[160] = "";
    for (int part = 0; part < PARTS; part++) {
        for (int i = 0; i < TIMES / PARTS; i++) {
            for (int r = 0; r < 2; r++)
                p.at[r] += (r ? 14 : 10) * MS;
            planted_meet(&p, 0x20, TB_WORLD, 3);
        }
        for (int r = 0; r < 2; r++) {
            int64_t from_ms = part * END_MS / PARTS / BEAT_MS * BEAT_MS;
            count(p.tb[r], r ? &waits : &computes, from_ms, (part + 1) * END_MS / PARTS / BEAT_MS * BEAT_MS);
            folder_this_process(p.tb[r]);
            tb_running(p.tb[r], p.at[r]);
            folder_write(p.tb[r], r);
        }
        if (job)
            ana_job_refresh(job);
        else
            job = folder_open();
        struct ana_summary s = folder_summary(job);
        ana_reason_words(ana_segment_reason(planted_segment(&s, "0x20", "0x20"), 2), words, sizeof words);
        ana_summary_free(&s);
    }
    CHECK(strcmp(words, "same work, 1.4 x the time: waited 28.6% for a processor") == 0, "%s", words);
    ana_job_close(job);
    for (int r = 0; r < 2; r++)
        tb_free(p.tb[r]);
    folder_remove();
}

/* Both ranks of a host see its network: they are not added up. */
static void test_network(void)
{
    struct planted p = planted_begin("network", 2);
    for (int i = 0; i < TIMES; i++) {
        for (int r = 0; r < 2; r++)
            p.at[r] += 10 * MS;
        planted_meet(&p, 0x20, TB_WORLD, 3);
    }
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < 2; i++) {
            struct trc_usage node = {.whose = TRC_USAGE_NODE, .fields = 1u << TRC_USAGE_RETRANSMITS};
            node.value[TRC_USAGE_RETRANSMITS] = (uint64_t)(5 + r);
            tb_usage(p.tb[r], (100 + 300 * i) * MS, (400 + 300 * i) * MS, &node, 1);
        }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    CHECK(s.network_count == 1 && s.networks[0].retransmits == 12 && s.networks[0].errors == 0, "%zu hosts",
          s.network_count);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Numbers by hand: nobody to compare with, calls between, and differences that explain nothing. */
static void test_arithmetic(void)
{
    struct ana_usage_sums sums = {.covered_ns = 1e9, .outside_ns = 1e9};
    struct ana_reason_side own = {.ns = 2e6, .total_ns = 1e9, .sums = &sums};
    struct ana_reason_side nobody = {.ns = NAN}, half = {.ns = 1e6}, alike = {.ns = 1.98e6};
    sums.value[TRC_USAGE_CPU] = 0.6e6;
    sums.value[TRC_USAGE_QUEUED] = 0.4e6;
    struct ana_reason reason = ana_reason_of(own, nobody);
    CHECK(reason.kind == ANA_REASON_QUEUED && fabs(reason.share - 0.4) < 1e-9 && reason.factor == 0, "%d", reason.kind);
    reason = ana_reason_of(own, half);
    CHECK(reason.kind == ANA_REASON_QUEUED && fabs(reason.share - 0.4) < 1e-9, "%d", reason.kind);
    CHECK(ana_reason_of(own, alike).kind == ANA_REASON_NONE, "no difference to explain");
    sums.outside_ns = 0.3e9;
    CHECK(ana_reason_of(own, half).kind == ANA_REASON_NONE, "mostly in calls");
    sums.outside_ns = 1e9;
    sums.covered_ns = 0.2e9;
    CHECK(ana_reason_of(own, half).kind == ANA_REASON_NONE, "not covered");
    own.sums = NULL;
    CHECK(ana_reason_of(own, half).kind == ANA_REASON_NONE, "not counted");
}

/* Long segments: rank 1 computes for 400 ms, the others for 300 ms, and wait by polling, which runs as many
 * instructions and more. */
static void long_segments(const char *want, const struct rates *slow)
{
    static const struct rates fast = {.cpu = 1, .instructions = 2e9, .cycles = 3e9};
    static const struct rates polls = {.cpu = 1, .instructions = 6e9, .cycles = 3e9};
    struct planted p = planted_begin("long", 2);
    char words[160];
    for (int i = 0; i < TIMES; i++) {
        for (int r = 0; r < 2; r++) {
            count(p.tb[r], r ? slow : &fast, 400 * i, 400 * i + 300);
            count(p.tb[r], r ? slow : &polls, 400 * i + 300, 400 * i + 400);
            p.at[r] = (400 * i + (r ? 400 : 300)) * MS - (r ? 2 * US : 0);
        }
        planted_meet(&p, 0x20, TB_WORLD, 3);
    }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    ana_reason_words(ana_segment_reason(planted_segment(&s, "0x20", "0x20"), 2), words, sizeof words);
    CHECK(strcmp(words, want) == 0, "%s, not %s", words, want);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

static void test_hardware(void)
{
    long_segments("more work: 1.3 x the instructions", &((struct rates){.cpu = 1, .instructions = 2e9, .cycles = 3e9}));
    long_segments("memory limited: same instructions, 1.3 x the cycles",
                  &((struct rates){.cpu = 1, .instructions = 1.5e9, .cycles = 3e9}));
    long_segments("same instructions and cycles, 1.3 x the time: a slower processor",
                  &((struct rates){.cpu = 1, .instructions = 1.5e9, .cycles = 2.25e9}));
    long_segments("more work, as far as is known: 1.3 x the processor time", &((struct rates){.cpu = 1}));
}

/* Checks what the headline of a job starts with whose ranks are late in turn, by 10 ms of 20; the first `crowd` of 3
 * ranks wait for a processor for a share of their time outside calls. */
static void crowded(double share, int crowd, bool first)
{
    struct planted p = planted_begin("crowd", 3);
    const struct rates queued = {.cpu = 1 - share, .queued = share};
    for (int i = 0; i < TIMES; i++) {
        for (int r = 0; r < 3; r++)
            p.at[r] += (r == i % 3 ? 20 : 10) * MS;
        planted_meet(&p, 0x20, TB_WORLD, 7);
    }
    for (int r = 0; r < 3; r++)
        count(p.tb[r], r < crowd ? &queued : &computes, 0, TIMES * 20);
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    char line[512];
    ana_headline(job, &s, NULL, line, sizeof line);
    CHECK((strstr(line, "for a processor") != NULL) == first, "%g of %d: %s", share, crowd, line);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

static void test_crowded(void)
{
    crowded(0.4, 3, true); /* less than they wait for each other, which is a consequence */
    crowded(0.2, 3, false);
    crowded(0.4, 1, false);
    crowded(0, 3, false);
}

/* Returns how long rank 1 stood still, whose process hardly runs from 1 s to 3 s, and has `beats` heartbeats in it; -1:
 * they are not counted. */
static int64_t still_ns(int beats)
{
    struct planted p = planted_begin("still", 2);
    struct trc_usage begin = {.whose = TRC_USAGE_PROCESS};
    struct trc_usage idle = {.whose = TRC_USAGE_PROCESS, .fields = 1u << TRC_USAGE_CPU};
    idle.value[TRC_USAGE_CPU] = 1000;
    if (beats >= 0) {
        idle.fields |= 1u << TRC_USAGE_BEATS;
        idle.value[TRC_USAGE_BEATS] = (uint64_t)beats;
    }
    tb_usage(p.tb[1], 1000 * MS, 1000 * MS, &begin, 1);
    tb_usage(p.tb[1], 1000 * MS, 3000 * MS, &idle, 1);
    p.at[0] = p.at[1] = 3500 * MS;
    planted_meet(&p, 0x20, TB_WORLD, 7);
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const int64_t ns = s.ranks[1].still.ns;
    CHECK(s.ranks[0].still.ns == 0, "rank 0 %lld", (long long)s.ranks[0].still.ns);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
    return ns;
}

/* A process without heartbeats but the one after it was stopped; one that sleeps has them. */
static void test_still(void)
{
    CHECK(still_ns(1) == 2000 * MS, "the one after it: %lld", (long long)still_ns(1));
    CHECK(still_ns(3) == 2000 * MS, "before and after: %lld", (long long)still_ns(3));
    CHECK(still_ns(19) == 0, "it sleeps: %lld", (long long)still_ns(19));
    CHECK(still_ns(-1) == 0, "not counted: %lld", (long long)still_ns(-1));
}

int main(void)
{
    test_still();
    test_crowded();
    test_jobs();
    test_once();
    test_running();
    test_network();
    test_arithmetic();
    test_hardware();
    return check_result();
}
