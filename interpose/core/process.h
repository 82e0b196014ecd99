/* The recording of this process, from its file to its end.  The calls of MPI (mpi/start.h), NCCL or Gloo (mpi/alone.h)
 * start it, whichever come first.  In the thread of that call, off the record path.  Each function is called once
 * unless it says more.  errno is not kept. */
#pragma once

#include "interpose/core/state.h"

/* Reads the options.  False, and a message: this process is not to be traced (switched off, other privileges). */
bool ipo_process_wanted(void);

/* Makes a folder for traces, and those above it; `path` is unchanged when it returns.  0 or an errno; EPERM: others may
 * write there, *refused says who. */
int ipo_process_folder(char *path, const char **refused);

/* Makes the file and fills its head; true at once where this process has its file already.  `nccl_size`,
 * `nccl_hash`: of the NCCL communicator that the recording begins with, else 0.  False, and a message: no file could
 * be made. */
bool ipo_process_begin(int nccl_size, uint64_t nccl_hash);

/* The word for ipo_arm: IPO_ARMED, or IPO_ARMED_CAREFULLY.  `python`: the process has an interpreter.  After the file
 * was made; any number of times. */
uint32_t ipo_process_arming(bool python);

/* Before the first Init, which may never return: what sources look up in the program's thread, and a clock anchor.  May
 * be called again. */
void ipo_process_live(void);

/* Starts the trace proper, when the first Init has returned: state, cost of a call, facts, our threads.  May be called
 * again. */
void ipo_process_run(void);

/* Notes the time at which the last call (MPI_Finalize) begins. */
void ipo_process_ending(void);
/* Ends the recording after the last call: sources stop, our threads end, the file is trimmed. */
void ipo_process_end(void);
/* Notes that no session of MPI is open: our threads end, and run again when a session begins.  The recording ends when
 * the process leaves by exit() or the like.  Any number of times. */
void ipo_process_pause(void);
/* Notes that a session has begun. */
void ipo_process_resume(void);
/* Notes that the program aborts itself with this code. */
void ipo_process_abort(int code);
