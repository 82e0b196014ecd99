/* Datatypes and the data that calls move: sizes, type signatures, reduction operations.  MPI is asked once for each
 * datatype and thread; its answer holds until some datatype or operation is freed.  All functions: record path of the
 * thread that makes the call; no lock, memory of the arena only. */
#pragma once

#include "interpose/mpi/record.h"

/* A datatype; NULL: it is not known, or MPI may not be asked about it yet (thread->sizes).  Valid until the thread asks
 * for another. */
const struct ipo_type *ipo_type_of(struct ipo_thread *thread, uintptr_t datatype);

/* Bytes of one element of a datatype; TRC_BYTES_UNKNOWN where ipo_type_of knows it not. */
uint64_t ipo_type_size(struct ipo_thread *thread, uintptr_t datatype);

/* The number in the trace (TRC_DEF_DATA) of what a call moves, by the signatures in thread->moves and the call's
 * reduction operation; 0: nothing is known of it, or there is no room. */
uint32_t ipo_data_number(const struct ipo_frame *frame, const uintptr_t *args);
