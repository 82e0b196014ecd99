/* Offsets in bytes of what a Python stack is made of, in the structures of one version of CPython. */
#pragma once

#include <stdint.h>

/* The first part of a name is the structure, the second its member.  0: this version has none. */
struct trc_python_layout {
    uint16_t minor;  /* 3.minor */
    uint16_t interp; /* _PyRuntime: first interpreter */
    uint16_t interp_next, interp_threads;
    uint16_t gil; /* Python 3.11 and older: _PyRuntime's current thread; newer: interpreter's pointer to its GIL */
    uint16_t thread_next, thread_pthread, thread_native; /* native 0: there is none */
    uint16_t thread_frame; /* current frame; 3.11 and 3.12: the C frame that holds it at `cframe` */
    uint16_t cframe;
    uint16_t frame_back, frame_code, frame_at, frame_owner; /* frame_at: last instruction, an index before 3.11 */
    uint16_t code_file, code_name, code_first_line, code_lines, code_bytes; /* bytes: first instruction, from 3.11 */
    uint16_t ascii, compact;                                                /* sizes of the heads of strings */
};
