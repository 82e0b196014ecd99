/* The one thread of our own: sign of life, clock anchors, chunks ahead of need, names of call sites, write-back.
 * Makes no MPI call, takes no signal. */
#ifndef IPO_HEARTBEAT_H
#define IPO_HEARTBEAT_H

#include <stdbool.h>

void ipo_heartbeat_start(void); /* before the first Init, which may never return */
void ipo_heartbeat_now(void);   /* a sign of life, with a clock anchor, without waiting for the next round */
void ipo_heartbeat_stop(void); /* at Finalize; returns when the thread has done its last round.  A process that lives on
                                  still gives signs of life, one a second, and stacks */
void ipo_heartbeat_file(void); /* looks whether the file is whole; where it is not, says so in what is left.  Once */
void ipo_heartbeat_wake(void); /* ends its pause; may be called in a signal handler */

#endif
