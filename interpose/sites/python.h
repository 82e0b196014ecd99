/* Python stacks of CPython 3.7 and later, read out of the interpreter's own structures: no GIL, no call into it, and
 * every read may fail without harm (safe_read.h). */
#ifndef IPO_PYTHON_H
#define IPO_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

/* In a thread of the program: finds the interpreter, if there is one.  Cheap when there is none. */
void ipo_python_find(void);

/* Our own thread.  Lists the interpreter's threads; `tid` are those of the process. */
void ipo_python_begin(const uint32_t *tid, unsigned count);
/* Tells the frames of thread `tid`, the innermost first, as lines: a word, then fields up to a NULL; *gil: it holds the
 * GIL. */
typedef void (*ipo_line)(const char *first, const char *const *fields);
void ipo_python_stack(uint32_t tid, bool *gil, ipo_line put_line);

/* "3.11", or "" without Python. */
const char *ipo_python_version(void);

#endif
