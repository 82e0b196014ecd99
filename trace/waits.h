/* Wait states: time that a rank spent inside a call only because another one was not there yet.
 * After the patterns of the same names in Scalasca (Wolf, Mohr: "Automatic performance analysis of hybrid MPI/OpenMP
 * applications", and Scalasca's online documentation of its patterns):
 *
 *   Late Sender        a receiver is inside the call that completes its receive (MPI_Recv, MPI_Wait ...) before the
 * send began.  Lost: from the begin of that call to the begin of the send, or to the call's own end. Late Receiver a
 * sender is inside the call that completes its send before the receive was posted, and the call ended after that. Lost:
 * from the begin of that call until the receive was posted. Wait at NxN        all-to-all collectives and barriers:
 * each from its begin until the last has come Late Broadcast     one-to-all: each from its begin until the root has
 * come Early Reduce       all-to-one: the root from its begin until the last has come Early Scan         rank r from
 * its begin until the last of ranks 0..r has come
 *
 * Never more than the call's own time.  A standard send of up to ANA_EAGER_BYTES whose call also waits for others
 * (MPI_Waitall, MPI_Sendrecv) never counts as held up by its receiver: every MPI sends those away at once. */
#ifndef ANA_WAITS_H
#define ANA_WAITS_H

#include "trace/job.h"
#include "trace/relations.h"

#define ANA_EAGER_BYTES 1024u

struct ana_wait_span {
    enum ana_wait_kind kind;
    size_t waiter, culprit;      /* rank indices */
    int64_t begin_ns, end_ns;    /* begin < end; begin is that of the call the waiter is in */
    const struct trc_call *call; /* that the waiter is in: MPI_Wait, MPI_Recv, MPI_Allreduce ... */
};

/* Wait states of one message: how many of out[] were filled, 0 .. 2. */
size_t ana_waits_of_message(const struct ana_message *message, struct ana_wait_span out[2]);

/* Wait states of one collective; out[] has room for instance->arrivals.  None for nonblocking and mismatched ones. */
size_t ana_waits_of_instance(const struct ana_instance *instance, struct ana_wait_span *out);

/* One call may complete many messages (MPI_Waitall): their spans begin together and overlap.  The clip counts such time
 * once: it shortens each span to what no earlier span of the same call has taken. */
struct ana_wait_clip;
struct ana_wait_clip *ana_wait_clip_new(void); /* NULL: out of memory */
void ana_wait_clip_free(struct ana_wait_clip *clip);
/* Returns false if nothing is left of the span; its begin may have moved on.  Remembers the last calls of each rank,
 * O(ranks) memory. */
bool ana_wait_clip(struct ana_wait_clip *clip, struct ana_wait_span *span);

#endif
