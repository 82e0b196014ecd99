/* Requests: files in the folder of the trace that hpctop touches.  Our own thread. */
#pragma once

#include <stdint.h>

struct ipo_request {
    char folder[4608]; /* path; empty: not known */
    char path[4608];
};

/* Sets the paths of the request of this name, whole ones: the program may change its directory. */
void ipo_request_init(struct ipo_request *request, const char *name);

/* Time of the last request, in ns of CLOCK_REALTIME; 0: never.  A request is a plain file of this user, of root or of
 * the folder's owner, in a folder that others may not write to. */
uint64_t ipo_request_time(const struct ipo_request *request);
