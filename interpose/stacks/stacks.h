/* Stacks of all threads of this process, taken by our own thread and written into the trace: when nothing has moved for
 * a while, when somebody asks for them, and when the process dies of a signal.  trace/format/format.h says how they lie
 * there; docs/stacks.md what taking them can and cannot do to the program. */
#pragma once

#include "interpose/unwind/unwind.h"
#include "trace/format/format.h"

/* A thread whose registers are known: the one that ends the process. */
struct ipo_crash {
    uint32_t tid;
    int signal;    /* 0: it called exit or the like */
    bool overflow; /* the stack was full */
    struct ipo_cursor at;
};
/* Writes a snapshot of all threads and writes it.  `why`: a text for the user, copied; `request_ns`: when it was
 * requested, 0 where nobody did; `crash`: NULL unless the reason is FATAL, or EXIT: then only
 * that thread's stack is taken.  Our own thread. */
void ipo_stacks_write(enum trc_stack_reason reason, const char *why, uint64_t request_ns,
                      const struct ipo_crash *crash);
