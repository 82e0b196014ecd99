/* Line that a prompt is typed into: a cursor in it, and the texts typed before. */
#pragma once

#include <stdbool.h>

enum { TUI_LINE = 64, TUI_HISTORY = 20 };

/* Texts entered in one kind of prompt, the oldest first. */
struct tui_history {
    char line[TUI_HISTORY][TUI_LINE];
    int count;
};

struct tui_line {
    char text[TUI_LINE]; /* UTF-8 */
    int at;              /* the cursor: a byte of the text, or its end */
    bool chosen;         /* all of the text is: the next character takes its place */
    int back;            /* steps back in the history */
    char own[TUI_LINE];  /* text typed before the first step back */
};

/* Begins with a text, all of it chosen. */
void tui_line_begin(struct tui_line *line, const char *text);

/* Handles a key: a character, one that moves or deletes, or Up and Down for the history.  False: it means nothing
 * here. */
bool tui_line_key(struct tui_line *line, const struct tui_history *history, int key);

/* Stores a line, unless it is empty; one that is there already becomes the newest. */
void tui_history_add(struct tui_history *history, const char *text);
