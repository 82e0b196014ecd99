/* Call sites of Python programs, when HPCTOP_PYTHON=1. */
#ifndef IPO_PYTHON_SITE_H
#define IPO_PYTHON_SITE_H

#include <stdint.h>

#define IPO_PYTHON_SITE ((uint64_t)1 << 63) /* no address of a program has this bit */

/* The number of the Python line that the calling thread executes; `address`, the native call site, where there is none.
 * Record path: no lock, no allocation; system calls only when a line is seen for the first time.  Keeps errno. */
uint64_t ipo_python_site(uint64_t address);

#endif
