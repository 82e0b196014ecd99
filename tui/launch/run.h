/* Runs a command in the foreground, as a shell would.  One thread; before any other is started. */
#pragma once

#include "tui/launch/record.h"

/* Runs a plan's command with its settings until it ends.  Signals that another process sends to hpctop are forwarded;
 * the terminal sends its own to the command, too.  If hpctop is killed, so is the command.  Notes in the traces of the
 * folder (may be NULL) when processes of this host ended that could not.  Returns 0 and writes its wait status, or an
 * errno: it could not be started. */
int tui_run(const struct tui_plan *plan, const char *folder, int *status);
/* Returns the exit status of a command by its wait status; ends hpctop by the same signal if one ended it. */
int tui_run_exit(int status);
