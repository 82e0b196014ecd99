/* Trace files that are cut off or damaged.  Missing records do not prove that a call was not made. */
#include "trace/verdict/verdict_impl.h"

/* The first file that is cut off, and how many there are; `counters`: only files whose counters are unknown, too. */
static size_t first_cut(const struct ana_case *c, bool counters, size_t *n)
{
    size_t first = SIZE_MAX;
    *n = 0;
    for (size_t i = 0; i < c->count; i++)
        if ((counters ? !ana_case_known(c, i) : !ana_case_events_known(c, i)) && ++*n == 1)
            first = i;
    return first;
}

/* A fact about these files. */
static struct ana_fact files(const struct ana_case *c, enum ana_sentence say, size_t first, size_t n)
{
    return (struct ana_fact){
        .id = say, .who = ana_one_rank(first), .more = (int64_t)n - 1, .of = !trc_truncated(ana_case_file(c, first))};
}

void ana_explain_cut(struct ana_case *c)
{
    size_t n, first = first_cut(c, false, &n);
    if (first != SIZE_MAX)
        ana_case_fact(c, files(c, ANA_SENTENCE_CUT_REST, first, n));
}

/* Reports the facts in the heads: they are always there, with the states in them. */
static void explain_heads(struct ana_case *c)
{
    int64_t out = 0, dead = 0;
    for (size_t i = 0; i < c->count; i++) {
        out += ana_case_ended(c, i);
        dead += c->members->process[i].rank.state == ANA_RANK_DEAD;
    }
    ANA_FACT(c, ANA_SENTENCE_CUT_FINISHED, .count = out, .of = (int64_t)c->count);
    if (dead)
        ANA_FACT(c, ANA_SENTENCE_CUT_GONE, .count = dead);
}

bool ana_find_cut(struct ana_case *c)
{
    size_t n, first = first_cut(c, true, &n);
    bool counters = first != SIZE_MAX;
    if (!counters) {
        /* Each rank's position is known, and the events present may show a slow rank: that question comes first. */
        first = c->straggler ? first_cut(c, false, &n) : SIZE_MAX;
        if (first == SIZE_MAX)
            return false;
    }
    c->out->state = ANA_VERDICT_UNKNOWN;
    c->out->summary = files(c, ANA_SENTENCE_CUT, first, n);
    c->out->summary.number = !counters;
    ANA_NEXT(c, ANA_SENTENCE_NEXT_FILES);
    explain_heads(c);
    return true;
}
