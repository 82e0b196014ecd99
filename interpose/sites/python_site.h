/* Call paths of Python programs. */
#pragma once

#include "interpose/sites/path.h"

#define IPO_PYTHON_SITE ((uint64_t)1 << 63) /* no address of a program has this bit */

/* Returns the path of the Python lines that the calling thread executes, and in *site the innermost line; NULL, with
 * *site unchanged: there are none.  Record path: no lock, no allocation; system calls only when a line is seen for the
 * first time.  Keeps errno. */
const struct ipo_path *ipo_python_path(uint64_t *site);
