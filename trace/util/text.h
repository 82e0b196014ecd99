/* Text from elsewhere (files, names of folders, arguments of programs) goes to terminals and into JSON.  What may be
 * shown is decided here and nowhere else. */
#ifndef TRC_TEXT_H
#define TRC_TEXT_H

#include <stddef.h>

/* Bytes of the character that `text` begins with, of which `size` are there.  0: it is not to be shown: a control
 * character (C0, DEL, C1), one that breaks lines or turns their direction, or no UTF-8. */
size_t trc_text_char(const char *text, size_t size);

/* Makes each byte that is not to be shown a '?', in place. */
void trc_clean_text(char *text);

#endif
