/* The heartbeat: a thread of our own that gives signs of life, takes clock anchors, makes chunks ready ahead of need
 * and writes pages back.  It makes no MPI call and takes no signal. */
#pragma once

#include <stdbool.h>

/* Starts our threads, when the first Init has returned, and again when ipo_heartbeat_end has ended them. */
void ipo_heartbeat_start(void);

/* Writes a clock anchor to the head: two tell how long a tick is.  While no thread of ours runs. */
void ipo_heartbeat_anchor(void);

/* Ends our threads after a last round, when the recording (`over`) or all sessions have ended.  Waits until they have
 * left, half a second at most.  In the program's thread. */
void ipo_heartbeat_end(bool over);

/* Checks whether the file can still hold the trace.  Where it cannot, recording ends and the file says why.  Any
 * thread, off the record path. */
void ipo_heartbeat_file(void);

/* Ends the thread's pause.  Any thread, also in a signal handler. */
void ipo_heartbeat_wake(void);
