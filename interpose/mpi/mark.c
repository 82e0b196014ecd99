/* The mark of a call that longjmp, an exception or another coroutine left behind. */
#include "interpose/base/oldglibc.h"
#include "interpose/base/safe_read.h"
#include "interpose/mpi/comms.h"
#include "interpose/mpi/describe.h"

#include <string.h>
#include <sys/auxv.h>

#define MAIN_STACK ((uintptr_t)1 << 20)

/* Memory that is there for sure: the page that the calling wrapper stands on, and the first part of the main stack,
 * which the kernel keeps for it.  Any other stack may have been unmapped since. */
static bool is_there(const void *what, const struct ipo_frame *frame)
{
    const uintptr_t at = (uintptr_t)what, here = (uintptr_t)frame->address;
    return (at ^ here) >> 12 == 0 || (uintptr_t)getauxval(AT_RANDOM) - at < MAIN_STACK;
}

/* What was left soon has other frames on its place: the return address above the mark goes with the next call from the
 * same function, what the wrapper kept below it with deeper ones. */
bool ipo_mark_stands(const struct ipo_thread *thread, const struct ipo_frame *frame)
{
    uint64_t pair[2];
    const void *address;
    if (is_there(thread->mark, frame) && is_there(thread->outer, frame)) {
        memcpy(pair, thread->mark, sizeof pair);
        address = thread->outer->address;
    } else if (!ipo_safe_read((uint64_t)(uintptr_t)thread->mark, pair, sizeof pair) ||
               !ipo_safe_read((uint64_t)(uintptr_t)&thread->outer->address, &address, sizeof address)) {
        return false;
    }
    return pair[1] == thread->outer_site && address == thread->mark;
}

/* Whether the collective that was left took place, and so whether its number counts, is not known. */
void ipo_call_left(struct ipo_thread *thread)
{
    const struct trc_thread_chunk *live = thread->stream.page;
    const uint32_t inside = live->thread.inside;
    if (thread->claims)
        ipo_completion_left(thread);
    if (!inside || !(live->sigs[inside - 1].flags & TRC_SIG_COLL))
        return;
    struct ipo_comm *comm = ipo_comm_numbered(live->sigs[inside - 1].comm);
    if (comm)
        ipo_comm_doubt(comm, live->thread.inside_sequence);
}
