/* Data that messages and collectives move: the definition that the object of their signatures names. */
#pragma once

#include <stdint.h>

/* Reduction operations.  REDUCTION(name) is MPI_name. */
#define TRC_REDUCTIONS(REDUCTION)                                                                                      \
    REDUCTION(MAX)                                                                                                     \
    REDUCTION(MIN)                                                                                                     \
    REDUCTION(SUM)                                                                                                     \
    REDUCTION(PROD)                                                                                                    \
    REDUCTION(LAND)                                                                                                    \
    REDUCTION(BAND)                                                                                                    \
    REDUCTION(LOR)                                                                                                     \
    REDUCTION(BOR)                                                                                                     \
    REDUCTION(LXOR)                                                                                                    \
    REDUCTION(BXOR)                                                                                                    \
    REDUCTION(MINLOC)                                                                                                  \
    REDUCTION(MAXLOC)                                                                                                  \
    REDUCTION(REPLACE)                                                                                                 \
    REDUCTION(NO_OP)
enum trc_reduction {
    TRC_REDUCTION_NONE, /* it reduces nothing */
#define REDUCTION(name) TRC_REDUCTION_##name,
    TRC_REDUCTIONS(REDUCTION)
#undef REDUCTION
        TRC_REDUCTION_OWN, /* made by the program */
    TRC_REDUCTION_COUNT
};

/* TRC_DEF_DATA.  Two texts follow, with a NUL behind each: the type signatures of the sent and of the received data,
 * empty if there is none or it is not known.  They have the names that MPI gives basic datatypes: "3*MPI_INT",
 * "2*(MPI_INT MPI_DOUBLE)". */
struct trc_def_data {
    uint64_t size[2];   /* bytes of one element of the sent and received data; 0 if its signature is empty */
    uint32_t operation; /* enum trc_reduction */
    uint32_t reserved;
};
_Static_assert(sizeof(struct trc_def_data) == 24, "what is moved");
