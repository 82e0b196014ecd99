/* The digest of this node, while somebody watches.  Our own thread. */
#pragma once

#include <stdbool.h>

/* The recording begins: finds the request. */
void ipo_watch_start(void);

/* Looks whether somebody watches, and writes the digest if that is for this process to do.  Ten times a second. */
void ipo_watch_round(void);

/* The recording ends: another process goes on. */
void ipo_watch_stop(void);
