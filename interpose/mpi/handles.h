/* Fortran's integers to C handles. */
#pragma once

#include "interpose/mpi/abi.h"

/* Kinds of handles. */
enum ipo_kind {
    IPO_KIND_COMM,
    IPO_KIND_TYPE,
    IPO_KIND_REQUEST,
    IPO_KIND_WIN,
    IPO_KIND_FILE,
    IPO_KIND_MESSAGE,
    IPO_KIND_OP,
    IPO_KIND_GROUP,
    IPO_KINDS
};

/* Whether a handle of this kind is the same integer in C and Fortran.  MPICH: all kinds but files; Open MPI: none. */
static inline bool ipo_is_integer(enum ipo_kind kind)
{
    return ipo_abi.handle_bytes == 4 && kind != IPO_KIND_FILE;
}

/* The C handle of an integer; asks MPI (MPI_x_f2c) where they differ.  Any thread. */
uintptr_t ipo_handle_of(enum ipo_kind kind, int integer);
