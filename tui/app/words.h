/* Sentences of the timeline: an instant and what a rank did in it. */
#ifndef TUI_WORDS_H
#define TUI_WORDS_H

#include "tui/app/app.h"

/* Job time with as many decimals as steps of `step_ns` need: "02:13:58.120", or ".130" when `brief`. */
void tui_words_instant(char *out, size_t size, int64_t at_ns, int64_t step_ns, bool brief);

/* Two lines about a rank at the cursor's time: its call, and what is between that and other ranks.  NULL: unknown. */
void tui_words_state(const struct tui_app *app, const struct ana_moment *state, char *first, size_t first_size,
                     char *second, size_t second_size);

#endif
