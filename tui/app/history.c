#include "tui/app/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KINDS = 8 };

void tui_history_find(char *path, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = state && *state == '/' ? snprintf(path, size, "%s/hpctop/history", state)
            : home && *home == '/' ? snprintf(path, size, "%s/.local/state/hpctop/history", home)
                                   : -1;
    if (n < 0 || (size_t)n >= size)
        *path = 0;
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

static void make_folders(const char *path)
{
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = folder + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        mkdir(folder, 0700);
    }
}

void tui_history_keep(const char *path, size_t kinds, size_t kind, const char *text)
{
    struct tui_history *history = calloc(KINDS, sizeof *history);
    char fresh[1100];
    snprintf(fresh, sizeof fresh, "%s.%d", path, (int)getpid());
    if (!history || !*path || !*text || kinds > KINDS || kind >= kinds) {
        free(history);
        return;
    }
    tui_history_read(history, kinds, path);
    tui_history_add(&history[kind], text);
    make_folders(path);
    FILE *out = fopen(fresh, "wxe");
    for (size_t k = 1; out && k < kinds; k++)
        for (int i = 0; i < history[k].count; i++)
            fprintf(out, "%zu %s\n", k, history[k].line[i]);
    bool ok = out && !ferror(out);
    ok = out && fclose(out) == 0 && ok && rename(fresh, path) == 0;
    if (out && !ok)
        unlink(fresh);
    free(history);
}
