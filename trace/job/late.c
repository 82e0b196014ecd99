#include "trace/job/late.h"
#include "trace/util/grow.h"

void ana_late_waits_free(struct ana_late_waits *waits)
{
    free(waits->item);
    free(waits->last);
    *waits = (struct ana_late_waits){0};
}

/* Whether a wait is counted before another of the same waiter: its call comes first, or its culprit does. */
static bool is_before(const struct ana_wait_span *a, const struct ana_wait_span *b)
{
    if (a->waiter_step != b->waiter_step)
        return (int32_t)(a->waiter_step - b->waiter_step) < 0;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns;
    if (a->culprit != b->culprit)
        return a->culprit < b->culprit;
    return (int32_t)(a->came_step - b->came_step) < 0;
}

bool ana_late_waits_add(struct ana_late_waits *waits, const struct ana_late_wait_item *item)
{
    const size_t waiter = item->span.waiter;
    waits->ranks = ana_lengthen(&waits->last, waits->ranks, waiter + 1, sizeof *waits->last);
    if (waiter >= waits->ranks || waits->count >= UINT32_MAX - 1 ||
        !ana_grow(&waits->item, waits->count, &waits->room, sizeof *waits->item))
        return false;
    uint32_t *link = &waits->last[waiter];
    while (*link && is_before(&item->span, &waits->item[*link - 1].span))
        link = &waits->item[*link - 1].before;
    waits->item[waits->count] = *item;
    waits->item[waits->count].before = *link;
    *link = (uint32_t)++waits->count;
    return true;
}

void ana_late_waits_flush(struct ana_late_waits *waits, void (*found)(void *user, struct ana_late_wait_item *item),
                          void *user)
{
    for (size_t i = 0; i < waits->count; i++) {
        uint32_t at = waits->last[waits->item[i].span.waiter], next = 0;
        waits->last[waits->item[i].span.waiter] = 0;
        while (at) { /* turns the links of this waiter round */
            struct ana_late_wait_item *item = &waits->item[at - 1];
            const uint32_t before = item->before;
            item->before = next;
            next = at;
            at = before;
        }
        for (; next; next = waits->item[next - 1].before)
            found(user, &waits->item[next - 1]);
    }
    waits->count = 0;
}
