/* Escape sequences that terminals send for keys. ncurses knows TERM's sequences alone and hands the others over byte
 * by byte: here each is taken as a whole, so that none of its characters is a key of its own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { TUI_SEQUENCE = 64 }; /* most bytes looked at; a longer sequence is still taken as a whole */

/* The state between two bytes; zeros at first. */
struct tui_sequence {
    char text[TUI_SEQUENCE]; /* bytes behind the Esc */
    size_t length;           /* length of the whole; more than there is room for: a string */
};

/* Adds the next character behind an Esc.  False: the sequence ends with it or, if it is the first, it belongs to none:
 * then the length stays 0. */
bool tui_sequence_add(struct tui_sequence *sequence, unsigned ch);

/* The key of a sequence that has ended, TUI_KEY_NONE for one that means nothing here. */
int tui_sequence_key(const struct tui_sequence *sequence);
