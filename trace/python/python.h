/* Stacks of CPython, read out of the interpreter's structures by whoever can read its memory: the recorder in the
 * process, or another process.  No GIL, no call into the interpreter.  Any thread; nothing is allocated. */
#pragma once

#include "trace/python/layout.h"

#include <stdbool.h>
#include <stddef.h>

/* An interpreter.  `read`, `user`, `runtime` and `code_type` are the caller's. */
struct trc_python {
    /* Copies `size` bytes at `address` to `out`.  False: some cannot be read. */
    bool (*read)(const struct trc_python *python, uint64_t address, void *out, size_t size);
    const void *user;
    uint64_t runtime;   /* address of _PyRuntime; 0: no interpreter, or not one that is known */
    uint64_t code_type; /* address of PyCode_Type */
    struct trc_python_layout layout;
};

/* Fills the layout for version 3.`minor`.  False: the version is not known. */
bool trc_python_know(struct trc_python *python, unsigned minor);
/* Returns the eight bytes at `address` as a number; 0 if they cannot be read. */
uint64_t trc_python_word(const struct trc_python *python, uint64_t address);

struct trc_python_thread {
    uint32_t tid;
    bool has_gil;
    uint64_t state; /* address of its thread state */
};
/* Finds the threads of all interpreters.  `tid`: the `count` threads of the process, for versions before 3.11.  Returns
 * their number, at most `most`. */
size_t trc_python_threads(const struct trc_python *python, const uint32_t *tid, unsigned count,
                          struct trc_python_thread *out, size_t most);

/* A place in a Python program. */
struct trc_python_place {
    char function[256], file[512];
    int32_t line;
};

/* Returns the address of the innermost frame of a thread state; 0: none. */
uint64_t trc_python_top(const struct trc_python *python, uint64_t state);
/* Returns the address of a frame's caller; 0: none. */
uint64_t trc_python_back(const struct trc_python *python, uint64_t frame);
/* *code: the code object that a frame runs; *at: place in it.  False: the frame belongs to no Python function. */
bool trc_python_code(const struct trc_python *python, uint64_t frame, uint64_t *code, uint64_t *at);
/* Fills `out` with function, file and line of a place in a code object.  False: it cannot be read. */
bool trc_python_describe(const struct trc_python *python, uint64_t code, uint64_t at, struct trc_python_place *out);
