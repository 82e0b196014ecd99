/* Which container this process is in, and which namespaces it has to itself. */
#ifndef IPO_CONTAINER_H
#define IPO_CONTAINER_H

#include "trace/format/format.h"

/* Fills runtime, container (the image) and namespaces of a head from the environment, from files that runtimes leave in
 * the root and from /proc; `image` (HPCTOP_IMAGE, may be empty) is believed before them.  What cannot be found out
 * stays empty or 0.  System calls: once, when the file is made. */
void ipo_container(struct trc_head *head, const char *image);

#endif
