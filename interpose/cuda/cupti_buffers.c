/* The buffers that CUPTI fills, and the times in them. */
#include "interpose/cuda/cupti.h"
#include "interpose/cuda/cupti_inside.h"
#include "interpose/core/state.h"
#include "trace/writer/now.h"

#include <sys/mman.h>

/* ---- time: CUPTI's, nanoseconds, to ticks of the trace by two samples */

struct sample {
    uint64_t time, ticks;
};
static struct sample first, latest;
static bool clock_is_ours;

static struct sample sample_clocks(void)
{
    struct sample best = {0};
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t time = 0, before = ipo_ticks();
        if (clock_is_ours)
            time = trc_now_ns();
        else
            ipo_cupti.GetTimestamp(&time);
        uint64_t after = ipo_ticks();
        if (after - before < narrowest) {
            narrowest = after - before;
            best = (struct sample){time, before + (after - before) / 2};
        }
    }
    return best;
}

static uint64_t convert_time(uint64_t time)
{
    double rate =
        latest.time > first.time ? (double)(latest.ticks - first.ticks) / (double)(latest.time - first.time) : 1;
    double ticks = (double)((int64_t)(time - latest.time)) * rate;
    uint64_t at = latest.ticks + (uint64_t)(int64_t)ticks;
    return (int64_t)at < 0 ? 0 : at;
}

/* ---- buffers */

#define BLOCK (256u << 10) /* small: one kernel that does not end holds back all of its buffer */
#define KEPT  8

struct block {
    struct block *next, *self;
    size_t valid;
    uint8_t reserved[40];
    uint8_t data[];
};
_Static_assert(sizeof(struct block) == 64, "records lie aligned");
static _Atomic(struct block *) unused[KEPT], completed;

static void provide_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
    struct block *block = NULL;
    for (int i = 0; i < KEPT && !block; i++)
        block = atomic_exchange(&unused[i], NULL);
    if (!block) {
        void *fresh = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        block = fresh == MAP_FAILED ? NULL : fresh;
    }
    if (block)
        block->self = block;
    *buffer = block ? block->data : NULL;
    *size = block ? BLOCK - sizeof *block : 0;
    *records = 0; /* limit 0: all records that fit */
}

static void queue_block(struct block *block)
{
    for (int i = 0; i < KEPT && block; i++)
        block = atomic_exchange(&unused[i], block);
    if (block)
        munmap(block, BLOCK);
}

/* The block of a buffer; NULL: another profiler's, from before our functions replaced its own.  Our buffers never
 * begin at the start of a page, so the bytes before any that may be ours can be read. */
static struct block *find_block(uint8_t *buffer)
{
    if (!buffer)
        return NULL;
    struct block *block = (struct block *)(void *)(buffer - sizeof *block);
    return (uintptr_t)block % 4096 == 0 && block->self == block ? block : NULL;
}

/* Called on a thread of CUPTI, or on one that flushes. */
static void complete_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)size;
    struct block *block = find_block(buffer);
    if (!block)
        return;
    size_t dropped = 0;
    if (ipo_cupti.ActivityGetNumDroppedRecords(context, stream, &dropped) == 0 && dropped)
        __atomic_fetch_add(&ipo_process.writer.head->lost_records, dropped, __ATOMIC_RELAXED);
    block->valid = valid;
    block->next = atomic_load(&completed);
    while (!atomic_compare_exchange_weak(&completed, &block->next, block))
        ;
}

void ipo_cupti_write_completed(void)
{
    static const struct ipo_device_times times = {convert_time};
    struct block *newest = atomic_exchange(&completed, NULL), *block = NULL;
    if (!newest)
        return;
    latest = sample_clocks();
    while (newest) { /* keeps the order of arrival */
        struct block *next = newest->next;
        newest->next = block;
        block = newest;
        newest = next;
    }
    while (block) {
        struct block *next = block->next;
        void *record = NULL;
        while (ipo_cupti.ActivityGetNextRecord(block->data, block->valid, &record) == 0)
            ipo_device_record(record, &times);
        queue_block(block);
        block = next;
    }
    ipo_device_write();
}

bool ipo_cupti_is_ours(uint8_t *buffer)
{
    return find_block(buffer) != NULL;
}

void ipo_cupti_release_buffer(uint8_t *buffer)
{
    queue_block(find_block(buffer));
}

/* ---- beginning and end */

static atomic_bool gave;

bool ipo_cupti_register_buffers(void)
{
    clock_is_ours =
        ipo_cupti.ActivityRegisterTimestampCallback && ipo_cupti.ActivityRegisterTimestampCallback(trc_now_ns) == 0;
    if (ipo_cupti.ActivityRegisterCallbacks(provide_buffer, complete_buffer))
        return false;
    atomic_store(&gave, true);
    first = latest = sample_clocks();
    return true;
}

bool ipo_cupti_gave_buffers(void)
{
    return atomic_load(&gave);
}

void ipo_cupti_put_clock_back(void)
{
    if (clock_is_ours)
        ipo_cupti.ActivityRegisterTimestampCallback(trc_wall_ns);
}
