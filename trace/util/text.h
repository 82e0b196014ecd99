/* Text from elsewhere (files, names of folders, arguments of programs) goes to terminals and into JSON.  Only this file
 * decides what may be shown. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns the length in bytes of the character at the begin of `text`, a text of `size` bytes.  0: it must not be
 * shown: a control character (C0, DEL, C1), one that breaks lines or turns their direction, or no UTF-8. */
size_t trc_text_char(const char *text, size_t size);

/* Replaces each byte that must not be shown by '?', in place. */
void trc_clean_text(char *text);

/* Returns what a writer of CSV puts before the text of a cell: an apostrophe where a spreadsheet would compute the text
 * (it begins with = + - @, a tab or a return, and is no number), else nothing. */
const char *trc_text_defuse(const char *text);

/* Returns a path without its folders: the text after the last slash, unless that is empty.  NULL gives NULL. */
const char *trc_base_name(const char *path);

/* Whether a text has something before `end`, and then ends in it. */
bool trc_ends_in(const char *text, const char *end);
