/* Waits of a summary in groups, each of one kind and for one rank. */
#ifndef TUI_VIEW_WAIT_GROUPS_H
#define TUI_VIEW_WAIT_GROUPS_H

#include "tui/app/view.h"

struct tui_wait_group {
    enum ana_wait_kind kind;
    size_t culprit; /* a rank index */
    size_t first;   /* index of its first wait in the summary */
    uint64_t count;
    int64_t lost_ns;
    char *who; /* waiters in words; NULL: not written yet */
};

/* All 0 at first. */
struct tui_wait_groups {
    struct tui_wait_group *group; /* by loss */
    size_t count;
    unsigned summaries; /* made by then */
};

/* Makes the groups of the summary that is shown, unless they are there. */
void tui_wait_groups_make(const struct tui_app *app, struct tui_wait_groups *groups);
/* Frees the groups' memory. */
void tui_wait_groups_free(struct tui_wait_groups *groups);

/* The waiters of a group of the summary that is shown, as "0-10, 12-15"; the text belongs to the group. */
const char *tui_wait_group_who(const struct tui_app *app, struct tui_wait_group *group);

#endif
