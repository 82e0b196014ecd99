/* Room for chunks: blocks are made ahead of need, by our own thread as a rule. */
#include "trace/writer/stream.h"
#include "trace/writer/now.h"
#include "trace/writer/system.h"

#include <errno.h>

#define SMALL       16u         /* blocks of a file that is to stay small */
#define READY_LEAST 4u          /* blocks ahead of need: of a small one; */
#define READY_TIMES 4u          /* multiple of the blocks in use of a larger one: the next two chunks, which double; */
#define READY_MOST  256u        /* upper limit, unless it is less than a second's need */
#define APART_READY 1024u       /* blocks ahead if the program's threads make none themselves */
#define SECOND      1000000000u /* ns */
#define CLOSED      (1u << 30)  /* value of `growing`: nothing may be allocated any more */

unsigned trc_writer_ready(const struct trc_writer *writer)
{
    unsigned allocated = atomic_load(&writer->allocated), next = atomic_load(&writer->next_block);
    return next < allocated ? allocated - next : 0;
}

static bool begin_growth(struct trc_writer *writer)
{
    unsigned now = atomic_load(&writer->growing);
    while (!(now & CLOSED))
        if (atomic_compare_exchange_weak(&writer->growing, &now, now + 1))
            return true;
    return false;
}

static void end_growth(struct trc_writer *writer)
{
    atomic_fetch_sub(&writer->growing, 1);
}

static const char *why_none(int error)
{
    return error == EBADF                                         ? TRC_ERROR_TAKEN
           : error == EPERM || error == EACCES || error == ENOSYS ? TRC_ERROR_REFUSED
                                                                  : TRC_ERROR_FULL;
}

bool trc_writer_grow(struct trc_writer *writer, unsigned ready)
{
    if (atomic_load(&writer->stopped) || !begin_growth(writer))
        return false;
    unsigned allocated = atomic_load(&writer->allocated), limit = atomic_load(&writer->limit),
             have = trc_writer_ready(writer), wanted = have < ready ? allocated + ready - have : allocated;
    wanted = wanted < limit ? wanted : limit;
    bool short_of = false, grown = false;
    for (unsigned step = wanted > allocated ? wanted - allocated : 0; step;) {
        int error = trc_writer_allocate(writer, allocated + step);
        if (error && !short_of)
            trc_writer_set_error(writer, error, why_none(error));
        short_of |= error != 0;
        grown |= error == 0;
        allocated = atomic_load(&writer->allocated);
        step = short_of && step > 1 ? step - step / 2 : 0; /* less than a step is left: the last of a full disk */
    }
    if (short_of) {
        /* The blocks that there are stay in use: old chunks are recycled from now on. */
        atomic_store(&writer->limit, allocated);
        __atomic_store_n(&writer->head->block_limit, allocated, __ATOMIC_RELEASE);
    }
    end_growth(writer);
    return grown;
}

bool trc_writer_grow_here(struct trc_writer *writer, unsigned ready)
{
    if (atomic_load(&writer->apart) || !trc_writer_grow(writer, ready))
        return false;
    __atomic_fetch_add(&writer->head->inline_growths, 1, __ATOMIC_RELAXED);
    return true;
}

void trc_writer_wake(struct trc_writer *writer)
{
    atomic_fetch_add(&writer->asked, 1);
    trc_sys_wake(&writer->asked, 1);
}

void trc_writer_runs_low(struct trc_writer *writer)
{
    unsigned low = atomic_load_explicit(&writer->low, memory_order_relaxed),
             least = atomic_load(&writer->next_block) + low;
    if (low && atomic_load(&writer->populated) < least && atomic_compare_exchange_strong(&writer->low, &low, 0))
        trc_writer_wake(writer);
}

/* Number of blocks that a second takes: the last whole second's, or this one's so far. */
static unsigned blocks_a_second(struct trc_writer *writer, unsigned used)
{
    uint64_t now = trc_now_ns();
    unsigned since = used - writer->second_from;
    if (now - writer->second_began >= SECOND) {
        writer->second_took = since;
        writer->second_began = now;
        writer->second_from = used;
    }
    return since > writer->second_took ? since : writer->second_took;
}

void trc_writer_prepare_room(struct trc_writer *writer)
{
    if (atomic_load(&writer->trimmed))
        return;
    unsigned used = atomic_load(&writer->next_block), takes = blocks_a_second(writer, used),
             usual = used < SMALL                      ? READY_LEAST
                     : used < READY_MOST / READY_TIMES ? used * READY_TIMES
                                                       : READY_MOST;
    if (atomic_load(&writer->apart))
        usual = used < SMALL ? READY_MOST : APART_READY;
    unsigned ready = used < SMALL || takes < usual / 2 ? usual : 2 * takes;
    if (trc_writer_ready(writer) < ready / 2)
        trc_writer_grow(writer, ready);
    trc_writer_populate(writer, ready);
    bool more = atomic_load(&writer->allocated) < atomic_load(&writer->limit);
    atomic_store(&writer->low, more ? ready / 2 : 0);
}

void trc_writer_alloc_all(struct trc_writer *writer)
{
    trc_writer_grow(writer, writer->blocks_most);
    trc_writer_populate(writer, writer->blocks_most);
    atomic_store(&writer->low, 0);
}

void trc_writer_trim(struct trc_writer *writer)
{
    unsigned nobody = 0;
    if (atomic_load(&writer->stopped) || !atomic_compare_exchange_strong(&writer->growing, &nobody, CLOSED))
        return; /* a second end, of sessions that were begun after the first; or somebody is allocating */
    struct trc_head *head = writer->head;
    /* All blocks count as handed out from now on, so that nobody is given one that is cut off. */
    unsigned used = atomic_exchange(&writer->next_block, UINT32_MAX / 2), allocated = atomic_load(&writer->allocated);
    if (used > allocated)
        used = allocated;
    atomic_store(&writer->limit, used);
    atomic_store(&writer->allocated, used);
    head->block_limit = used;
    __atomic_store_n(&head->blocks_allocated, used, __ATOMIC_RELEASE);
    head->blocks_used = used;
    int error = trc_writer_cut(writer, used, allocated);
    if (error && error != EBADF)
        head->error_errno = error; /* the file stays longer than needed: no loss */
    atomic_store(&writer->trimmed, true);
}

bool trc_writer_untrim(struct trc_writer *writer)
{
    if (!trc_writer_has_file(writer) || !atomic_exchange(&writer->trimmed, false))
        return false;
    atomic_store(&writer->limit, writer->blocks_most);
    writer->head->block_limit = writer->blocks_most;
    atomic_store(&writer->populated, 0);
    atomic_store(&writer->next_block, atomic_load(&writer->allocated));
    atomic_store(&writer->growing, 0);
    trc_writer_prepare_room(writer);
    return true;
}
