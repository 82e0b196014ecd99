/* Rows of the call table by their names.  One thread at a time: under the loader's lock. */
#ifndef IPO_NAMES_H
#define IPO_NAMES_H

#include <stddef.h>

/* Number of the row with this name ("MPI_Send"); -1: there is none. */
int ipo_call_named(const char *name);

/* Number of the row whose name without "MPI_" begins at `name` and is `length` characters long, whatever the case of
 * its letters ("SEND", "send"); -1: there is none. */
int ipo_call_spelled(const char *name, size_t length);

#endif
