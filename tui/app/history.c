#include "tui/app/history.h"
#include "tui/app/user_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 8 };

void tui_history_find(char *path, size_t size)
{
    tui_user_path("XDG_STATE_HOME", ".local/state", "history", path, size);
}

/* Lines are a digit, the kind, a blank and the typed text. */
void tui_history_read(struct tui_history *history, size_t kinds, const char *path)
{
    char line[256];
    FILE *f = *path ? fopen(path, "re") : NULL;
    for (int lines = 0; f && lines < 1000 && fgets(line, sizeof line, f); lines++) {
        size_t n = strcspn(line, "\n"), kind = (size_t)(unsigned char)line[0] - '0';
        bool whole = line[n] == '\n';
        line[n] = 0;
        for (char *c = line; *c; c++)
            if ((unsigned char)*c < ' ' || *c == 127)
                *c = '?';
        if (whole && kind > 0 && kind < kinds && line[1] == ' ' && n - 2 < TUI_LINE)
            tui_history_add(&history[kind], line + 2);
    }
    if (f)
        fclose(f);
}

void tui_history_store(const char *path, size_t kinds, size_t kind, const char *text)
{
    struct tui_history *history = calloc(KINDS, sizeof *history);
    if (!history || !*path || !*text || kinds > KINDS || kind >= kinds) {
        free(history);
        return;
    }
    tui_history_read(history, kinds, path);
    tui_history_add(&history[kind], text);
    tui_user_folders(path, 0700);
    FILE *out = tui_user_begin(path);
    for (size_t k = 1; out && k < kinds; k++)
        for (int i = 0; i < history[k].count; i++)
            fprintf(out, "%zu %s\n", k, history[k].line[i]);
    if (out)
        tui_user_end(path, out);
    free(history);
}
