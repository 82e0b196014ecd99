/* Calls of windows that begin and end epochs of a group of ranks. */
#pragma once

#include "trace/reader/reader.h"

enum ana_epoch_call { ANA_EPOCH_POST, ANA_EPOCH_START, ANA_EPOCH_COMPLETE, ANA_EPOCH_WAIT, ANA_EPOCH_CALLS };
/* Returns the kind of a call; ANA_EPOCH_CALLS: none.  A successful MPI_Win_test is as MPI_Win_wait. */
enum ana_epoch_call ana_epoch_call_of(const struct trc_call *call);
