/* The table of device operations: gpu_ops.h.  A handle is the operation's number and its slot. */
#include "interpose/core/state.h"
#include "interpose/cuda/gpu_ops.h"

#include <sched.h>

#define SLOT_BITS 10
#define TRIES     64u /* slots that are tried for a free one */
_Static_assert(TRC_GPU_OPS == 1u << SLOT_BITS, "a slot in a handle");

struct trc_gpu_table *ipo_gpu_table;
__thread ipo_gpu_op ipo_gpu_current;
static atomic_uint next_slot;
static _Atomic uint64_t groups;

/* A word for each slot: number and state of its operation.  A writer holds the slot by BUSY for some ten stores, so
 * that it is not given to another operation.  BLIND: the operation counts as over when it is enqueued.  DUE,
 * DUE_BLIND, DUE_RESULT: a later state that another thread left there; the holder sets it. */
static _Atomic uint64_t words[TRC_GPU_OPS];
enum { STATE = 0x0f, BLIND = 0x10, BUSY = 0x20, DUE_SHIFT = 6, DUE = 0x3c0, DUE_BLIND = 0x400, RESULT_SHIFT = 11 };
enum { RESULT_MOST = 0xff, DUE_RESULT = RESULT_MOST << RESULT_SHIFT, NUMBER_SHIFT = 19 };
#define SPINS  100
#define YIELDS 1000 /* the holder was interrupted */

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

static uint32_t find_slot(ipo_gpu_op op)
{
    return (uint32_t)(op & (TRC_GPU_OPS - 1));
}

const struct trc_gpu_op *ipo_gpu_op_of(ipo_gpu_op op)
{
    if (op == 0)
        return NULL;
    uint64_t word = atomic_load_explicit(&words[find_slot(op)], memory_order_acquire);
    return word >> NUMBER_SHIFT == op >> SLOT_BITS ? &ipo_gpu_table->op[find_slot(op)] : NULL;
}

static bool is_over(uint64_t word)
{
    uint64_t state = word & STATE;
    return !(word & BUSY) && (state == TRC_GPU_FREE || state >= TRC_GPU_COMPLETED || word & BLIND);
}

/* Reserves a slot that is free or whose operation is over. */
static uint32_t claim_slot(void)
{
    for (unsigned tries = 0; tries < TRIES; tries++) {
        uint32_t at = atomic_fetch_add_explicit(&next_slot, 1, memory_order_relaxed) % TRC_GPU_OPS;
        uint64_t word = atomic_load_explicit(&words[at], memory_order_relaxed);
        if (__builtin_expect(is_over(word) && atomic_compare_exchange_strong(&words[at], &word, BUSY), 1))
            return at;
    }
    return TRC_GPU_OPS;
}

ipo_gpu_op ipo_gpu_op_begin(const struct trc_gpu_op *what)
{
    struct trc_gpu_table *table = ipo_gpu_table;
    if (!table)
        return 0;
    uint64_t number = __atomic_fetch_add(&table->head.begun, 1, __ATOMIC_RELAXED) + 1;
    uint32_t at = claim_slot();
    if (__builtin_expect(at == TRC_GPU_OPS, 0)) {
        __atomic_fetch_add(&table->head.lost, 1, __ATOMIC_RELAXED);
        return 0;
    }
    struct trc_gpu_op *slot = &table->op[at];
    __atomic_store_n(&slot->number, 0, __ATOMIC_RELEASE);
    atomic_thread_fence(memory_order_release); /* a reader of the stores below must see that the old number is gone */
    *slot = *what;
    slot->called = what->called ? what->called : ipo_ticks();
    slot->state = TRC_GPU_CALLED;
    __atomic_store_n(&slot->number, number, __ATOMIC_RELEASE);
    atomic_store_explicit(&words[at], number << NUMBER_SHIFT | TRC_GPU_CALLED, memory_order_release);
    return number << SLOT_BITS | at;
}

