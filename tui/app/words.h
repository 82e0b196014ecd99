/* Words of the timeline: an instant, and what a rank did then. */
#ifndef TUI_WORDS_H
#define TUI_WORDS_H

#include "tui/app/app.h"

/* Writes job time with the decimals that steps of `step_ns` need: "02:13:58.120", or ".130" with `brief`. */
void tui_words_instant(char *out, size_t size, int64_t at_ns, int64_t step_ns, bool brief);

/* Appends who a call's messages go to and come from, with tag and bytes, or a collective's bytes: ", from 0 tag 7,
 * 16.4 kB".  As ana_append. */
void tui_words_partners(const struct trc_sig *sig, char *out, size_t size, size_t *n);

/* Writes two lines about the cursor's rank and time: its call, and the message or collective.  NULL: unknown. */
void tui_words_state(const struct tui_app *app, const struct ana_state_at *state, char *first, size_t first_size,
                     char *second, size_t second_size);

#endif
