/* Sentences of the timeline: an instant and what a rank did in it. */
#ifndef TUI_WORDS_H
#define TUI_WORDS_H

#include "tui/app/app.h"

/* Job time with as many decimals as steps of `step_ns` need: "02:13:58.120", or ".130" when `brief`. */
void tui_words_instant(char *out, size_t size, int64_t at_ns, int64_t step_ns, bool brief);

/* A moment in two lines: the call, and what is between it and other ranks.  NULL: nothing known. */
void tui_words_moment(const struct tui_app *app, const struct ana_moment *moment, char *first, size_t first_size,
                      char *second, size_t second_size);

#endif
