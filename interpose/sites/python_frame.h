/* The interpreter of this process, for Python stacks and for call sites. */
#pragma once

#include "interpose/base/ours.h"
#include "trace/python/python.h"

/* Filled by ipo_python_find. */
struct ipo_python {
    struct trc_python of;
    void *(*this_thread)(void); /* PyGILState_GetThisThreadState */
    char version[32];
};
extern IPO_OURS struct ipo_python ipo_python;
