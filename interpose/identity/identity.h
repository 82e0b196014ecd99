/* Rank, host and trace folder of this process, from the environment and the system.  Off the record path; the
 * functions make system calls, allocate nothing and do not keep errno. */
#pragma once

#include "trace/format/format.h"
#include <stdbool.h>
#include <stddef.h>

/* Fills host, pid, boot id, job, executable, command, container, provisional rank and size, and world identity of a
 * head.  Writes the folder of the trace, equal on all ranks, to `folder`: `wanted` (HPCTOP_DIR) or hpctop-<job>; ""
 * if it is too long.  `image`: the value of HPCTOP_IMAGE, may be empty.  `nccl_size`, `nccl_hash`: of the NCCL
 * communicator that the recording begins with; 0 where it begins with MPI. */
void ipo_identity(struct trc_head *head, char *folder, size_t folder_size, const char *wanted, const char *image,
                  int nccl_size, uint64_t nccl_hash);

/* Whether the processor's time stamp counter is a clock: the kernel itself uses it as one. */
bool ipo_tsc_is_good(void);

/* Whether a folder is on a file system of this host, where other processes see stores to mapped pages at once.
 * *reserves: whether that file system keeps the space that was allocated. */
bool ipo_is_local(const char *folder, bool *reserves);

/* Whether the process runs with other privileges than its caller's (setuid).  Such a process is not traced. */
bool ipo_is_privileged(void);

/* A name for an errno, such as "ENOSPC (no space left)"; its number where it has none here.  The text is valid until
 * the next call: one thread at a time. */
const char *ipo_errno_name(int error);

/* Copies name and version out of a library's version text to `out`: up to the first comma or line end, with single
 * blanks. */
void ipo_first_words(char *out, size_t size, const char *text);
