/* The mode of files that are written from traces. */
#ifndef ANA_MODE_H
#define ANA_MODE_H

#include <sys/types.h>

/* Returns the mode of a new file at this path: 0600 where traces lie beside it, because it says what they say; else
 * 0666, less what the umask removes.  Any thread. */
mode_t ana_mode_of(const char *path);

#endif
