/* The table of operations under threads that are interrupted in the midst of it: nothing that was said is lost, and no
 * state goes back. */
#include "interpose/cuda/gpu_ops.c" /* not in a library that tests link */
#include "tests/support/check.h"
#include <pthread.h>
#include <stdlib.h>

struct ipo_process ipo_process;
bool ipo_clock_is_tsc;
uint64_t ipo_ticks_slow(void)
{
    static _Atomic uint64_t now;
    return atomic_fetch_add(&now, 1) + 1;
}

static ipo_gpu_op begin(void)
{
    return ipo_gpu_op_begin(&(struct trc_gpu_op){.comm = 1, .call = 2});
}

static enum trc_gpu_state state_of(ipo_gpu_op op)
{
    return (enum trc_gpu_state)ipo_gpu_table->op[find_slot(op)].state;
}

/* Somebody holds the slot and does not get on while `say` is said by another. */
static ipo_gpu_op while_held(void (*say_it)(ipo_gpu_op op, uint64_t ticks, uint8_t how), uint8_t how)
{
    ipo_gpu_op op = begin();
    uint64_t word;
    CHECK(hold_slot(op, &word), "a slot that nobody holds");
    say_it(op, 0, how);
    CHECK(state_of(op) == TRC_GPU_CALLED, "state %d while somebody else has the slot", state_of(op));
    release_slot(op, word, set_state(op, word, TRC_GPU_STARTED, 0, 0, 0));
    return op;
}

/* Two others report; one knows better, or has the result. */
static void check_left(void)
{
    ipo_gpu_op op = begin();
    const struct trc_gpu_op *slot = ipo_gpu_op_of(op);
    uint64_t word;
    CHECK(hold_slot(op, &word), "a slot that nobody holds");
    ipo_gpu_op_enqueued(op, 0, TRC_GPU_BLIND);
    ipo_gpu_op_completed(op, 0, 0);
    release_slot(op, word, set_state(op, word, TRC_GPU_STARTED, 0, 0, 0));
    CHECK(slot->state == TRC_GPU_COMPLETED && slot->flags == TRC_GPU_APPROXIMATE,
          "its end is known, roughly: state %d, flags %x", slot->state, slot->flags);

    op = begin();
    slot = ipo_gpu_op_of(op);
    CHECK(hold_slot(op, &word), "a slot that nobody holds");
    ipo_gpu_op_failed(op, 5);
    release_slot(op, word, set_state(op, word, TRC_GPU_ENQUEUED, 0, 0, 0));
    CHECK(slot->state == TRC_GPU_FAILED && slot->result == 5, "state %d, result %d", slot->state, slot->result);
    CHECK(ipo_gpu_op_of(op) == slot && !(words[find_slot(op)] & (DUE | DUE_RESULT)), "it is still that operation");
}

static ipo_gpu_op shared[64];
static void *say_all(void *of)
{
    static void (*const what[])(ipo_gpu_op, uint64_t, uint8_t) = {ipo_gpu_op_enqueued, ipo_gpu_op_started,
                                                                  ipo_gpu_op_completed};
    for (int i = 0; i < 64; i++)
        what[(uintptr_t)of](shared[i], 0, 0);
    return NULL;
}

int main(void)
{
    ipo_gpu_table = calloc(1, sizeof *ipo_gpu_table);
    CHECK(ipo_gpu_table, "memory");
    ipo_gpu_op op = while_held(ipo_gpu_op_completed, 0);
    CHECK(state_of(op) == TRC_GPU_COMPLETED, "an end that could not be said at once: state %d", state_of(op));
    CHECK(ipo_gpu_table->op[find_slot(op)].ended, "and when");
    op = while_held(ipo_gpu_op_enqueued, TRC_GPU_BLIND);
    CHECK(state_of(op) == TRC_GPU_STARTED && !(words[find_slot(op)] & (BUSY | DUE | DUE_BLIND | DUE_RESULT)),
          "state %d, word %llx", state_of(op), (unsigned long long)words[find_slot(op)]);
    ipo_gpu_op_completed(op, 0, 0);
    CHECK(state_of(op) == TRC_GPU_COMPLETED, "state %d", state_of(op));

    check_left();

    uint64_t first = atomic_load(&words[find_slot(op)]);
    for (unsigned i = 0; i < 2 * TRC_GPU_OPS;
         i++) { /* rounds until the slot is another's: nothing is said of that one */
        ipo_gpu_op other = begin();
        ipo_gpu_op_completed(op, 0, 0);
        CHECK(other && state_of(other) == TRC_GPU_CALLED, "operation %u: state %d", i, state_of(other));
        ipo_gpu_op_completed(other, 0, 0);
    }
    CHECK(atomic_load(&words[find_slot(op)]) != first, "the slot was not used again");

    for (int round = 0; round < 500; round++) {
        pthread_t thread[3];
        for (int i = 0; i < 64; i++)
            shared[i] = begin();
        for (uintptr_t i = 0; i < 3; i++)
            CHECK(pthread_create(&thread[i], NULL, say_all, (void *)i) == 0, "thread");
        for (int i = 0; i < 3; i++)
            pthread_join(thread[i], NULL);
        for (int i = 0; i < 64; i++)
            CHECK(state_of(shared[i]) == TRC_GPU_COMPLETED, "round %d: state %d", round, state_of(shared[i]));
    }
    return check_result();
}
