/* Horovod in the jobs that golden screens are drawn of: thread 1 of each rank turns a loop once a millisecond.
 *
 * In cycle 10 all ranks submit five tensors by name.  From then on, in every 500th cycle, they submit them by their
 * bits, rank m after m % 3 cycles and rank 3 after 50 (in every tenth step rank 1 after 60); then MPI carries the 4.6
 * MB of all five, for 0.8 ms (not where the job is `unknown`).  That makes 20 steps in 10 s.
 *
 * Where the job hangs, all but rank 3 submit two tensors once more in cycle 9600, and a sixth by name.  Where it runs,
 * they do it all once more 300 cycles before the end, and all but rank 3 are inside the operation that follows. */
#include "tests/support/screen_job.h"
#include "workloads/hvd_lists.h"

#include <string.h>

enum { COPY = 4, LOOP = 1, KNOWN = 5, STEP = 500, FIRST = 10, STALL = 9600 };
enum word { IDLE = 7, NO_UNCACHED = 2 };
#define BITS(n)  (((1ull << (n)) - 1) << 3) /* bits of the first n tensors */
#define CYCLE_NS 1000000

static const char *const names[] = {"layer1.0.conv1.weight", "layer1.0.bn1.bias",     "layer2.0.conv1.weight",
                                    "layer3.0.conv1.weight", "layer3.0.conv2.weight", "metric.val_loss"};

