/* Reactions to a job that hangs, is slow or has ended. */
#pragma once

#include <sys/types.h>

/* Writes stacks.txt, verdict.txt and report.html of the job of n folders into the first.  `hang_s`: as for
 * ana_job_set_hang.  Returns when they are complete; what cannot be written is missing, with a line on stderr. */
void tui_alarm_evidence(const char *const *folders, int n, double hang_s);

/* Starts a process that watches the job of a folder, which may be made later.  Once the job has hung for `seconds`, by
 * a verdict that is likely or proven, it writes the evidence and sends SIGTERM to its parent.  Returns its pid; -1,
 * with errno: it could not be started.  It ends with its parent.  Call it before a thread is started. */
pid_t tui_alarm_start(const char *folder, double seconds);
