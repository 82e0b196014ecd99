/* The table of device operations: gpu_ops.h.  A handle is the operation's number and its slot. */
#include "interpose/process.h"
#include "interpose/gpu_ops.h"

#define SLOT_BITS 10
#define TRIES     64u /* slots that are looked at for one that may be taken */
_Static_assert(TRC_GPU_OPS == 1u << SLOT_BITS, "a slot in a handle");

struct trc_gpu_table *ipo_gpu_table;
__thread ipo_gpu_op ipo_gpu_current;
static atomic_uint next_slot;
static _Atomic uint64_t groups;

void ipo_gpu_start(void)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&begun))
        __atomic_store_n(&ipo_gpu_table, trc_writer_gpu(&ipo_process.writer), __ATOMIC_RELEASE);
}

uint64_t ipo_gpu_next_group(void)
{
    return atomic_fetch_add_explicit(&groups, 1, memory_order_relaxed) + 1;
}

static struct trc_gpu_op *slot_of(ipo_gpu_op op)
{
    if (op == 0)
        return NULL;
    struct trc_gpu_op *slot = &ipo_gpu_table->op[op & (TRC_GPU_OPS - 1)];
    return __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) == op >> SLOT_BITS ? slot : NULL;
}

const struct trc_gpu_op *ipo_gpu_op_of(ipo_gpu_op op)
{
    return slot_of(op);
}

static bool is_over(const struct trc_gpu_op *slot)
{
    uint8_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    return state == TRC_GPU_FREE || state >= TRC_GPU_COMPLETED ||
           (state == TRC_GPU_ENQUEUED && slot->flags & TRC_GPU_BLIND);
}

/* A slot that nobody has, or whose operation is over: then ours, with number 0. */
static struct trc_gpu_op *claim(struct trc_gpu_table *table)
{
    for (unsigned tries = 0; tries < TRIES; tries++) {
        unsigned at = atomic_fetch_add_explicit(&next_slot, 1, memory_order_relaxed) % TRC_GPU_OPS;
        struct trc_gpu_op *slot = &table->op[at];
        uint64_t number = __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE);
        bool ours = is_over(slot) && (number || slot->state == TRC_GPU_FREE) &&
                    __atomic_compare_exchange_n(&slot->number, &number, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
        if (__builtin_expect(ours, 1))
            return slot;
    }
    return NULL;
}

ipo_gpu_op ipo_gpu_op_begin(const struct trc_gpu_op *what)
{
    struct trc_gpu_table *table = ipo_gpu_table;
    if (!table)
        return 0;
    uint64_t number = __atomic_fetch_add(&table->head.begun, 1, __ATOMIC_RELAXED) + 1;
    struct trc_gpu_op *slot = claim(table);
    if (__builtin_expect(!slot, 0)) {
        __atomic_fetch_add(&table->head.lost, 1, __ATOMIC_RELAXED);
        return 0;
    }
    uint64_t called = what->called ? what->called : ipo_ticks();
    slot->state = TRC_GPU_CALLED; /* before all else, and never FREE in between: that would be an offer to others */
    struct trc_gpu_op fresh = *what;
    fresh.number = 0;
    fresh.called = called;
    fresh.enqueued = fresh.started = fresh.ended = 0;
    fresh.state = TRC_GPU_CALLED;
    *slot = fresh;
    __atomic_store_n(&slot->number, number, __ATOMIC_RELEASE);
    return number << SLOT_BITS | (uint64_t)(slot - table->op);
}

