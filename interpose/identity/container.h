/* Container of this process, and the namespaces that it has to itself. */
#pragma once

#include "trace/format/format.h"

/* Fills runtime, container (the image) and namespaces of a head, from the environment, from files that runtimes
 * leave in the root, and from /proc.  `image`: the value of HPCTOP_IMAGE, which counts before these; may be empty. 
 * What cannot be found out stays empty or 0.  Makes system calls; called once, when the file is made. */
void ipo_container(struct trc_head *head, const char *image);
