/* Seccomp filters that the program installs: they may end it for system calls of the recorder. */
#pragma once

#include "interpose/base/ours.h"

#include <stdbool.h>

/* Prepares the recorder for a filter that is about to be installed.  `for_all`: for all threads of the process; then
 * our own end first, and all space that the limit allows is allocated: two seconds at most.  Otherwise our own go on.
 * Afterwards the gate is closed (trace/writer/quiet.h).  Before the recording it is only noted.  In the program's
 * thread. */
void ipo_filter_prepare(bool for_all);

/* Whether one was noted before the recording began: then no thread of ours is started. */
bool ipo_filter_is_there(void);
