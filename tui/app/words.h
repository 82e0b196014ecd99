/* Words of the timeline: an instant, and what a rank did then. */
#pragma once

#include "tui/app/app.h"
#include "trace/timeline/state_at.h"

/* Writes job time with the decimals that steps of `step_ns` need: "02:13:58.120", or ".130" with `brief`. */
void tui_words_instant(char *out, size_t size, int64_t at_ns, int64_t step_ns, bool brief);

/* Finds the state of the cursor's rank at its time, and writes two lines about that: its call, and the message or
 * collective. */
void tui_words_state(struct tui_app *app, struct ana_state_at *state, char *first, size_t first_size, char *second,
                     size_t second_size);
