/* What a rank does whose Horovod loop still turns. */
#include "trace/verdict/verdict_impl.h"
#include <stdio.h>

/* While the loops turn, the place of their threads tells nothing: what counts is whether the program waits for its
 * tensors. */
bool ana_loop_words(const struct ana_case *c, size_t index, char *out, size_t size)
{
    const struct ana_hvd_set *set = c->loops;
    size_t m = 0, waits = 0, unknown = 0;
    while (set && m < set->ranks && set->rank[m].index != index)
        m++;
    if (!set || m == set->ranks || set->rank[m].main_inside || c->job->process[index].stopped)
        return false;
    for (size_t i = 0; i < set->tensors; i++) {
        const struct ana_hvd_tensor *t = &set->tensor[i];
        waits += t->pending && t->submitted[m] == ANA_HVD_YES;
        unknown += t->pending && t->submitted[m] == ANA_HVD_UNKNOWN;
    }
    if (set->rank[m].joined)
        snprintf(out, size, "has joined");
    else if (waits)
        snprintf(out, size, "waiting for %zu tensor%s", waits, waits == 1 ? "" : "s");
    else if (unknown)
        snprintf(out, size, "what it asks for is on no wire");
    else
        snprintf(out, size, "awaited");
    return true;
}