static __attribute__((noinline, cold)) bool hold_slot_slow(ipo_gpu_op op, uint64_t *word)
{
    _Atomic uint64_t *of = &words[find_slot(op)];
    for (unsigned tries = 0; *word >> NUMBER_SHIFT == op >> SLOT_BITS && tries < SPINS + YIELDS; tries++) {
        if (!(*word & BUSY) && atomic_compare_exchange_weak(of, word, *word | BUSY))
            return true;
        if (tries > SPINS)
            sched_yield();
        *word = atomic_load_explicit(of, memory_order_relaxed);
    }
    return false;
}

/* Holds the slot of an operation.  *word: its word before.  False: the slot belongs to another operation. */
static inline bool hold_slot(ipo_gpu_op op, uint64_t *word)
{
    _Atomic uint64_t *of = &words[find_slot(op)];
    *word = atomic_load_explicit(of, memory_order_relaxed);
    if (op == 0 || *word >> NUMBER_SHIFT != op >> SLOT_BITS)
        return false;
    bool ours = !(*word & BUSY) && atomic_compare_exchange_strong(of, word, *word | BUSY);
    return __builtin_expect(ours, 1) || hold_slot_slow(op, word);
}

/* Sets a state of an operation that is held; returns its new word.  In the file the state is written last, and only
 * a later one. */
static inline __attribute__((always_inline)) uint64_t set_state(ipo_gpu_op op, uint64_t word, enum trc_gpu_state to,
                                                                uint64_t ticks, uint8_t how, int result)
{
    struct trc_gpu_op *slot = &ipo_gpu_table->op[find_slot(op)];
    enum trc_gpu_state state = (enum trc_gpu_state)(word & STATE);
    ticks = ticks ? ticks : ipo_ticks();
    if (to == TRC_GPU_ENQUEUED && !slot->enqueued) /* it may have started before its call returned */
        slot->enqueued = ticks;
    if (state < to && state < TRC_GPU_COMPLETED) {
        if (to == TRC_GPU_STARTED)
            slot->started = ticks;
        else if (to >= TRC_GPU_COMPLETED)
            slot->ended = ticks;
        slot->flags |= how;
        if (result)
            slot->result = result;
        __atomic_store_n(&slot->state, (uint8_t)to, __ATOMIC_RELEASE);
        state = to;
    } else if (state == to && how & TRC_GPU_BLIND) { /* enqueued before; now no later state will be known */
        slot->flags |= TRC_GPU_BLIND;
    }
    bool blind = state == TRC_GPU_ENQUEUED && slot->flags & TRC_GPU_BLIND;
    return op >> SLOT_BITS << NUMBER_SHIFT | state | (blind ? BLIND : 0);
}

/* Sets the states that others left meanwhile, with an approximate time, and releases the slot. */
static __attribute__((noinline, cold)) void release_slot_slow(ipo_gpu_op op, uint64_t word)
{
    _Atomic uint64_t *of = &words[find_slot(op)];
    uint64_t there = atomic_load_explicit(of, memory_order_relaxed);
    do {
        enum trc_gpu_state due = (enum trc_gpu_state)((there & DUE) >> DUE_SHIFT);
        bool blind = due == TRC_GPU_ENQUEUED && there & DUE_BLIND;
        int result = due == TRC_GPU_FAILED ? (int)((there & DUE_RESULT) >> RESULT_SHIFT) : 0;
        word = set_state(op, word, due, 0, (uint8_t)(TRC_GPU_APPROXIMATE | (blind ? TRC_GPU_BLIND : 0)), result);
    } while (!atomic_compare_exchange_weak_explicit(of, &there, word, memory_order_release, memory_order_relaxed));
}

/* Releases the slot.  `was`: its word while it was held; `word`: its new word. */
static inline void release_slot(ipo_gpu_op op, uint64_t was, uint64_t word)
{
    uint64_t held = was | BUSY;
    if (__builtin_expect(!atomic_compare_exchange_strong_explicit(&words[find_slot(op)], &held, word,
                                                                  memory_order_release, memory_order_relaxed),
                         0))
        release_slot_slow(op, word);
}

/* Leaves a state with the holder of the slot.  False: nobody holds it any more, or it has another operation.  A
 * result that does not fit into the word is lost; NCCL has about ten. */