/* The state comes last, and only if it is a later one. */
static void advance(ipo_gpu_op op, enum trc_gpu_state to, uint64_t ticks, uint8_t how, int result)
{
    struct trc_gpu_op *slot = slot_of(op);
    if (!slot)
        return;
    uint8_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    ticks = ticks ? ticks : ipo_ticks();
    if (to == TRC_GPU_ENQUEUED && !slot->enqueued) /* it may have started before its call returned */
        slot->enqueued = ticks;
    if (state == to && how & TRC_GPU_BLIND) /* known to be on the stream; now, that no more will be known */
        __atomic_fetch_or(&slot->flags, TRC_GPU_BLIND, __ATOMIC_RELAXED);
    if (state >= to || state >= TRC_GPU_COMPLETED)
        return;
    uint64_t *at = to == TRC_GPU_ENQUEUED ? &slot->enqueued : to == TRC_GPU_STARTED ? &slot->started : &slot->ended;
    *at = ticks;
    if (how)
        __atomic_fetch_or(&slot->flags, how, __ATOMIC_RELAXED);
    if (result)
        slot->result = result;
    while (state < to && state < TRC_GPU_COMPLETED)
        if (__atomic_compare_exchange_n(&slot->state, &state, (uint8_t)to, true, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
            return;
}

void ipo_gpu_op_enqueued(ipo_gpu_op op, uint64_t ticks, uint8_t how)
{
    advance(op, TRC_GPU_ENQUEUED, ticks, how, 0);
}
void ipo_gpu_op_started(ipo_gpu_op op, uint64_t ticks, uint8_t how)
{
    advance(op, TRC_GPU_STARTED, ticks, how, 0);
}
void ipo_gpu_op_completed(ipo_gpu_op op, uint64_t ticks, uint8_t how)
{
    advance(op, TRC_GPU_COMPLETED, ticks, how, 0);
}
void ipo_gpu_op_captured(ipo_gpu_op op)
{
    advance(op, TRC_GPU_CAPTURED, 0, 0, 0);
}
void ipo_gpu_op_failed(ipo_gpu_op op, int result)
{
    advance(op, TRC_GPU_FAILED, 0, 0, result);
}

static ipo_gpu_op handle_of(unsigned slot)
{
    uint64_t number = __atomic_load_n(&ipo_gpu_table->op[slot].number, __ATOMIC_ACQUIRE);
    return number ? number << SLOT_BITS | slot : 0;
}

void ipo_gpu_ops_aborted(uint32_t comm)
{
    for (unsigned i = 0; ipo_gpu_table && i < TRC_GPU_OPS; i++)
        if (ipo_gpu_table->op[i].comm == comm)
            advance(handle_of(i), TRC_GPU_ABORTED, 0, 0, 0);
}

void ipo_gpu_async_error(uint32_t comm, uint32_t call, int result)
{
    struct trc_gpu_op what = {.comm = comm,
                              .call = call,
                              .root = -1,
                              .type = 255,
                              .op = TRC_GPU_OP_NONE,
                              .bytes = TRC_BYTES_UNKNOWN,
                              .flags = TRC_GPU_ASYNC_ERROR};
    ipo_gpu_op_failed(ipo_gpu_op_begin(&what), result);
}

ipo_gpu_op ipo_gpu_op_find(uint32_t comm, uint32_t call, uint64_t sequence)
{
    ipo_gpu_op newest = 0;
    for (unsigned i = 0; ipo_gpu_table && i < TRC_GPU_OPS; i++) {
        const struct trc_gpu_op *slot = &ipo_gpu_table->op[i];
        ipo_gpu_op op = handle_of(i);
        if (op > newest && slot->comm == comm && slot->call == call && slot->sequence == sequence)
            newest = op;
    }
    return newest;
}

ipo_gpu_op ipo_gpu_op_oldest(uint32_t comm, uint32_t call, uint64_t bytes)
{
    ipo_gpu_op oldest = 0;
    for (unsigned i = 0; ipo_gpu_table && i < TRC_GPU_OPS; i++) {
        const struct trc_gpu_op *slot = &ipo_gpu_table->op[i];
        ipo_gpu_op op = handle_of(i);
        if (op && (!oldest || op >> SLOT_BITS < oldest >> SLOT_BITS) && slot->comm == comm && slot->call == call &&
            slot->bytes == bytes && slot->state <= TRC_GPU_ENQUEUED && !(slot->flags & TRC_GPU_BY_PLUGIN))
            oldest = op;
    }
    if (oldest)
        __atomic_fetch_or(&ipo_gpu_table->op[oldest & (TRC_GPU_OPS - 1)].flags, TRC_GPU_BY_PLUGIN, __ATOMIC_RELAXED);
    return oldest;
}
