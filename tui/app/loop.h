/* The loop of the screens: takes data and keys, shows cells, until the user leaves. */
#pragma once

#include "tui/app/app.h"
#include "tui/term/term.h"

/* Runs the screens on a terminal until that ends or the user leaves; closes neither.  With `live` the job is read
 * every 0.4 s; else only when the terminal gives no event (a script's `tick`): keys alone decide the screen. */
void tui_loop(struct tui_app *app, struct tui_term term, bool live);
