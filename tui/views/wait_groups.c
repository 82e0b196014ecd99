#include "tui/views/wait_groups.h"
#include "trace/util/sort.h"

#include <string.h>

ANA_COMPARE(by_loss, struct tui_wait_group, ANA_ORDER(y->lost_ns, x->lost_ns), ANA_ORDER(x->first, y->first))

void tui_wait_groups_make(const struct tui_app *app, struct tui_wait_groups *groups)
{
    const struct ana_summary *s = &app->summary;
    struct ana_map of; /* struct tui_wait_group by kind, culprit */
    if (groups->summaries == app->summaries)
        return;
    tui_wait_groups_free(groups);
    ana_map_init(&of, sizeof(struct tui_wait_group));
    for (size_t i = 0; i < s->wait_count; i++) {
        const struct ana_wait *w = &s->waits[i];
        struct tui_wait_group *g = ana_map_add(&of, w->kind, w->culprit, 0);
        if (g && !g->count)
            *g = (struct tui_wait_group){.kind = w->kind, .culprit = w->culprit, .first = i};
        if (g) {
            g->count += w->count;
            g->lost_ns += w->lost_ns;
        }
    }
    groups->summaries = app->summaries;
    groups->group = calloc(of.count + 1, sizeof *groups->group);
    if (groups->group && of.count)
        memcpy(groups->group, of.values, of.count * sizeof *groups->group);
    groups->count = groups->group ? of.count : 0;
    ana_map_free(&of);
    if (groups->count)
        ana_sort(groups->group, groups->count, sizeof *groups->group, by_loss);
}

void tui_wait_groups_free(struct tui_wait_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        free(groups->group[i].who);
    free(groups->group);
    *groups = (struct tui_wait_groups){0};
}

const char *tui_wait_group_who(const struct tui_app *app, struct tui_wait_group *group)
{
    const struct ana_summary *s = &app->summary;
    char text[256];
    uint8_t *waits = group->who ? NULL : calloc(app->rank_count + 1, 1);
    if (!waits)
        return group->who ? group->who : "";
    for (size_t i = group->first; i < s->wait_count; i++)
        if (s->waits[i].kind == group->kind && s->waits[i].culprit == group->culprit &&
            s->waits[i].waiter < app->rank_count)
            waits[s->waits[i].waiter] = 1;
    struct ana_ranges ranges;
    ana_ranges_begin(&ranges, text, sizeof text, SIZE_MAX, false);
    for (size_t i = 0; i < app->rank_count; i++)
        if (waits[i])
            ana_ranges_add(&ranges, ana_rank_id(&app->rank[i]));
    ana_ranges_end(&ranges);
    free(waits);
    group->who = strdup(text);
    return group->who ? group->who : "";
}
