#include "tui/app/keymap.h"

#include <limits.h>
#include <string.h>

#define EVERYWHERE ((1u << TUI_VIEWS) - 1)
#define IN(view)   (1u << TUI_VIEW_##view)
#define TABLES                                                                                                         \
    (IN(OVERVIEW) + IN(RANKS) + IN(LATENCY) + IN(IMBALANCE) + IN(CALLS) + IN(SEGMENTS) + IN(REGIONS) + IN(PATHS) +     \
     IN(FILES) + IN(HOROVOD) + IN(NCCL) + IN(GPU))

static const struct tui_action_info actions[TUI_ACTIONS] = {
#define ACTION(id, label, keys, views, handler, help) [TUI_ACTION_##id] = {#id, label, keys, help, views},
#include "tui/app/action.def"
};

const struct tui_action_info *tui_action_info(enum tui_action action)
{
    if (action <= TUI_ACTION_NONE || action >= TUI_ACTIONS)
        return NULL;
    return &actions[action];
}

struct tui_move tui_action_move(enum tui_action action, long page)
{
    const struct tui_move moves[TUI_ACTIONS] = {[TUI_ACTION_UP] = {-1, 0},
                                                [TUI_ACTION_DOWN] = {1, 0},
                                                [TUI_ACTION_PAGE_UP] = {-page, 0},
                                                [TUI_ACTION_PAGE_DOWN] = {page, 0},
                                                [TUI_ACTION_FIRST] = {-LONG_MAX / 2, 0},
                                                [TUI_ACTION_LAST] = {LONG_MAX / 2, 0},
                                                [TUI_ACTION_LEFT] = {0, -1},
                                                [TUI_ACTION_RIGHT] = {0, 1}};
    return moves[action];
}

bool tui_action_key(enum tui_action action, size_t i, char *name, size_t size)
{
    const struct tui_action_info *info = tui_action_info(action);
    const char *at = info ? info->keys : "";
    for (; *at; at += strcspn(at, " "), at += *at == ' ') {
        if (i-- > 0)
            continue;
        size_t length = strcspn(at, " ");
        if (length >= size)
            return false;
        memcpy(name, at, length);
        name[length] = 0;
        return true;
    }
    return false;
}

enum tui_action tui_key_action(enum tui_view_id view, int key)
{
    char name[16];
    for (enum tui_action a = TUI_ACTION_NONE + 1; a < TUI_ACTIONS; a++) {
        if (!(actions[a].views & 1u << view))
            continue;
        for (size_t i = 0; tui_action_key(a, i, name, sizeof name); i++)
            if (tui_key_of(name) == key)
                return a;
    }
    return TUI_ACTION_NONE;
}