static bool leave_word(ipo_gpu_op op, enum trc_gpu_state to, uint8_t how, int result)
{
    _Atomic uint64_t *of = &words[find_slot(op)];
    uint64_t there = atomic_load_explicit(of, memory_order_relaxed), word;
    do {
        if (!(there & BUSY) || there >> NUMBER_SHIFT != op >> SLOT_BITS)
            return false;
        uint64_t due = (there & DUE) >> DUE_SHIFT;
        word = (there & ~(uint64_t)DUE) | (due > to ? due : to) << DUE_SHIFT | (how & TRC_GPU_BLIND ? DUE_BLIND : 0);
        if (!(there & DUE_RESULT) && result > 0 && result <= RESULT_MOST)
            word |= (uint64_t)result << RESULT_SHIFT;
    } while (!atomic_compare_exchange_weak(of, &there, word));
    return true;
}

static void advance_state(ipo_gpu_op op, enum trc_gpu_state to, uint64_t ticks, uint8_t how, int result)
{
    uint64_t word;
    if (!ipo_gpu_table)
        return;
    while (!hold_slot(op, &word))
        if (op == 0 || word >> NUMBER_SHIFT != op >> SLOT_BITS || leave_word(op, to, how, result))
            return;
    release_slot(op, word, set_state(op, word, to, ticks, how, result));
}

void ipo_gpu_op_enqueued(ipo_gpu_op op, uint64_t ticks, uint8_t how)
{
    advance_state(op, TRC_GPU_ENQUEUED, ticks, how, 0);
}
void ipo_gpu_op_started(ipo_gpu_op op, uint64_t ticks, uint8_t how)
{
    advance_state(op, TRC_GPU_STARTED, ticks, how, 0);
}
void ipo_gpu_op_completed(ipo_gpu_op op, uint64_t ticks, uint8_t how)
{
    advance_state(op, TRC_GPU_COMPLETED, ticks, how, 0);
}
void ipo_gpu_op_captured(ipo_gpu_op op)
{
    advance_state(op, TRC_GPU_CAPTURED, 0, 0, 0);
}
void ipo_gpu_op_lost(ipo_gpu_op op)
{
    const struct trc_gpu_op *slot = ipo_gpu_op_of(op);
    if (slot && __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) < TRC_GPU_STARTED)
        advance_state(op, TRC_GPU_ENQUEUED, 0, TRC_GPU_BLIND, 0);
    else
        advance_state(op, TRC_GPU_ABORTED, 0, 0, 0);
}
void ipo_gpu_op_failed(ipo_gpu_op op, int result)
{
    advance_state(op, TRC_GPU_FAILED, 0, 0, result);
}

static ipo_gpu_op make_handle(unsigned slot)
{
    uint64_t number = atomic_load_explicit(&words[slot], memory_order_acquire) >> NUMBER_SHIFT;
    return number ? number << SLOT_BITS | slot : 0;
}

void ipo_gpu_ops_aborted(uint32_t comm)
{
    for (unsigned i = 0; ipo_gpu_table && i < TRC_GPU_OPS; i++) {
        ipo_gpu_op op = make_handle(i); /* before the check, so that no other operation is set */
        if (ipo_gpu_table->op[i].comm == comm)
            advance_state(op, TRC_GPU_ABORTED, 0, 0, 0);
    }
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

ipo_gpu_op ipo_gpu_op_oldest(uint32_t comm, uint32_t call, uint64_t bytes)
{
    ipo_gpu_op oldest = 0;
    for (unsigned i = 0; ipo_gpu_table && i < TRC_GPU_OPS; i++) {
        const struct trc_gpu_op *slot = &ipo_gpu_table->op[i];
        ipo_gpu_op op = make_handle(i);
        if (op && (!oldest || op >> SLOT_BITS < oldest >> SLOT_BITS) && slot->comm == comm && slot->call == call &&
            slot->bytes == bytes && slot->state <= TRC_GPU_ENQUEUED && !(slot->flags & TRC_GPU_BY_PLUGIN))
            oldest = op;
    }
    uint64_t word;
    if (!hold_slot(oldest, &word))
        return 0;
    ipo_gpu_table->op[find_slot(oldest)].flags |= TRC_GPU_BY_PLUGIN;
    release_slot(oldest, word, word);
    return oldest;
}
