/* Holds a running thread for a moment, by a real-time signal, and reads its registers.  One caller at a time. */
#ifndef HOLD_H
#define HOLD_H

#include "interpose/base/procfs.h"
#include "interpose/unwind/unwind.h"

/* Chooses a real-time signal whose disposition is the default one, and installs a handler.  False: there is none. */
bool hold_begin(void);
/* Stops a running thread and fills `out` with its registers.  The thread waits until hold_release, half a second at
 * most.  False: it blocks the signal, or did not answer in 200 ms. */
bool hold_thread(const struct ipo_task *task, struct ipo_cursor *out);
/* Ends the wait of the stopped thread. */
void hold_release(void);
/* Restores the signal's disposition, if no signal is under way. */
void hold_end(void);

#endif
