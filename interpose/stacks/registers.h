/* Registers of a thread that a signal has interrupted. */
#ifndef IPO_REGISTERS_H
#define IPO_REGISTERS_H

#include "interpose/unwind/unwind.h"

/* Fills `out` with the registers of a signal handler's context, a ucontext_t.  In the handler. */
void ipo_registers_of(const void *context, struct ipo_cursor *out);

#endif
