/* Stacks of all threads of this process, taken by our own thread and written into the trace: when nothing has moved for
 * a while, when somebody asks for them, and when the process dies of a signal.  trace/format/format.h says how they lie
 * there; docs/stacks.md what taking them can and cannot do to the program. */
#ifndef IPO_STACKS_H
#define IPO_STACKS_H

#include "interpose/stacks/unwind.h"
#include "trace/format/format.h"

/* Before the first Init, in the program's thread: what can only be found out there. */
void ipo_stacks_start(void);
/* Once a round of our thread: looks whether a stack is due. */
void ipo_stacks_round(void);

/* A thread whose registers are known: the one that crashed. */
struct ipo_crash {
    uint32_t tid;
    int signal;
    struct ipo_cursor at;
};
/* Takes a snapshot now.  Our own thread.  `crash` NULL but for FATAL. */
void ipo_stacks_take(enum trc_stack_reason reason, const char *why, uint64_t request_ns, const struct ipo_crash *crash);

/* Adds a line to the text of the stack that is being taken: `first`, then fields up to a NULL, tabs between. */
void ipo_stacks_line(const char *first, const char *const *fields);

/* progress.c: how many calls this process has completed that move data or wait; those of polling and control loops are
 * left out.  Our own thread. */
uint64_t ipo_progress(void);
/* Is some thread inside a call for much longer than that call ever took?  Its name, else NULL. */
const char *ipo_overdue(uint64_t floor_ticks);

#endif