static uint64_t elements_of(uint32_t tensor)
{
    return 36864ull << tensor;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static void put_values(struct list *l, uint32_t slot, uint32_t n, const uint32_t *value, uint32_t words)
{
    link_here(l, slot);
    put32(l, n);
    for (uint32_t i = 0; i < n * words; i++)
        put32(l, value ? value[i] : 0);
}

/* Opens a list of n tables; returns the place of the first one's offset. */
static uint32_t begin_list(struct list *l, uint32_t n)
{
    uint32_t at[1];
    l->used = 0;
    put32(l, 0);
    put_table(l, 0, (const unsigned char[]){0, 0xff}, at);
    put_values(l, at[0], n, NULL, 1);
    return l->used - 4 * n;
}

static void put_requests(struct list *l, uint32_t from, uint32_t to)
{
    enum { OP, DTYPE, NAME, SHAPE };
    uint32_t slot = begin_list(l, to - from), at[4];
    for (uint32_t i = from; i < to; i++, slot += 4) {
        uint64_t shape = elements_of(i);
        uint32_t words[2];
        memcpy(words, &shape, sizeof words);
        put_table(l, slot, (const unsigned char[]){1, 2, 3, 6, 0xff}, at);
        l->bytes[at[OP]] = i == KNOWN; /* an allgather */
        l->bytes[at[DTYPE]] = 7;
        put_string(l, at[NAME], names[i]);
        put_values(l, at[SHAPE], 1, words, 2);
    }
}

/* All five in one response, or none. */
static void put_response(struct list *l, uint32_t tensors, uint32_t ranks)
{
    enum { OP, NAMES, DEVICES, SIZES, DTYPE };
    uint32_t slot = begin_list(l, tensors > 0), at[5], words[2 * KNOWN];
    if (!tensors)
        return;
    for (uint32_t i = 0; i < tensors; i++) {
        uint64_t size = elements_of(i);
        memcpy(words + 2 * i, &size, sizeof size);
    }
    put_table(l, slot, (const unsigned char[]){0, 1, 3, 4, 5, 0xff}, at);
    l->bytes[at[DTYPE]] = 7;
    put_values(l, at[DEVICES], ranks, NULL, 1);
    put_values(l, at[SIZES], tensors, words, 2);
    put_values(l, at[NAMES], tensors, NULL, 1);
    slot = l->used - 4 * tensors;
    for (uint32_t i = 0; i < tensors; i++)
        put_string(l, slot + 4 * i, names[i]);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

struct loop {
    struct tb *tb;
    int rank, ranks;
    uint64_t cycle, sequence; /* the next ones */
};

static int64_t begin_of(uint64_t cycle)
{
    return (int64_t)cycle * CYCLE_NS;
}

static struct trc_sig round_sig(enum tb_call call)
{
    struct trc_sig sig = tb_sig(call);
    sig.flags = TRC_SIG_COLL | TRC_SIG_CONTROL;
    sig.comm = COPY;
    sig.site = 0x2000u + call;
    return sig;
}

/* Cycles up to `to`, in which nothing is said but these words.  Each takes 100 us. */
static void turn_to(struct loop *l, uint64_t to, uint64_t in, uint64_t out)
{
    const uint64_t words[] = {in, out};
    struct trc_sig sig = round_sig(TB_ALLREDUCE);
    int64_t at = begin_of(l->cycle);
    if (to <= l->cycle)
        return;
    tb_round(l->tb, LOOP, TRC_ROUND_AND, COPY, l->sequence, l->cycle, at, at + 100000, words, sizeof words);
    tb_fold(l->tb, LOOP, &sig, at, begin_of(to - 1) + 100000, to - l->cycle, (int64_t)(to - l->cycle) * 100000);
    l->sequence += to - l->cycle;
    l->cycle = to;
}

/* The rest of a cycle in which somebody asks by name: requests of tensors `from` to `to` go to rank 0. */
static void ask_root(struct loop *l, uint32_t from, uint32_t to, uint32_t answered)
{
    static struct list list;
    struct trc_sig gather = round_sig(TB_GATHER), answer = round_sig(TB_BCAST);
    uint64_t cycle = l->cycle - 1;
    int64_t at = begin_of(cycle);
    if (l->rank > 0) {
        put_requests(&list, from, to);
        tb_round(l->tb, LOOP, TRC_ROUND_REQUEST, COPY, l->sequence, cycle, at + 110000, at + 120000, list.bytes,
                 list.used);
        tb_fold(l->tb, LOOP, &gather, at + 110000, at + 120000, 1, 10000);
    }
    put_response(&list, answered, (uint32_t)l->ranks);
    tb_round(l->tb, LOOP, TRC_ROUND_RESPONSE, COPY, ++l->sequence, cycle, at + 120000, at + 130000, list.bytes,
             list.used);
    tb_fold(l->tb, LOOP, &answer, at + 120000, at + 130000, 1, 10000);
    l->sequence++;
}

static struct trc_sig operation_sig(void)
{
    struct trc_sig sig = tb_sig(TB_ALLREDUCE);
    sig.flags = TRC_SIG_COLL;
    sig.comm = COPY;
    sig.sent = sig.received = 4 * elements_of(0) * 31;
    return sig;
}

static void carry_tensors(struct loop *l)
{
    struct trc_sig sig = operation_sig();
    int64_t at = begin_of(l->cycle - 1);
    tb_event(l->tb, LOOP, &sig, at + 150000, at + 950000, (struct tb_more){.sequence = l->sequence++});
}

/* Delay of rank m after the first, in cycles. */
static uint64_t lag_of(int rank, int step)
{
    bool odd = step % 10 == 9;
    return rank == (odd ? 1 : SCREEN_LATE) ? (odd ? 60 : 50) : (uint64_t)rank % 3;
}

static void make_step(struct loop *l, int step, uint64_t begin)
{
    uint64_t agreed = begin + (step % 10 == 9 ? 60 : 50);
    turn_to(l, begin + lag_of(l->rank, step), IDLE, IDLE);
    turn_to(l, agreed, IDLE | BITS(KNOWN), IDLE);
    turn_to(l, agreed + 1, IDLE | BITS(KNOWN), IDLE | BITS(KNOWN));
}

/* All but the late rank wait for it. */
static void stall_to(struct loop *l, uint64_t to)
{
    uint64_t again = BITS(KNOWN) & ~BITS(KNOWN - 2), in = l->rank == SCREEN_LATE ? 0 : again;
    turn_to(l, STALL, IDLE, IDLE);
    turn_to(l, STALL + 1, l->rank == SCREEN_LATE ? IDLE : (IDLE & ~NO_UNCACHED) | in, IDLE & ~NO_UNCACHED);
    ask_root(l, KNOWN, l->rank == SCREEN_LATE ? KNOWN : KNOWN + 1, 0);
    turn_to(l, to, IDLE | in, IDLE);
}

void screen_horovod(struct tb *tb, const struct screen_job *job, int rank, int64_t now_ns)
{
    uint64_t end = (uint64_t)(now_ns / CYCLE_NS) - 1;
    struct loop l = {.tb = tb, .rank = rank, .ranks = job->ranks};
    struct trc_def_comm copy = {
        .identity = 0x44, .parent = TB_WORLD_IDENTITY, .rank = rank, .size = job->ranks, .flags = TRC_COMM_ALL};
    tb_define(tb, TRC_DEF_COMM, COPY, 0, 0, &copy, sizeof copy, 0);
    turn_to(&l, FIRST, IDLE, IDLE);
    turn_to(&l, FIRST + 1, IDLE & ~NO_UNCACHED, IDLE & ~NO_UNCACHED);
    ask_root(&l, 0, KNOWN, KNOWN);
    if (!job->unknown)
        carry_tensors(&l);
    for (int step = 1; step < 20; step++) {
        make_step(&l, step, (uint64_t)step * STEP);
        if (!job->unknown)
            carry_tensors(&l);
    }
    struct trc_sig inside = round_sig(TB_ALLREDUCE);
    if (job->hung) {
        stall_to(&l, end);
    } else if (job->running) {
        inside = operation_sig();
        make_step(&l, 20, end - 300);
    } else {
        turn_to(&l, end, IDLE, IDLE);
    }
    if ((job->hung || job->running) && rank != SCREEN_LATE)
        tb_inside(tb, LOOP, &inside, begin_of(job->hung ? end : l.cycle) + 200000, l.sequence);
}
