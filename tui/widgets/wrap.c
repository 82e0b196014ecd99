#include "tui/widgets/wrap.h"
#include "tui/widgets/grid.h"

#include <stdio.h>
#include <string.h>

void tui_wrap(const char *word, int indent, const char *text, int width, tui_line_do *line, void *to)
{
    char out[512];
    int room = width - indent - 1;
    if (room < 20)
        room = 20;
    int pad = indent - 1 - tui_columns(word);
    snprintf(out, sizeof out, " %s%*s", word, pad > 0 ? pad : *word ? 1 : 0, "");
    if (tui_columns(out) > indent) { /* a long word has a line of its own */
        line(to, TUI_STYLE_STRONG, out);
        snprintf(out, sizeof out, "%*s", indent, "");
    }
    do {
        const char *end = text, *cut = NULL;
        int columns = 0;
        while (*end && columns <= room) {
            if (*end == ' ')
                cut = end;
            columns += tui_skip(&end, 1);
        }
        if (*end == 0 && columns <= room)
            cut = end;
        if (!cut)
            cut = end;
        while (cut > text && cut[-1] == ' ')
            cut--;
        size_t used = strlen(out);
        snprintf(out + used, sizeof out - used, "%.*s", (int)(cut - text), text);
        line(to, TUI_STYLE_NORMAL, out);
        for (text = cut; *text == ' '; text++) {
        }
        snprintf(out, sizeof out, "%*s", indent, "");
    } while (*text);
}
