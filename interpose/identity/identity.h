/* Who this process is and where its trace goes: facts from the environment and the system, gathered once. */
#ifndef IPO_IDENTITY_H
#define IPO_IDENTITY_H

#include "trace/format/format.h"
#include <stdbool.h>
#include <stddef.h>

/* Fills host, pid, boot id, job, executable, command, container, provisional rank and size, world identity; and the
 * folder: `wanted` (HPCTOP_DIR) or hpctop-<job id>, the same on all ranks.  `image`: what HPCTOP_IMAGE says,
 * may be empty.  `nccl_size`, `nccl_hash`: of the NCCL communicator that this process is about to make as the first
 * thing of all; else 0. */
void ipo_identity(struct trc_head *head, char *folder, size_t folder_size, const char *wanted, const char *image,
                  int nccl_size, uint64_t nccl_hash);

/* Whether the TSC ticks evenly and alike on all cores: the kernel uses it as its own clock. */
bool ipo_tsc_is_good(void);

/* Whether a folder is on a file system where other processes of the job see stores at once; and whether space that is
 * allocated there is really kept for us. */
bool ipo_is_local(const char *folder, bool *reserves);

/* A setuid or otherwise privileged process is none of our business. */
bool ipo_is_privileged(void);

/* "ENOSPC" and the like for the errors that happen; else the number in decimal. */
const char *ipo_errno_name(int error);

/* Name and version of a library's version text: up to the first comma or line end, without "MPICH Version:" padding. */
void ipo_first_words(char *out, size_t size, const char *text);

#endif
