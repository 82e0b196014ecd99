/* Frames of CPython, one by one (python.c); for its stacks and for call sites. */
#ifndef IPO_PYTHON_FRAME_H
#define IPO_PYTHON_FRAME_H

#include "interpose/base/ours.h"
#include "interpose/sites/python_layout.h"

#include <stdbool.h>

struct ipo_python {
    uint64_t runtime; /* 0: no interpreter, or not one that is known */
    uint64_t code_type;
    void *(*this_thread)(void); /* PyGILState_GetThisThreadState */
    struct ipo_python_layout layout;
    char version[32];
};
extern IPO_OURS struct ipo_python ipo_python;

struct ipo_python_place {
    char function[256], file[512];
    int32_t line;
};

uint64_t ipo_python_top(uint64_t state);  /* innermost frame; 0 none */
uint64_t ipo_python_back(uint64_t frame); /* its caller; 0 none */
/* The code that a frame runs, and where in it; false: a frame that is no Python function's. */
bool ipo_python_code(uint64_t frame, uint64_t *code, uint64_t *at);
bool ipo_python_describe(uint64_t code, uint64_t at, struct ipo_python_place *out);

#endif
