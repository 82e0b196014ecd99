/* Words for the activity of a rank whose Horovod loop still turns. */
#include "trace/horovod/horovod.h"
#include "trace/verdict/verdict_impl.h"

/* The places of the loops' threads tell nothing while the loops turn: only a program's wait for its tensors counts. */
bool ana_loop_words(const struct ana_case *c, size_t index, char *out, size_t size)
{
    const struct ana_hvd_set *set = c->loops;
    size_t m = 0, waits = 0, unknown = 0;
    while (set && m < set->ranks && set->rank[m].index != index)
        m++;
    if (!set || m == set->ranks || set->rank[m].main_inside || c->members->process[index].stopped)
        return false;
    for (size_t i = 0; i < set->tensors; i++) {
        const struct ana_hvd_tensor *t = &set->tensor[i];
        waits += t->pending && t->submitted[m] == ANA_HVD_YES;
        unknown += t->pending && t->submitted[m] == ANA_HVD_UNKNOWN;
    }
    struct ana_fact fact = {set->rank[m].joined ? ANA_SENTENCE_HVD_HAS_JOINED
                            : waits             ? ANA_SENTENCE_HVD_WAITS
                            : unknown           ? ANA_SENTENCE_HVD_ASKS_UNSEEN
                                                : ANA_SENTENCE_HVD_AWAITED,
                            .count = (int64_t)waits};
    ana_render(c, c->out, &fact, out, size);
    return true;
}
