/* SIGBUS in the mapped file: a file that another process truncates, or that its disk cannot hold, must not end the
 * program. */
#ifndef IPO_GUARD_H
#define IPO_GUARD_H

#include "interpose/load/names.h"

#include <signal.h>
#include <stdbool.h>

/* Installs our handler in front of the one that is installed.  Called again when another one may have been installed
 * without our seeing it.  In the program's thread. */
void ipo_guard_start(void);

/* Fills `action` with the disposition behind our handler.  False: our handler was never installed. */
bool ipo_guard_behind(struct sigaction *action);
/* Reports a SIGBUS that ends the process to fatal.c from now on.  `is_library_handler`: the handler behind ours
 * is the MPI library's, and ends the process, too. */
void ipo_guard_report(bool is_library_handler);
/* Ends these reports. */
void ipo_guard_quiet(void);

/* The wrapper for sigaction, signal and the like, by which the program sees its own dispositions; NULL for other
 * names. */
void (*ipo_guard_wrapper_of(enum ipo_libc row))(void);

#endif
