#include "tui/term/keys.h"

#include "tui/widgets/grid.h"
#include <stdlib.h>
#include <string.h>

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
             {"C-Left", TUI_KEY_CONTROL_LEFT},
             {"C-Right", TUI_KEY_CONTROL_RIGHT},
             {"Del", TUI_KEY_DELETE},
             {"Home", TUI_KEY_HOME},
             {"End", TUI_KEY_END},
             {"PgUp", TUI_KEY_PAGE_UP},
             {"PgDn", TUI_KEY_PAGE_DOWN}};

int tui_key_of(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0)
            return names[i].key;
    const int number = name[0] == 'F' ? atoi(name + 1) : 0;
    if (number >= 1 && number <= 10)
        return TUI_KEY_F1 + number - 1;
    if (strlen(name) == 3 && name[0] == 'C' && name[1] == '-' && name[2] >= 'a' && name[2] <= 'z')
        return TUI_CONTROL(name[2] - 'a' + 'A');
    uint32_t ch = tui_decode(&name);
    return *name ? TUI_KEY_NONE : (int)ch;
}
