/* SIGBUS: a mapped file that somebody cuts, or that its disk cannot hold, must not end the program. */
#ifndef IPO_GUARD_H
#define IPO_GUARD_H

#include <signal.h>
#include <stdbool.h>

/* Puts our handler in front of whatever is there; again when somebody may have put his there unseen. */
void ipo_guard_start(void);

/* For fatal.c: what the program has installed (false: we are not there); from now on a SIGBUS that ends the process is
 * told, also where that is the MPI library's handler; no more. */
bool ipo_guard_behind(struct sigaction *action);
void ipo_guard_report(bool is_library_handler);
void ipo_guard_quiet(void);

/* What the program's calls of sigaction, signal .. lead to, NULL for other names: it sees its own dispositions. */
void (*ipo_guard_wrapper_of(const char *name))(void);

#endif
