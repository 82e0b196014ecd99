/* The mark of a call that was left by a longjmp, an exception or another coroutine. */
#include "interpose/base/oldglibc.h"
#include "interpose/arch/arch.h"
#include "interpose/base/safe_read.h"
#include "interpose/mpi/comms.h"
#include "interpose/mpi/describe.h"

#include <string.h>
#include <sys/auxv.h>

#define MAIN_STACK ((uintptr_t)1 << 20)

/* Whether memory is mapped for sure: the page of the calling wrapper's frame, and the first part of the main stack,
 * which the kernel reserves.  Any other stack may have been unmapped. */
static bool is_there(const void *what, const struct ipo_frame *frame)
{
    const uintptr_t at = (uintptr_t)what, here = (uintptr_t)frame->address;
    return (at ^ here) >> 12 == 0 || (uintptr_t)getauxval(AT_RANDOM) - at < MAIN_STACK;
}

/* A call that was left is soon overwritten by other frames: the return address above the mark by the next call of the
 * same function, the wrapper's data below it by deeper calls. */
bool ipo_mark_stands(const struct ipo_thread *thread, const struct ipo_frame *frame)
{
    uint64_t word[IPO_FRAME_WORDS];
    const void *address;
    if (is_there(thread->mark, frame) && is_there(thread->outer, frame)) {
        memcpy(word, thread->mark, sizeof word);
        address = thread->outer->address;
    } else if (!ipo_safe_read((uint64_t)(uintptr_t)thread->mark, word, sizeof word) ||
               !ipo_safe_read((uint64_t)(uintptr_t)&thread->outer->address, &address, sizeof address)) {
        return false;
    }
    return word[IPO_FRAME_RETURN] == thread->outer_site && address == thread->mark;
}

/* Nobody knows whether a collective that was left took place: the order on its communicator is in doubt. */
void ipo_call_left(struct ipo_thread *thread)
{
    const struct trc_page *live = thread->stream.page;
    const uint32_t inside = live->thread.inside;
    if (thread->claims)
        ipo_completion_left(thread);
    const struct trc_sig *sig = inside ? trc_stream_sig(&thread->stream, inside - 1) : NULL;
    if (!sig || !(sig->flags & TRC_SIG_COLL))
        return;
    struct ipo_comm *comm = ipo_comm_numbered(sig->comm);
    if (comm)
        ipo_comm_doubt(comm, live->thread.inside_sequence);
}
