/* Offsets up to 3.12 come from a compiler, for the headers of 3.7.16, 3.8.18, 3.9.18, 3.10.13, 3.11.7 and
 * 3.12.1 (Include/internal, 64-bit Linux); a release's structures do not change between its patch versions.  From 3.13
 * on the interpreter says them itself, in a table at the start of _PyRuntime that begins with "xdebugpy".
 * tests/e2e/python_stacks.py runs every version that is there. */
#include "trace/python/python.h"

#include <string.h>

static const struct trc_python_layout rows[] = {
    /* minor, interp, next, threads, gil, | next, pthread, native, frame, cframe, | back, code, at, owner, |
     * file, name, first line, lines, bytes, | ascii, compact */
    {7, 24, 0, 8, 1480, 8, 176, 0, 24, 0, 24, 32, 104, 0, 96, 104, 36, 112, 0, 48, 72},
    {8, 32, 0, 8, 1368, 8, 176, 0, 24, 0, 24, 32, 104, 0, 104, 112, 40, 120, 0, 48, 72},
    {9, 32, 0, 8, 568, 8, 176, 0, 24, 0, 24, 32, 104, 0, 104, 112, 40, 120, 0, 48, 72},
    {10, 32, 0, 8, 568, 8, 176, 0, 24, 0, 24, 32, 96, 0, 104, 112, 40, 120, 0, 48, 72},
    {11, 40, 0, 16, 576, 8, 152, 160, 56, 8, 48, 32, 56, 69, 112, 128, 72, 136, 184, 48, 72},
    {12, 40, 0, 72, 384, 8, 136, 144, 56, 0, 8, 0, 56, 70, 112, 128, 68, 136, 192, 40, 56},
};

/* Words of the table; 3.14 has three more for the interpreter and two for a frame. */
struct said {
    uint8_t head, next, threads, gil, thread_next, frame, pthread, native, back, code, at, owner, file, name, lines,
        first, bytes;
};
static const struct said said_13 = {5, 8, 9, 14, 21, 23, 24, 25, 29, 30, 31, 33, 35, 37, 38, 39, 43};
static const struct said said_14 = {5, 8, 9, 15, 24, 26, 27, 28, 32, 33, 34, 36, 40, 42, 43, 44, 48};

bool trc_python_know(struct trc_python *python, unsigned minor)
{
    struct trc_python_layout *out = &python->layout;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].minor == minor) {
            *out = rows[i];
            return true;
        }
    uint64_t word[52];
    if (minor < 13 || minor > 14 || !python->read(python, python->runtime, word, sizeof word) ||
        memcmp(word, "xdebugpy", 8) != 0 || word[2]) /* objects have another layout if there is no GIL */
        return false;
    const struct said *said = minor == 13 ? &said_13 : &said_14;
#define SAID(field) ((uint16_t)word[said->field])
    *out = (struct trc_python_layout){.minor = (uint16_t)minor,
                                      .interp = SAID(head),
                                      .interp_next = SAID(next),
                                      .interp_threads = SAID(threads),
                                      .gil = SAID(gil),
                                      .thread_next = SAID(thread_next),
                                      .thread_pthread = SAID(pthread),
                                      .thread_native = SAID(native),
                                      .thread_frame = SAID(frame),
                                      .frame_back = SAID(back),
                                      .frame_code = SAID(code),
                                      .frame_at = SAID(at),
                                      .frame_owner = SAID(owner),
                                      .code_file = SAID(file),
                                      .code_name = SAID(name),
                                      .code_first_line = SAID(first),
                                      .code_lines = SAID(lines),
                                      .code_bytes = SAID(bytes),
                                      .ascii = 40,
                                      .compact = 56};
#undef SAID
    return true;
}
