#include "tui/app/prompt.h"

#include "tui/term/keys.h"
#include "tui/widgets/grid.h"
#include <string.h>

void tui_line_begin(struct tui_line *line, const char *text)
{
    *line = (struct tui_line){.chosen = *text != 0};
    snprintf(line->text, sizeof line->text, "%s", text);
    line->at = (int)strlen(line->text);
}

void tui_history_add(struct tui_history *history, const char *text)
{
    int i = 0;
    if (!*text)
        return;
    while (i < history->count && strcmp(history->line[i], text) != 0)
        i++;
    if (i == TUI_HISTORY)
        i = 0;
    if (i < history->count) {
        history->count--;
        memmove(history->line[i], history->line[i + 1], (size_t)(history->count - i) * sizeof *history->line);
    }
    snprintf(history->line[history->count++], sizeof *history->line, "%s", text);
}

static bool is_inside(const struct tui_line *line, int at)
{
    return (line->text[at] & 0xc0) == 0x80;
}

/* The cursor's place one character further, in bytes. */
static int step(const struct tui_line *line, int by)
{
    int at = line->at, length = (int)strlen(line->text);
    do
        at += by;
    while (at > 0 && at < length && is_inside(line, at));
    return at < 0 ? 0 : at > length ? length : at;
}

/* Returns the begin of the word before the cursor, or the end of the word behind it. */
static int step_word(const struct tui_line *line, int by)
{
    int at = line->at, length = (int)strlen(line->text);
    for (bool word = false; by < 0 ? at > 0 : at < length; at += by) {
        bool blank = line->text[by < 0 ? at - 1 : at] == ' ';
        if (word && blank)
            break;
        word = word || !blank;
    }
    return at;
}

/* Removes the text between the cursor and another place. */
static void cut(struct tui_line *line, int to)
{
    int from = to < line->at ? to : line->at;
    to = to < line->at ? line->at : to;
    memmove(line->text + from, line->text + to, strlen(line->text + to) + 1);
    line->at = from;
}

static void insert(struct tui_line *line, int key)
{
    char bytes[5];
    if (line->chosen)
        line->text[line->at = 0] = 0;
    size_t more = (size_t)tui_encode((uint32_t)key, bytes), length = strlen(line->text);
    if (length + more >= sizeof line->text)
        return;
    memmove(line->text + line->at + more, line->text + line->at, length - (size_t)line->at + 1);
    memcpy(line->text + line->at, bytes, more);
    line->at += (int)more;
}

static void recall(struct tui_line *line, const struct tui_history *history, int by)
{
    int back = line->back + by;
    if (back < 0 || back > history->count)
        return;
    if (!line->back)
        memcpy(line->own, line->text, sizeof line->own);
    line->back = back;
    memcpy(line->text, back ? history->line[history->count - back] : line->own, sizeof line->text);
    line->at = (int)strlen(line->text);
}

static bool is_erasing(int key)
{
    return key == TUI_KEY_BACKSPACE || key == TUI_KEY_DELETE || key == TUI_CONTROL('D') || key == TUI_CONTROL('W');
}

bool tui_line_key(struct tui_line *line, const struct tui_history *history, int key)
{
    if (line->chosen && is_erasing(key))
        line->text[line->at = 0] = 0;
    else if (key >= TUI_KEY_SPACE && key < TUI_KEY_UP && key != TUI_KEY_BACKSPACE)
        insert(line, key);
    else if (key == TUI_KEY_BACKSPACE)
        cut(line, step(line, -1));
    else if (key == TUI_KEY_DELETE || key == TUI_CONTROL('D'))
        cut(line, step(line, 1));
    else if (key == TUI_CONTROL('U'))
        cut(line, 0);
    else if (key == TUI_CONTROL('K'))
        cut(line, (int)strlen(line->text));
    else if (key == TUI_CONTROL('W'))
        cut(line, step_word(line, -1));
    else if (key == TUI_KEY_LEFT || key == TUI_CONTROL('B'))
        line->at = step(line, -1);
    else if (key == TUI_KEY_RIGHT || key == TUI_CONTROL('F'))
        line->at = step(line, 1);
    else if (key == TUI_KEY_CONTROL_LEFT)
        line->at = step_word(line, -1);
    else if (key == TUI_KEY_CONTROL_RIGHT)
        line->at = step_word(line, 1);
    else if (key == TUI_KEY_HOME || key == TUI_CONTROL('A'))
        line->at = 0;
    else if (key == TUI_KEY_END || key == TUI_CONTROL('E'))
        line->at = (int)strlen(line->text);
    else if (key == TUI_KEY_UP || key == TUI_CONTROL('P'))
        recall(line, history, 1);
    else if (key == TUI_KEY_DOWN || key == TUI_CONTROL('N'))
        recall(line, history, -1);
    else
        return false;
    line->chosen = false;
    return true;
}
