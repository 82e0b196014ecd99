/* Negotiation: a background loop (Horovod's) asks all ranks a thousand times a second for the operations that
 * they are ready for.  Its collectives differ from the program's by their arguments: the bitwise AND or OR of a few
 * 64-bit words in place, and lists of bytes that rank 0 gathers and answers.  They are always made on a thread that is
 * not the main one.
 * Source: Horovod 0.28.1, mpi_controller.cc (CrossRankBitwiseAnd, SendReadyTensors, RecvFinalTensors).
 *
 * A loop is known by its first AND; without a cache by its first two negotiations, which are recorded as any calls.
 * A round with the same words as the one before is counted into its FOLD; any other is written with its words.
 * Record path. */
#pragma once

#include "interpose/core/state.h"
#include "interpose/mpi/record.h"
#include "trace/writer/round.h"

struct ipo_negotiation; /* state of one communicator; never given back */

/* Whether the collective of `frame` may be a negotiation round: it is not made on the main thread. */
static inline bool ipo_negotiation_suspected(const struct ipo_frame *frame)
{
    return frame->thread->tid != ipo_process.writer.head->pid;
}

/* Before the call, with frame->comm and the rest of the signature known: marks a negotiation round (TRC_SIG_CONTROL)
 * and keeps the words that go in. */
void ipo_negotiation_describe(struct ipo_frame *frame, const uintptr_t *args);

/* Before a round that is known as one: makes the communicator a loop's, and keeps the `n` words at `words`, which go in
 * (0: a list).  False: there is no room, or they cannot be read. */
bool ipo_negotiation_begin(struct ipo_comm *comm, bool is_or, uintptr_t words, uint32_t n);
/* After such a round: writes its resulting words, or its list of `size` bytes, if they are new.  False: they cannot be
 * read. */
bool ipo_negotiation_write(struct ipo_frame *frame, enum trc_round_kind kind, uintptr_t bytes, uint64_t size);

/* After the call, on a communicator that has a negotiation.  True: it was a round, and it is recorded now. */
bool ipo_negotiation_finish(struct ipo_frame *frame, const uintptr_t *args);
