/* Texts typed into prompts, kept from one run to the next in the user's folder for such things: a convenience, so every
 * failure in it is silent. */
#pragma once

#include "tui/app/prompt.h"
#include <stddef.h>

/* Writes the path of the file: $XDG_STATE_HOME/hpctop/history or ~/.local/state/hpctop/history; "" where there is
 * neither. */
void tui_history_find(char *path, size_t size);

/* Adds the lines of the file to the histories of the kinds 1 to `kinds` - 1, the newest lines last; characters that
 * would reach the terminal as something else than text become "?". */
void tui_history_read(struct tui_history *history, size_t kinds, const char *path);

/* Writes a line of a kind in the file, beside the lines that others have kept there since: at most TUI_HISTORY of
 * each kind.  The file changes as a whole or not at all.  Does nothing if `path` or the line is empty. */
void tui_history_store(const char *path, size_t kinds, size_t kind, const char *text);
