/* Wait states: time that a rank spent inside a call only because another one was not there yet.
 * After the patterns of the same names in Scalasca (Wolf, Mohr: "Automatic performance analysis of hybrid MPI/OpenMP
 * applications", and Scalasca's online documentation of its patterns):
 *
 *   Late Sender      A receiver is inside the call that completes its receive (MPI_Recv, MPI_Wait ...) before the send
 *                    began.  Lost: from the begin of that call to the begin of the send, or to the call's own end.
 *                    A receiver that polls without pause is in a call that began with the first poll; lost is the part
 *                    inside the polls.
 *   Late Receiver    A sender is inside the call that completes its send before the receive was posted, and that call
 *                    ended after it.  Lost: from the begin of that call until the receive was posted.
 *   Wait at NxN      all-to-all collectives and barriers: each rank, from its begin until the last has come
 *   Late Broadcast   one-to-all: each rank, from its begin until the root has come
 *   Early Reduce     all-to-one: the root, from its begin until the last has come
 *   Early Scan       rank r, from its begin until the last of ranks 0..r has come
 *   Late Neighbour   a collective of neighbours: each rank, from its begin until the last rank it gets from came
 *   Late Post        MPI_Win_start or _complete, from its begin until the last target has posted, if it ended after
 *                    that
 *   Late Complete    MPI_Win_wait, from its begin until the last origin has begun MPI_Win_complete
 *   Late Launch      a kernel of a collective of NCCL's waits on its GPU: from its begin until the rank that came last
 *                    called for its own; no call of the waiter's lasts longer by it
 *   Of a nonblocking one it is the call that completes it, until the last rank that it needs had begun it.
 *
 * Never more than the call's own time.  A standard send of up to ANA_EAGER_BYTES whose call also waits for others
 * (MPI_Waitall, MPI_Sendrecv) never counts as held up by its receiver: every MPI sends those away at once. */
#pragma once

#include "trace/relations/relations.h"
#include "trace/relations/wait_kinds.def"
#include "trace/util/times.h"

#define ANA_EAGER_BYTES 1024u

#define ANA_WAIT_KIND_ID(ID, key, name, does, whom, where, help) ANA_LATE_##ID,
#define ANA_ANY_RANK                                             SIZE_MAX /* waiter or culprit of a sum over several */

enum ana_wait_kind { ANA_WAIT_KIND_ROWS(ANA_WAIT_KIND_ID) ANA_WAIT_KINDS };
/* Place of a wait. */
enum ana_wait_where {
    ANA_WAIT_MESSAGE,
    ANA_WAIT_COLLECTIVE,
    ANA_WAIT_EPOCH,
    ANA_WAIT_DEVICE /* not the rank waits, but its GPU */
};
/* The words for each kind, as wait_kinds.def explains them; static. */
extern const struct ana_wait_words {
    const char *key, *name, *does, *does_whom /* "sends late to" */, *help;
    enum ana_wait_where where;
} ana_wait_words[ANA_WAIT_KINDS];

struct ana_wait_span {
    enum ana_wait_kind kind;
    size_t waiter, culprit;          /* rank indices */
    int64_t begin_ns, end_ns;        /* begin < end; begin of the call the waiter is in */
    const struct trc_call *call;     /* call the waiter is in: MPI_Wait, MPI_Recv, MPI_Allreduce ... */
    int64_t came_ns;                 /* begin of the culprit's call that was waited for */
    uint32_t waiter_step, came_step; /* step numbers of both calls (ana_event.step) */
};

/* The time that a message's receiver waited for its sender.  False: it did not wait. */
static inline bool ana_late_sender(const struct ana_message *m, struct ana_wait_span *out)
{
    if (m->recv_wait_begin_ns == INT64_MIN || m->send_begin_ns <= m->recv_wait_begin_ns)
        return false;
    int64_t end = ana_earlier(m->send_begin_ns, m->recv_complete_ns);
    *out = (struct ana_wait_span){ANA_LATE_SENDER,   m->destination,   m->source,         m->recv_wait_begin_ns, end,
                                  m->recv_wait_call, m->send_begin_ns, m->recv_wait_step, m->send_step};
    return end > m->recv_wait_begin_ns;
}
/* The time that a message's sender was held up by its receiver.  False: it was not. */
static inline bool ana_late_receiver(const struct ana_message *m, struct ana_wait_span *out)
{
    if (m->recv_begin_ns <= m->send_wait_begin_ns || m->send_complete_ns == INT64_MIN)
        return false;
    /* Completed by the call that starts it, and nothing else to wait for in there: what lasts was the message. */
    bool blocking = m->send_wait_begin_ns == m->send_begin_ns && m->send_call->opclass != TRC_OP_SENDRECV;
    bool may_be_held = m->synchronous || blocking || m->bytes > ANA_EAGER_BYTES;
    if (!may_be_held || (!m->synchronous && m->send_complete_ns <= m->recv_begin_ns))
        return false;
    int64_t end = ana_earlier(m->recv_begin_ns, m->send_complete_ns);
    *out = (struct ana_wait_span){ANA_LATE_RECEIVER, m->source,        m->destination,    m->send_wait_begin_ns, end,
                                  m->send_wait_call, m->recv_begin_ns, m->send_wait_step, m->recv_step};
    return end > m->send_wait_begin_ns;
}

