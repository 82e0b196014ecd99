/* Registers of a thread that runs: a real-time signal stops it for a moment.
 *
 * The signal is never sent to a thread that waits in a system call.  It would end the wait with EINTR, which the
 * program may not expect; and the registers of such a thread can be read without a signal (procfs.h). But for
 * ipo_registers_of: our own thread. */
#ifndef IPO_REGISTERS_H
#define IPO_REGISTERS_H

#include "interpose/base/procfs.h"
#include "interpose/unwind/unwind.h"

/* Chooses a real-time signal whose disposition is the default one, and installs our handler.  False: there is none. */
bool ipo_registers_begin(void);
/* Stops a running thread and fills `out` with its registers.  The thread waits until ipo_registers_release, half a
 * second at most.  False: it blocks the signal, or did not answer in 200 ms. */
bool ipo_registers_hold(const struct ipo_task *task, struct ipo_cursor *out);
/* Lets the stopped thread go on. */
void ipo_registers_release(void);
/* Restores the signal's disposition, if no signal is under way. */
void ipo_registers_end(void);

/* Fills `out` with the registers of a signal handler's context.  In the handler. */
void ipo_registers_of(const void *ucontext, struct ipo_cursor *out);

#endif
