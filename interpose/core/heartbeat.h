/* The heartbeat: a thread of our own that gives signs of life, takes clock anchors, makes chunks ready ahead of need
 * and writes pages back.  It makes no MPI call and takes no signal. */
#ifndef IPO_HEARTBEAT_H
#define IPO_HEARTBEAT_H

#include <stdbool.h>

/* Starts the thread.  Once, before the first Init, which may never return. */
void ipo_heartbeat_start(void);

/* Gives a sign of life with a clock anchor at once, without waiting for the next round.  Any thread, off the record
 * path. */
void ipo_heartbeat_now(void);

/* Ends the rounds, at Finalize: returns when the thread has done its last one, or after half a second.  A process that
 * lives on still gives signs of life, one a second, and stacks. */
void ipo_heartbeat_stop(void);

/* Checks whether the file can still hold the trace.  Where it cannot, recording ends and the file says why.  Any
 * thread, off the record path. */
void ipo_heartbeat_file(void);

/* Ends the thread's pause.  Any thread, also in a signal handler. */
void ipo_heartbeat_wake(void);

#endif