/* The time that a rank waited, in the call that completes a nonblocking collective, for another to begin it.  False: it
 * did not wait. */
static inline bool ana_late_to_begin(const struct ana_joined *j, struct ana_wait_span *out)
{
    int64_t end = ana_earlier(j->needed.begin_ns, j->end_ns);
    *out = (struct ana_wait_span){ANA_LATE_IN_COLLECTIVE, j->index, j->needed.index, j->begin_ns, end, j->call,
                                  j->needed.begin_ns,     j->step,  j->needed.step};
    return j->needed.index != j->index && end > j->begin_ns;
}

/* The time that a rank waited for another's part of an epoch, or for a neighbour.  False: it did not wait. */
static inline bool ana_late_partner(const struct ana_need *n, struct ana_wait_span *out)
{
    bool epoch = n->call->opclass != TRC_OP_NEIGHBOR;
    *out = (struct ana_wait_span){epoch ? ANA_LATE_IN_EPOCH : ANA_LATE_IN_COLLECTIVE,
                                  n->waiter.index,
                                  n->needed.index,
                                  n->waiter.begin_ns,
                                  n->needed.begin_ns,
                                  n->call,
                                  n->needed.begin_ns,
                                  n->waiter.step,
                                  n->needed.step};
    return n->needed.begin_ns > n->waiter.begin_ns && n->needed.begin_ns <= n->waiter.end_ns;
}

/* The wait states of one collective; returns how many of out[] were filled, at most instance->arrivals.  Nonblocking
 * and mismatched ones have none. */
size_t ana_waits_of_instance(const struct ana_instance *instance, struct ana_wait_span *out);

/* One call may complete many messages (MPI_Waitall): their spans begin together and overlap.  The clip counts such
 * time once: it shortens each span to the part that no earlier span of the same call has taken. */
#define ANA_WAIT_CALLS 16 /* calls of one rank that are remembered */
struct ana_counted_wait {
    int64_t begin_ns, until_ns;
};
struct ana_waiter {
    struct ana_counted_wait call[ANA_WAIT_CALLS]; /* a ring; unused ones begin at INT64_MIN */
    uint32_t next;
    int64_t newest_ns; /* the latest begin there was */
};
struct ana_wait_clip {
    struct ana_waiter *waiter; /* waiters by rank index */
    size_t waiters;
};
/* A clip that remembers no call yet; NULL: out of memory.  Free with ana_wait_clip_free. */
struct ana_wait_clip *ana_wait_clip_new(void);
/* Frees it; NULL is none. */
void ana_wait_clip_free(struct ana_wait_clip *clip);
/* The slow path of ana_wait_clip: for a call that is not later than all that are remembered, or a rank not seen yet. */
bool ana_wait_clip_again(struct ana_wait_clip *clip, struct ana_wait_span *span);
/* Shortens a span to the part that no earlier span of the same call has taken: its begin may move on.  Returns false
 * if nothing is left.  Remembers the last calls of each rank: O(ranks) memory. */
static inline bool ana_wait_clip(struct ana_wait_clip *clip, struct ana_wait_span *span)
{
    struct ana_waiter *waiter = span->waiter < clip->waiters ? &clip->waiter[span->waiter] : NULL;
    if (!waiter || span->begin_ns <= waiter->newest_ns)
        return ana_wait_clip_again(clip, span);
    waiter->newest_ns = span->begin_ns; /* later than all others: the usual case */
    waiter->call[waiter->next++ % ANA_WAIT_CALLS] = (struct ana_counted_wait){span->begin_ns, span->end_ns};
    return true;
}
