/* C handles of the integers that Fortran has for them. */
#ifndef IPO_HANDLES_H
#define IPO_HANDLES_H

#include "interpose/mpi/abi.h"

enum ipo_kind {
    IPO_KIND_COMM,
    IPO_KIND_TYPE,
    IPO_KIND_REQUEST,
    IPO_KIND_WIN,
    IPO_KIND_FILE,
    IPO_KIND_MESSAGE,
    IPO_KINDS
};

/* Whether handles of this kind are the same integers in C and Fortran: all but files (MPICH), or none (Open MPI). */
static inline bool ipo_is_integer(enum ipo_kind kind)
{
    return ipo_abi.handle_bytes == 4 && kind != IPO_KIND_FILE;
}

/* The C handle; asks MPI where it is not the integer itself. */
uintptr_t ipo_handle_of(enum ipo_kind kind, int integer);

#endif
