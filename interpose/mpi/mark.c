/* The mark of a call that longjmp, an exception or another coroutine left behind. */
#include "interpose/base/oldglibc.h"
#include "interpose/base/peek.h"
#include "interpose/mpi/record.h"

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
    } else if (!ipo_peek((uint64_t)(uintptr_t)thread->mark, pair, sizeof pair) ||
               !ipo_peek((uint64_t)(uintptr_t)&thread->outer->address, &address, sizeof address)) {
        return false;
    }
    return pair[1] == thread->outer_site && address == thread->mark;
}
