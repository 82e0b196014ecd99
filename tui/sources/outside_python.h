/* Python frames of a thread of another process: addresses first, while the thread may be stopped, then names. */
#pragma once

#include "trace/python/python.h"
#include "tui/sources/outside.h"

#include <elfutils/libdwfl.h>

struct tui_outside_python {
    int pid, tid;
    struct trc_python of; /* runtime 0: the process has no interpreter that is known */
    uint64_t state;       /* thread state of `tid`; 0: not found yet */
    size_t count;
    struct tui_outside_code {
        uint64_t code, at;
    } frame[TUI_OUTSIDE_FRAMES]; /* the innermost first */
};

/* Whether the interpreter's own functions are in a file of that name: "python3.11", "libpython3.11.so.1.0". */
bool tui_outside_is_interpreter(const char *file);
/* Finds the interpreter among the modules of a process; `out` lives as long as it is read. */
void tui_outside_python_find(Dwfl *dwfl, int pid, int tid, struct tui_outside_python *out);
/* Reads where the frames of the thread are. */
void tui_outside_python_read(struct tui_outside_python *python);
/* Fills the names of a frame.  False: they cannot be read any more. */
bool tui_outside_python_name(const struct tui_outside_python *python, const struct tui_outside_code *frame,
                             struct tui_outside_frame *out);
