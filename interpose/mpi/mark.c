/* The mark of a call that was left by a longjmp, an exception or another coroutine. */
#include "interpose/base/safe_read.h"
#include "interpose/mpi/comms.h"
#include "interpose/mpi/describe.h"

#include <string.h>
#include <sys/auxv.h>

#define MAIN_STACK   ((uintptr_t)1 << 20)
#define WRAPPER_MOST 65536u /* bytes of a wrapper's stack frame */

/* Whether memory is mapped for sure: the page of the calling wrapper's frame, and the first part of the main stack,
 * which the kernel reserves.  Any other stack may have been unmapped. */
static bool is_there(uint64_t at, const struct ipo_frame *frame)
{
    const uintptr_t here = (uintptr_t)frame->address;
    return (at ^ here) >> 12 == 0 || (uintptr_t)getauxval(AT_RANDOM) - at < MAIN_STACK;
}

/* Reads words of a stack, one or a pair that does not lie on two pages. */
static inline __attribute__((always_inline)) bool read_words(uint64_t at, const struct ipo_frame *frame, uint64_t *out,
                                                             size_t n)
{
    if (!is_there(at, frame))
        return ipo_safe_read(at, out, n * sizeof *out);
    memcpy(out, (const void *)(uintptr_t)at, n * sizeof *out);
    return true;
}

/* A call that was left is soon overwritten by other frames: the return address above its stack frame by the next call
 * of the same function, the wrapper's data below it by deeper calls. */
bool ipo_mark_is_valid(const struct ipo_thread *thread, const struct ipo_frame *frame)
{
    const uint64_t outer = (uintptr_t)thread->outer;
    uint64_t mark[2], site; /* the stack frame's address and the thread; the frame's return address */
    return read_words(outer, frame, mark, 2) && mark[1] == (uintptr_t)thread && mark[0] - outer < WRAPPER_MOST &&
           read_words(mark[0] + IPO_FRAME_RETURN * sizeof site, frame, &site, 1) && site == thread->outer_site;
}
_Static_assert(offsetof(struct ipo_frame, address) == 0 && offsetof(struct ipo_frame, thread) == 8, "the mark's words");

/* Nobody knows whether a collective that was left took place: the order on its communicator is in doubt. */
void ipo_call_left(struct ipo_thread *thread)
{
    struct trc_page *live = thread->stream.page;
    const uint32_t inside = live->thread.inside;
    live->thread.nested = 0;
    if (thread->claims)
        ipo_completion_left(thread);
    const struct trc_sig *sig = inside ? trc_stream_sig(&thread->stream, inside - 1) : NULL;
    if (!sig || !(sig->flags & TRC_SIG_COLL))
        return;
    struct ipo_comm *comm = ipo_comm_numbered(sig->comm);
    if (comm)
        ipo_comm_doubt(comm, live->thread.inside_sequence);
}
