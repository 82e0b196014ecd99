/* Python stacks of CPython 3.7 and later, read out of the interpreter's structures.  No GIL is taken and the
 * interpreter is not called; every read may fail without harm (safe_read.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Finds the interpreter, if the process has one.  In a thread of the program, off the record path; asks the loader. */
void ipo_python_find(void);

/* Begins a snapshot: reads which threads the interpreter has.  `tid`: the `count` threads of the process.  Our own
 * thread. */
void ipo_python_begin(const uint32_t *tid, unsigned count);
/* Receives one line: a word and its fields, up to a NULL.  The texts are valid during the call. */
typedef void (*ipo_line)(const char *first, const char *const *fields);
/* Passes the frames of thread `tid` to `put_line`, the innermost first.  *gil: whether the thread holds the GIL.  After
 * ipo_python_begin, in the same thread. */
void ipo_python_stack(uint32_t tid, bool *gil, ipo_line put_line);

/* The version of the interpreter, "3.11"; "" without Python. */
const char *ipo_python_version(void);
