/* The line of a prompt: characters, moves, words, earlier lines. */
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tui/app/history.h"
#include "tui/app/prompt.h"
#include "tui/term/keys.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Random keys leave whole characters, and the cursor before a character or at the end. */
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

static char state[64] = "/tmp/hpctop-history-XXXXXX", path[1024];

static size_t files_in(const char *folder)
{
    size_t n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

/* Two programs that keep lines at random, and one that reads the saved lines: the newest of each kind, each once. */
static void kept(void)
{
    enum { KINDS = 4 };
    static struct tui_history want[KINDS], got[KINDS];
    uint64_t at = 11;
    char folder[128];
    CHECK(mkdtemp(state) != NULL);
    setenv("XDG_STATE_HOME", state, 1);
    tui_history_find(path, sizeof path);
    snprintf(folder, sizeof folder, "%s/hpctop", state);
    CHECK(strncmp(path, folder, strlen(folder)) == 0, "%s", path);
    tui_history_read(got, KINDS, path);
    for (int i = 0; i < 300; i++) {
        char text[TUI_LINE + 8];
        size_t kind = 1 + draw(&at, KINDS - 1);
        snprintf(text, sizeof text, "%.*s%u", (int)draw(&at, 50),
                 "a rather long line to find some rank by, more than 50 ", draw(&at, 30));
        tui_history_store(path, KINDS, kind, text);
        tui_history_add(&want[kind], text);
    }
    tui_history_read(got, KINDS, path);
    for (int k = 0; k < KINDS; k++) {
        CHECK(got[k].count == want[k].count, "kind %d: %d of %d", k, got[k].count, want[k].count);
        for (int i = 0; i < got[k].count; i++)
            CHECK(strcmp(got[k].line[i], want[k].line[i]) == 0, "%s, not %s", got[k].line[i], want[k].line[i]);
    }
    CHECK(files_in(folder) == 1, "nothing else is left there");
}

/* A file that says anything else is no trouble, nor is a place that cannot be written. */
static void odd_files(void)
{
    static struct tui_history got[3];
    FILE *f = fopen(path, "w");
    fputs("1 good\n9 unknown\n\n1\n0 none\n1 a\033[2Jb\n2 ", f);
    for (int i = 0; i < 500; i++)
        fputc('x', f);
    fputs("\n2 \n2 last without its end", f);
    fclose(f);
    tui_history_read(got, 3, path);
    CHECK(got[1].count == 2 && strcmp(got[1].line[0], "good") == 0 && strcmp(got[1].line[1], "a?[2Jb") == 0);
    CHECK(got[2].count == 0, "%d: %s", got[2].count, got[2].line[0]);
    tui_history_store("", 3, 1, "nowhere");
    tui_history_store("/proc/nowhere/history", 3, 1, "nowhere");
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "relative", 1);
    tui_history_find(path, sizeof path);
    CHECK(!path[0], "%s", path);
}

static void remove_state(void)
{
    char file[128];
    snprintf(file, sizeof file, "%s/hpctop/history", state);
    unlink(file);
    snprintf(file, sizeof file, "%s/hpctop", state);
    rmdir(file);
    rmdir(state);
}

int main(void)
{
    editing();
    remembered();
    anything();
    kept();
    odd_files();
    remove_state();
    return check_result();
}
