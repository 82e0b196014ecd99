/* Frames of CPython, one by one (python.c); for its stacks and for call sites. */
#pragma once

#include "interpose/base/ours.h"
#include "interpose/sites/python_layout.h"

#include <stdbool.h>

/* The interpreter of this process; filled by ipo_python_find. */
struct ipo_python {
    uint64_t runtime; /* 0: no interpreter, or not one that is known */
    uint64_t code_type;
    void *(*this_thread)(void); /* PyGILState_GetThisThreadState */
    struct ipo_python_layout layout;
    char version[32];
};
extern IPO_OURS struct ipo_python ipo_python;

/* A place in a Python program. */
struct ipo_python_place {
    char function[256], file[512];
    int32_t line;
};

/* Address of the innermost frame of a thread state; 0: none.  This and the next three read safely; any thread. */
uint64_t ipo_python_top(uint64_t state);
/* Address of a frame's caller; 0: none. */
uint64_t ipo_python_back(uint64_t frame);
/* *code: the code object that a frame runs; *at: place in it.  False: the frame belongs to no Python function. */
bool ipo_python_code(uint64_t frame, uint64_t *code, uint64_t *at);
/* Fills `out` with function, file and line of a place in a code object.  False: it cannot be read. */
bool ipo_python_describe(uint64_t code, uint64_t at, struct ipo_python_place *out);
