/* The loop: data in, cells out, keys in, until someone leaves. */
#ifndef TUI_LOOP_H
#define TUI_LOOP_H

#include "tui/app/app.h"
#include "tui/term/term.h"

/* Runs the screens on a terminal until it ends or the user leaves.  `live`: looks at the source twice a second; else
 * only when the terminal has nothing to say (scripts: `tick`), so that what is shown depends on the keys alone. */
void tui_loop(struct tui_app *app, struct tui_term term, bool live);

#endif
