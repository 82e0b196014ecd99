#include "trace/format/opclass.h"
#include "trace/relations/waits.h"
#include "trace/util/sort.h"
#include "trace/util/grow.h"
#include <stdlib.h>

const struct ana_wait_words ana_wait_words[ANA_WAIT_KINDS] = {
#define ROW(ID, key, name, does, whom, where, help) {key, name, does, does " " whom, help, ANA_WAIT_##where},
    ANA_WAIT_KIND_ROWS(ROW)
#undef ROW
};

/* ---- collectives ----------------------------------------------------------------------------------------------- */

/* Adds that `a` waits for `culprit`, until it comes or the call of `a` ends. */
static size_t add_wait(const struct ana_instance *instance, const struct ana_arrival *a,
                       const struct ana_arrival *culprit, struct ana_wait_span *out)
{
    int64_t end = ana_earlier(culprit->begin_ns, a->end_ns);
    if (a->comm_rank < 0 || end <= a->begin_ns)
        return 0;
    *out = (struct ana_wait_span){ANA_LATE_IN_COLLECTIVE, a->index,          culprit->index, a->begin_ns,  end,
                                  instance->call,         culprit->begin_ns, a->step,        culprit->step};
    return 1;
}

static const struct ana_arrival *root_of(const struct ana_instance *instance)
{
    for (size_t i = 0; i < instance->arrivals; i++)
        if ((int64_t)instance->arrival[i].index == instance->root)
            return &instance->arrival[i];
    return NULL;
}

/* The last arrival of a rank that takes part. */
static const struct ana_arrival *last_of(const struct ana_instance *instance)
{
    for (size_t i = instance->arrivals; i-- > 0;)
        if (instance->arrival[i].comm_rank >= 0)
            return &instance->arrival[i];
    return NULL;
}

ANA_COMPARE(by_comm_rank, struct ana_arrival *const, ANA_ORDER((*x)->comm_rank, (*y)->comm_rank))

static size_t waits_of_prefix(const struct ana_instance *instance, struct ana_wait_span *out)
{
    size_t n = 0;
    const struct ana_arrival **by_rank = malloc(instance->arrivals * sizeof *by_rank);
    if (!by_rank)
        return 0;
    for (size_t i = 0; i < instance->arrivals; i++)
        by_rank[i] = &instance->arrival[i];
    ana_sort(by_rank, instance->arrivals, sizeof *by_rank, by_comm_rank);
    const struct ana_arrival *last = by_rank[0];
    for (size_t i = 1; i < instance->arrivals; i++) {
        n += add_wait(instance, by_rank[i], last, out + n);
        if (by_rank[i]->begin_ns > last->begin_ns)
            last = by_rank[i];
    }
    free(by_rank);
    return n;
}

size_t ana_waits_of_instance(const struct ana_instance *instance, struct ana_wait_span *out)
{
    if (instance->nonblocking || instance->mismatched || instance->arrivals < 2)
        return 0;
    size_t n = 0;
    enum trc_shape shape = trc_opclass_shape(instance->call->opclass);
    bool rooted = shape == TRC_SHAPE_FROM_ROOT || shape == TRC_SHAPE_TO_ROOT;
    const struct ana_arrival *root = rooted ? root_of(instance) : NULL, *last = last_of(instance);
    switch (shape) {
    case TRC_SHAPE_ALL:
        for (size_t i = 0; last && i < instance->arrivals; i++)
            n += add_wait(instance, &instance->arrival[i], last, out + n);
        break;
    case TRC_SHAPE_FROM_ROOT:
        for (size_t i = 0; root && i < instance->arrivals; i++)
            n += add_wait(instance, &instance->arrival[i], root, out + n);
        break;
    case TRC_SHAPE_TO_ROOT:
        if (root && last)
            n += add_wait(instance, root, last, out);
        break;
    case TRC_SHAPE_PREFIX:
        n = waits_of_prefix(instance, out);
        break;
    case TRC_SHAPE_NONE:
    case TRC_SHAPE_NEIGHBORS:
        break;
    }
    return n;
}

/* ---- clip ------------------------------------------------------------------------------------------------------ */

struct ana_wait_clip *ana_wait_clip_new(void)
{
    return calloc(1, sizeof(struct ana_wait_clip));
}

void ana_wait_clip_free(struct ana_wait_clip *clip)
{
    if (clip)
        free(clip->waiter);
    free(clip);
}

static struct ana_waiter *add_waiter(struct ana_wait_clip *clip, size_t index)
{
    size_t i = clip->waiters;
    clip->waiters = ana_lengthen(&clip->waiter, i, index + 1, sizeof *clip->waiter);
    for (; i < clip->waiters; i++) {
        clip->waiter[i].newest_ns = INT64_MIN;
        for (size_t c = 0; c < ANA_WAIT_CALLS; c++)
            clip->waiter[i].call[c] = (struct ana_counted_wait){INT64_MIN, INT64_MIN};
    }
    return index < clip->waiters ? &clip->waiter[index] : NULL;
}

bool ana_wait_clip_again(struct ana_wait_clip *clip, struct ana_wait_span *span)
{
    struct ana_waiter *waiter =
        span->waiter < clip->waiters ? &clip->waiter[span->waiter] : add_waiter(clip, span->waiter);
    if (!waiter)
        return true; /* out of memory: counting twice is better than not at all */
    for (size_t i = 0; i < ANA_WAIT_CALLS; i++) {
        struct ana_counted_wait *call = &waiter->call[i];
        if (call->begin_ns != span->begin_ns)
            continue;
        if (span->end_ns <= call->until_ns)
            return false;
        span->begin_ns = call->until_ns;
        call->until_ns = span->end_ns;
        return true;
    }
    if (span->begin_ns > waiter->newest_ns)
        waiter->newest_ns = span->begin_ns;
    waiter->call[waiter->next++ % ANA_WAIT_CALLS] = (struct ana_counted_wait){span->begin_ns, span->end_ns};
    return true;
}
