/* Least duration of a wait before it counts: a wait as long as one that ended is no hang. */
#include "trace/verdict/verdict_impl.h"

#define TIMES 2 /* multiple of the longest wait that ended */

/* The longest call of this kind that a rank has come out of, in ns. */
static int64_t longest_ns(const struct trc_file *file, const struct trc_sig *sig)
{
    uint64_t ticks = 0;
    for (size_t t = 0, n; t < trc_threads(file); t++) {
        const struct trc_counter *row = trc_rows(file, t, &n);
        for (size_t k = 0; k < n; k++)
            if (row[k].call_plus_1 == sig->call + 1 && row[k].max_ticks > ticks)
                ticks = row[k].max_ticks;
    }
    double ns = (double)ticks * trc_ns_per_tick(file);
    return ns < (double)ANA_TIME_LIMIT ? (int64_t)ns : ANA_TIME_LIMIT;
}

int64_t ana_patience(const struct ana_case *c)
{
    int64_t least = INT64_MAX;
    for (const struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++) {
        if (!p->blocked || (p->kind != ANA_WAITING_COLLECTIVE && p->kind != ANA_WAITING_MESSAGES) ||
            least <= c->rules.hang_ns / TIMES)
            continue;
        int64_t ns = longest_ns(ana_case_file(c, p->index), p->sig);
        least = ns < least ? ns : least;
    }
    bool past = least != INT64_MAX && least > c->rules.hang_ns / TIMES;
    return past ? least * TIMES : c->rules.hang_ns;
}
