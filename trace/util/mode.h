/* The mode of files that are written from traces. */
#pragma once

#include <sys/types.h>

/* Returns the mode of a new file at this path: 0600 if traces lie beside it, because it has their contents; else
 * 0666, less what the umask removes.  Any thread. */
mode_t ana_mode_of(const char *path);
