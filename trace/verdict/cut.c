/* Trace files that are cut off or damaged.  Missing records do not prove that a call was not made. */
#include "trace/verdict/verdict_impl.h"
#include <stdio.h>
#include <stdlib.h>

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

static void words(const struct ana_case *c, size_t first, size_t n, char *out, size_t size)
{
    char more[64] = "";
    if (n > 1)
        snprintf(more, sizeof more, " (and of %zu more)", n - 1);
    snprintf(out, size, "the trace file of rank %s%s is %s", ana_rank_label(c->job, first).text, more,
             trc_truncated(c->job->process[first].rank.file) ? "cut off" : "damaged");
}

void ana_say_cut(struct ana_case *c)
{
    char which[160];
    size_t n, first = first_cut(c, false, &n);
    if (first == SIZE_MAX)
        return;
    words(c, first, n, which, sizeof which);
    ana_case_evidence(c, "%s: the verdict rests on what is left", which);
}

/* Writes what the heads tell: they are always there, with the states in them. */
static void say_heads(struct ana_case *c)
{
    size_t out = 0, dead = 0;
    for (size_t i = 0; i < c->count; i++) {
        out += ana_case_ended(c, i);
        dead += c->job->process[i].rank.state == ANA_RANK_DEAD;
    }
    ana_case_evidence(c, "%zu of %zu ranks came out of MPI_Finalize: that much the files' heads say", out, c->count);
    if (dead)
        ana_case_evidence(c, "%zu %s gone without it, all at once: whether they hung before is not known", dead,
                          dead == 1 ? "is" : "are");
}

bool ana_find_cut(struct ana_case *c)
{
    char which[160];
    size_t n, first = first_cut(c, true, &n);
    bool counters = first != SIZE_MAX;
    if (!counters) {
        /* Where each rank was is known, and the events that are there may tell who is slow: that is asked first. */
        first = c->straggler ? first_cut(c, false, &n) : SIZE_MAX;
        if (first == SIZE_MAX)
            return false;
    }
    words(c, first, n, which, sizeof which);
    c->out->state = ANA_VERDICT_UNKNOWN;
    ana_case_say(c, "%s: what it did is not %sknown", which, counters ? "" : "all ");
    say_heads(c);
    ana_case_next(c, "the files where they were written: a copy that ended early, a full disk, a limit of size");
    return true;
}
