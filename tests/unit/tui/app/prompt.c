/* The line of a prompt: characters, moves, words, what was typed before. */
#include "tests/support/check.h"
#include "tui/app/prompt.h"
#include "tui/term/keys.h"

#include <stdio.h>
#include <string.h>

static struct tui_line line;
static struct tui_history history;

/* Types text, and keys by their names in <>: "ab<Left>c". */
static const char *type(const char *keys)
{
    while (*keys) {
        char name[16] = "";
        if (*keys == '<') {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(keys + 1, ">"), keys + 1);
            keys += strlen(name) + 2;
        } else {
            int more = (*keys & 0x80) ? 2 : 1;
            snprintf(name, sizeof name, "%.*s", more, keys);
            keys += more;
        }
        tui_line_key(&line, &history, tui_key_of(name));
    }
    return line.text;
}

static void is(const char *begin, const char *keys, const char *want)
{
    tui_line_begin(&line, begin);
    type(keys);
    CHECK(strcmp(line.text, want) == 0, "%s then %s: %s instead of %s", begin, keys, line.text, want);
}

static void editing(void)
{
    is("", "rank", "rank");
    is("old", "n", "n");
    is("old", "<Right>er", "older");
    is("old", "<Backspace>", "");
    is("old", "<End><Backspace>", "ol");
    is("", "ac<Left>b", "abc");
    is("", "abc<Home><Del>", "bc");
    is("", "abc<C-a>x<C-e>y", "xabcy");
    is("", "abc<C-u>", "");
    is("", "abc<Left><C-u>", "c");
    is("", "abc<Home><C-k>", "");
    is("", "call MPI_Send<C-w>", "call ");
    is("", "call MPI_Send  <C-w><C-w>", "");
    is("", "call MPI_Send<C-Left>x", "call xMPI_Send");
    is("", "call MPI<Home><C-Right>s", "calls MPI");
    is("", "\xc3\xa4\xc3\xb6<Left>x<Left><Backspace>", "x\xc3\xb6");
    is("", "a<Left><Left><Left>b<Right><Right><Right>c", "bac");
    is("", "<Backspace><Del><C-w><C-u><Left>", "");
    is("", "<PgUp><F5><C-x>", "");
}

static void remembered(void)
{
    tui_history_add(&history, "first");
    tui_history_add(&history, "");
    tui_history_add(&history, "second");
    tui_history_add(&history, "first");
    CHECK(history.count == 2, "each once, the empty line never");
    is("", "<Up>", "first");
    is("", "own<Up><Up>", "second");
    is("", "own<Up><Up><Up><Up><Down>", "first");
    is("", "own<Up><Down>", "own");
    is("", "<Up>!", "first!");
    char name[TUI_LINE];
    for (int i = 0; i < 3 * TUI_HISTORY; i++) {
        snprintf(name, sizeof name, "line %d", i);
        tui_history_add(&history, name);
    }
    CHECK(history.count == TUI_HISTORY && strcmp(history.line[0], "line 40") == 0, "the oldest go: %s",
          history.line[0]);
}

/* Whatever is typed: the text stays whole characters, and the cursor is before one of them or at the end. */
static void anything(void)
{
    static const int keys[] = {'a',
                               ' ',
                               0xe4,
                               0x1f600,
                               TUI_KEY_BACKSPACE,
                               TUI_KEY_DELETE,
                               TUI_KEY_LEFT,
                               TUI_KEY_RIGHT,
                               TUI_KEY_CONTROL_LEFT,
                               TUI_KEY_CONTROL_RIGHT,
                               TUI_KEY_HOME,
                               TUI_KEY_END,
                               TUI_KEY_UP,
                               TUI_KEY_DOWN,
                               TUI_CONTROL('W'),
                               TUI_CONTROL('K'),
                               'b',
                               0x20ac};
    unsigned seed = 3;
    tui_line_begin(&line, "");
    for (int i = 0; i < 20000; i++) {
        seed = seed * 1103515245 + 12345;
        tui_line_key(&line, &history, keys[(seed >> 16) % (sizeof keys / sizeof *keys)]);
        CHECK(line.at >= 0 && line.at <= (int)strlen(line.text) && strlen(line.text) < sizeof line.text &&
                  (line.text[line.at] & 0xc0) != 0x80 && (line.text[0] & 0xc0) != 0x80,
              "%s at %d", line.text, line.at);
    }
}

int main(void)
{
    editing();
    remembered();
    anything();
    return check_result();
}
