/* Calls of windows that begin and end epochs of a group of ranks, and what ranks of a collective agree on. */
#pragma once

#include "trace/reader/reader.h"

enum ana_epoch_call { ANA_EPOCH_POST, ANA_EPOCH_START, ANA_EPOCH_COMPLETE, ANA_EPOCH_WAIT, ANA_EPOCH_CALLS };
/* Returns the kind of a call; ANA_EPOCH_CALLS: none.  A successful MPI_Win_test is as MPI_Win_wait. */
enum ana_epoch_call ana_epoch_call_of(const struct trc_call *call);
/* Returns the bytes that all ranks of a collective must agree on, of what one has sent and received;
 * TRC_BYTES_UNKNOWN: none. */
uint64_t ana_agreed_bytes(const struct trc_call *call, uint64_t sent, uint64_t received);
