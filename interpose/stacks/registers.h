/* Registers of a thread that runs: it is stopped for a moment by a signal of its own.
 *
 * Never sent to a thread that waits in a system call: that would end the wait with EINTR in programs that do not expect
 * it, and where such a thread is can be read without disturbing it (procfs.h). */
#ifndef IPO_REGISTERS_H
#define IPO_REGISTERS_H

#include "interpose/base/procfs.h"
#include "interpose/stacks/unwind.h"

/* Begins: chooses a real-time signal whose disposition is the default one.  False: there is none.  Our own thread. */
bool ipo_registers_begin(void);
/* Stops a running thread and gives its registers; it stays where it is until ipo_registers_release, half a second at
 * most.  False: it blocks the signal, or did not answer in 200 ms. */
bool ipo_registers_hold(const struct ipo_task *task, struct ipo_cursor *out);
void ipo_registers_release(void);
/* Puts the disposition back, if no signal is under way. */
void ipo_registers_end(void);

/* Out of what a signal handler is given. */
void ipo_registers_of(const void *ucontext, struct ipo_cursor *out);

#endif
