/* The terminal of tests: keys come from a script, cells go out as text. */
#include "tui/term/term.h"

#include "tui/term/keys.h"
#include <stdlib.h>
#include <string.h>

struct script {
    FILE *in, *out;
    int cols, rows;
    bool ascii;
    char line[256];
    char *rest;   /* keys of the line still to be given */
    bool is_text; /* rest is text to type */
    struct tui_grid shown;
    struct tui_event next; /* the second event of a drag */
    int number;            /* line number, for error messages */
};

static void measure_script(void *data, int *cols, int *rows)
{
    const struct script *s = data;
    *cols = s->cols;
    *rows = s->rows;
}

static bool is_script_ascii(void *data)
{
    return ((const struct script *)data)->ascii;
}

static void show_script(void *data, const struct tui_grid *grid, bool repaint)
{
    struct script *s = data;
    (void)repaint;
    if (tui_grid_resize(&s->shown, grid->cols, grid->rows) && s->shown.cells)
        memcpy(s->shown.cells, grid->cells, (size_t)(grid->cols * grid->rows) * sizeof *grid->cells);
}

/* The next key of a `key` or `text` line; TUI_KEY_NONE when it is used up. */
static int next_key(struct script *s)
{
    if (!s->rest)
        return TUI_KEY_NONE;
    if (s->is_text) {
        const char *at = s->rest;
        uint32_t ch = tui_decode(&at);
        s->rest = (char *)at;
        return (int)ch;
    }
    char *word = strtok_r(NULL, " ", &s->rest);
    if (!word)
        return TUI_KEY_NONE;
    int key = tui_key_of(word);
    if (key == TUI_KEY_NONE)
        fprintf(s->out, "line %d: no key %s\n", s->number, word);
    return key;
}

static struct tui_event wait_for_script(void *data, int timeout_ms)
{
    struct script *s = data;
    struct tui_event event = {.kind = TUI_EVENT_NONE};
    (void)timeout_ms;
    if (s->next.kind != TUI_EVENT_NONE) {
        event = s->next;
        s->next.kind = TUI_EVENT_NONE;
        return event;
    }
    while (event.kind == TUI_EVENT_NONE) {
        if ((event.key = next_key(s)) != TUI_KEY_NONE) {
            event.kind = TUI_EVENT_KEY;
            break;
        }
        s->rest = NULL;
        if (!fgets(s->line, sizeof s->line, s->in)) {
            event.kind = TUI_EVENT_END;
            break;
        }
        s->number++;
        s->line[strcspn(s->line, "\n")] = 0;
        char word[16] = "", argument[16] = "";
        int length = 0;
        if (sscanf(s->line, "%15s %n%15s", word, &length, argument) < 1 || word[0] == '#')
            continue;
        const bool drags = strcmp(word, "drag") == 0, holds = strcmp(word, "hold") == 0;
        if (strcmp(word, "size") == 0 && sscanf(argument, "%dx%d", &s->cols, &s->rows) == 2) {
            event.kind = TUI_EVENT_RESIZE;
        } else if (strcmp(word, "key") == 0 || strcmp(word, "text") == 0) {
            s->is_text = word[0] == 't';
            s->rest = s->line + length;
        } else if (strcmp(word, "click") == 0 && sscanf(s->line + length, "%d %d", &event.x, &event.y) == 2) {
            event.kind = TUI_EVENT_CLICK;
        } else if ((drags || holds) &&
                   sscanf(s->line + length, "%d %d %d %d", &event.x, &event.y, &s->next.x, &s->next.y) == 4) {
            event.kind = TUI_EVENT_CLICK;
            s->next.kind = drags ? TUI_EVENT_RELEASE : TUI_EVENT_DRAG;
        } else if (strcmp(word, "wheel") == 0 || strcmp(word, "zoom") == 0) {
            event.kind = TUI_EVENT_WHEEL;
            event.control = word[0] == 'z' && sscanf(s->line + length, "%*s %d %d", &event.x, &event.y) == 2;
            event.key = strcmp(argument, "up") == 0 ? -1 : 1;
        } else if (strcmp(word, "screen") == 0) {
            fprintf(s->out, "---- %dx%d\n", s->shown.cols, s->shown.rows);
            tui_grid_write(&s->shown, s->out, strcmp(argument, "styles") == 0);
            fflush(s->out); /* the writer of the script may wait for the screen */
        } else if (strcmp(word, "tick") == 0) {
            break;
        } else {
            fprintf(s->out, "line %d: not understood: %s\n", s->number, s->line);
        }
    }
    return event;
}

static void close_script(void *data)
{
    struct script *s = data;
    tui_grid_free(&s->shown);
    free(s);
}

static bool copy_script(void *data, const char *text, size_t size)
{
    struct script *s = data;
    fprintf(s->out, "---- copied\n");
    return fwrite(text, 1, size, s->out) == size;
}

static const struct tui_term_ops script_ops = {
    measure_script, is_script_ascii, wait_for_script, show_script, close_script, copy_script, NULL, NULL};

bool tui_term_script(struct tui_term *out, FILE *script, FILE *screens, int cols, int rows, bool ascii)
{
    struct script *s = calloc(1, sizeof *s);
    if (!s)
        return false;
    s->in = script;
    s->out = screens;
    s->cols = cols;
    s->rows = rows;
    s->ascii = ascii;
    *out = (struct tui_term){&script_ops, s};
    return true;
}
