#include "tui/app/keymap.h"

#include "tui/widgets/grid.h"
#include <string.h>

#define EVERYWHERE ((1u << TUI_VIEWS) - 1)
#define IN(view)   (1u << TUI_VIEW_##view)
#define TABLES     (IN(OVERVIEW) + IN(RANKS) + IN(LATENCY) + IN(IMBALANCE) + IN(CALLS) + IN(HOROVOD) + IN(NCCL) + IN(GPU))

static const struct tui_action_info actions[TUI_ACTIONS] = {
#define ACTION(id, label, keys, views, help) [TUI_ACTION_##id] = {#id, label, keys, help, views},
#include "tui/app/action.def"
#undef ACTION
};

static const struct {
    const char *name;
    int key;
} names[] = {{"Tab", TUI_KEY_TAB},
             {"Enter", TUI_KEY_ENTER},
             {"Esc", TUI_KEY_ESCAPE},
             {"Space", TUI_KEY_SPACE},
             {"Backspace", TUI_KEY_BACKSPACE},
             {"Up", TUI_KEY_UP},
             {"Down", TUI_KEY_DOWN},
             {"Left", TUI_KEY_LEFT},
             {"Right", TUI_KEY_RIGHT},
             {"S-Left", TUI_KEY_SHIFT_LEFT},
             {"S-Right", TUI_KEY_SHIFT_RIGHT},
             {"Home", TUI_KEY_HOME},
             {"End", TUI_KEY_END},
             {"PgUp", TUI_KEY_PAGE_UP},
             {"PgDn", TUI_KEY_PAGE_DOWN},
             {"C-l", TUI_KEY_CONTROL_L},
             {"F1", TUI_KEY_F1},
             {"F2", TUI_KEY_F1 + 1},
             {"F3", TUI_KEY_F1 + 2},
             {"F4", TUI_KEY_F1 + 3},
             {"F5", TUI_KEY_F1 + 4},
             {"F6", TUI_KEY_F1 + 5},
             {"F7", TUI_KEY_F1 + 6},
             {"F8", TUI_KEY_F1 + 7},
             {"F9", TUI_KEY_F1 + 8},
             {"F10", TUI_KEY_F10}};

const struct tui_action_info *tui_action_info(enum tui_action action)
{
    if (action <= TUI_ACTION_NONE || action >= TUI_ACTIONS)
        return NULL;
    return &actions[action];
}

int tui_key_of(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0)
            return names[i].key;
    uint32_t ch = tui_decode(&name);
    return *name ? TUI_KEY_NONE : (int)ch;
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
