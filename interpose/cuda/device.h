/* Kernels and copies as calls of the trace: their numbers and names. */
#pragma once

#include "interpose/mpi/calls.h"

/* Work that runs on a stream, as calls: behind MPI's. */
#define IPO_DEVICE_LIST(DEVICE)                                                                                        \
    DEVICE(KERNEL, "kernel", KERNEL)                                                                                   \
    DEVICE(HTOD, "memcpy_HtoD", COPY)                                                                                  \
    DEVICE(DTOH, "memcpy_DtoH", COPY)                                                                                  \
    DEVICE(DTOD, "memcpy_DtoD", COPY)                                                                                  \
    DEVICE(PTOP, "memcpy_PtoP", COPY) /* copy between two GPUs */                                                      \
    DEVICE(OTHER, "memcpy", COPY)
enum ipo_device_id {
#define DEVICE(id, name, opclass) IPO_DEVICE_##id,
    IPO_DEVICE_LIST(DEVICE)
#undef DEVICE
        IPO_DEVICE_CALLS
};
#define IPO_DEVICE_NUMBER(id) ((uint32_t)IPO_CALLS + (uint32_t)(id))
