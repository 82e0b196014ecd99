#include "interpose/mpi/negotiation.h"
#include "interpose/mpi/abi.h"
#include "interpose/mpi/comms.h"
#include "interpose/mpi/describe.h"
#include "interpose/mpi/cached.h"
#include "interpose/base/safe_read.h"
#include "trace/writer/round.h"

#define CONTROLS   64u       /* communicators with a loop: one a process set */
#define SHORT_LIST 64u       /* lists up to this size are compared with the one before: empty ones, above all */
#define PROVEN     2u        /* negotiations in a row after which a communicator is a loop's */
#define LONG_NS    100000000 /* a round or a pause of this length gets an event of its own */

/* The four calls of a negotiation, in their order. */
enum step { LENGTHS, REQUESTS, LENGTH, RESPONSES, STEPS };

struct list {
    uint32_t size;
    unsigned char bytes[SHORT_LIST];
};

struct ipo_negotiation {
    bool proven;
    enum step step; /* the step that a negotiation would take next */
    uint32_t negotiations;
    uint64_t rounds;   /* ANDs so far: the same number on all ranks, the loop's clock */
    uint64_t last_end; /* end of the last AND */
    uint64_t long_ticks;
    bool is_or;
    uint32_t words;               /* words of the round under way */
    uint64_t in[TRC_ROUND_WORDS]; /* words that this rank puts in */
    uint32_t round_words[2];      /* words of the last AND and OR */
    uint64_t said_in[2][TRC_ROUND_WORDS], said_out[2][TRC_ROUND_WORDS];
    struct list request, response;
    unsigned char heard[TRC_ROUND_BYTES]; /* a list, copied out of the program's buffer */
};

static struct ipo_negotiation controls[CONTROLS];
static atomic_uint used;

static struct ipo_negotiation *get_negotiation(struct ipo_comm *comm)
{
    if (!comm->negotiation) {
        unsigned i = atomic_fetch_add(&used, 1);
        if (i >= CONTROLS) {
            atomic_store(&used, CONTROLS);
            return NULL;
        }
        controls[i].long_ticks = UINT64_MAX;
        comm->negotiation = &controls[i];
        ipo_cache_forget(); /* each collective of the loop must be described now */
    }
    return comm->negotiation;
}

/* ---- kinds of calls of a negotiation ----------------------------------------------------------------------------- */

static bool is_bit_round(struct ipo_frame *frame, const uintptr_t *args, bool *is_or)
{
    const struct ipo_call *call = frame->call;
    uintptr_t op = ipo_handle(ipo_arg(call, args, ROLE_OPERATION));
    if (!op || ipo_has(call, ROLE_REQUEST_OUT) || call->persistent ||
        ipo_arg(call, args, ROLE_SEND_BUFFER) != ipo_abi.in_place)
        return false;
    *is_or = op == ipo_abi.ops[TRC_REDUCTION_BOR];
    uint64_t n = ipo_count(call, args, ROLE_SEND_COUNT);
    return (*is_or || op == ipo_abi.ops[TRC_REDUCTION_BAND]) && n > 0 && n <= TRC_ROUND_WORDS &&
           ipo_type_size(frame->thread, ipo_arg(call, args, ROLE_SEND_TYPE)) == sizeof(uint64_t);
}

static bool is_bytes(const struct ipo_frame *frame, const uintptr_t *args)
{
    return ipo_handle(ipo_arg(frame->call, args, ROLE_SEND_TYPE)) == ipo_abi.byte_type;
}

static bool is_one_int(struct ipo_frame *frame, const uintptr_t *args)
{
    return ipo_count(frame->call, args, ROLE_SEND_COUNT) == 1 &&
           ipo_type_size(frame->thread, ipo_arg(frame->call, args, ROLE_SEND_TYPE)) == sizeof(int);
}

/* The step of a negotiation that this call can be; STEPS: none. */
static enum step find_step(struct ipo_frame *frame, const uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    if (ipo_has(call, ROLE_REQUEST_OUT) || call->persistent || (int)ipo_arg(call, args, ROLE_ROOT) != 0)
        return STEPS;
    if (call->opclass == TRC_OP_GATHER)
        return ipo_has(call, ROLE_RECEIVE_COUNTS) ? (is_bytes(frame, args) ? REQUESTS : STEPS)
                                                  : (is_one_int(frame, args) ? LENGTHS : STEPS);
    if (call->opclass == TRC_OP_BCAST)
        return is_bytes(frame, args) ? RESPONSES : is_one_int(frame, args) ? LENGTH : STEPS;
    return STEPS;
}

static bool is_part_of_negotiation(const struct ipo_negotiation *state, enum step step)
{
    return step == LENGTHS || (step < STEPS && step == state->step);
}

bool ipo_negotiation_begin(struct ipo_comm *comm, bool is_or, uintptr_t words, uint32_t n)
{
    struct ipo_negotiation *state = get_negotiation(comm);
    if (!state || n > TRC_ROUND_WORDS || (n && !ipo_safe_read(words, state->in, n * sizeof *state->in)))
        return false;
    state->proven = true;
    state->is_or = is_or;
    state->words = n;
    return true;
}

void ipo_negotiation_describe(struct ipo_frame *frame, const uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    struct ipo_comm *comm = frame->comm;
    struct ipo_negotiation *state = comm->negotiation;
    bool is_or = false, is_round = false;
    if (call->opclass == TRC_OP_ALLREDUCE && is_bit_round(frame, args, &is_or)) {
        is_round = ipo_negotiation_begin(comm, is_or, ipo_arg(call, args, ROLE_RECEIVE_BUFFER),
                                         (uint32_t)ipo_count(call, args, ROLE_SEND_COUNT));
        if (!is_round)
            return;
    } else if (call->opclass == TRC_OP_GATHER || call->opclass == TRC_OP_BCAST) {
        enum step step = find_step(frame, args);
        if (!state && step == LENGTHS)
            state = get_negotiation(comm);
        /* Bytes that rank 0 hands out alone: the loop's parameters, or the name of a new NCCL communicator. */
        is_round = state && state->proven && (is_part_of_negotiation(state, step) || step == RESPONSES);
    } else if (call->opclass == TRC_OP_ALLGATHER && !ipo_has(call, ROLE_RECEIVE_COUNTS)) {
        is_round =
            state && state->proven && !ipo_has(call, ROLE_REQUEST_OUT); /* process sets; tensors use Allgatherv */
    }
    if (is_round)
        frame->sig.flags |= TRC_SIG_CONTROL;
}

/* ---- words of the rounds ----------------------------------------------------------------------------------------- */

/* LONG_NS in ticks, as soon as the heartbeat has measured them. */
static void learn_ticks(struct ipo_negotiation *state)
{
    const struct trc_head *head = ipo_process.writer.head;
    uint64_t ns = head->latest.monotonic_ns - head->start.monotonic_ns;
    if (head->heartbeats && ns > LONG_NS / 10)
        state->long_ticks = (uint64_t)((double)(head->latest.ticks - head->start.ticks) / (double)ns * LONG_NS);
}

/* Writes the round's words; false, also from the next function: the words cannot be read, as in device memory, which
 * the loop never uses. */
static bool write_round(struct ipo_frame *frame, uintptr_t result)
{
    struct ipo_negotiation *state = frame->comm->negotiation;
    uint64_t out[TRC_ROUND_WORDS];
    const uint32_t n = state->words, bytes = n * (uint32_t)sizeof *out;
    if (!ipo_safe_read(result, out, bytes))
        return false;
    uint64_t *said_in = state->said_in[state->is_or], *said_out = state->said_out[state->is_or];
    uint64_t differ = state->round_words[state->is_or] ^ n;
    for (uint32_t i = 0; i < n; i++)
        differ |= (said_in[i] ^ state->in[i]) | (said_out[i] ^ out[i]);
    uint64_t paused = frame->end - (state->is_or ? frame->begin : state->last_end);
    bool is_long = paused > state->long_ticks && state->last_end;
    if (!state->is_or)
        state->last_end = frame->end;
    if (state->rounds % 256 == 0 && !state->is_or)
        learn_ticks(state);
    uint64_t round = state->is_or ? state->rounds - 1 : state->rounds++;
    if (!differ && !is_long && trc_stream_folding(&frame->thread->stream))
        return true;
    state->round_words[state->is_or] = n;
    memcpy(said_in, state->in, bytes);
    memcpy(said_out, out, bytes);
    struct trc_round said = {.kind = state->is_or ? TRC_ROUND_OR : TRC_ROUND_AND,
                             .comm = frame->comm->id,
                             .sequence = frame->sequence,
                             .round = round,
                             .part = {said_in, said_out},
                             .size = {bytes, bytes}};
    trc_stream_add_round(&frame->thread->stream, frame->begin, frame->end, &said);
    return true;
}

/* Ends a round of a loop without a cache, which makes no ANDs. */
static void end_without_cache(struct ipo_negotiation *state)
{
    state->rounds += state->round_words[0] == 0;
}

static bool write_list(struct ipo_frame *frame, enum trc_round_kind kind, uintptr_t buffer, uint64_t size)
{
    struct ipo_negotiation *state = frame->comm->negotiation;
    struct list *last = kind == TRC_ROUND_REQUEST ? &state->request : &state->response;
    const unsigned char *bytes = state->heard;
    if (!buffer || !size)
        return true; /* the root's own part */
    if (!ipo_safe_read(buffer, state->heard, size < TRC_ROUND_BYTES ? size : TRC_ROUND_BYTES))
        return false;
    bool is_short = size <= SHORT_LIST;
    if (is_short && last->size == size && memcmp(last->bytes, bytes, size) == 0 &&
        trc_stream_folding(&frame->thread->stream))
        return true;
    last->size = is_short ? (uint32_t)size : 0;
    if (is_short)
        memcpy(last->bytes, bytes, size);
    struct trc_round said = {.kind = kind,
                             .comm = frame->comm->id,
                             .sequence = frame->sequence,
                             .round = state->rounds - (state->round_words[0] > 0),
                             .part = {bytes},
                             .size = {size > UINT32_MAX ? UINT32_MAX : (uint32_t)size}};
    trc_stream_add_round(&frame->thread->stream, frame->begin, frame->end, &said);
    return true;
}

bool ipo_negotiation_write(struct ipo_frame *frame, enum trc_round_kind kind, uintptr_t bytes, uint64_t size)
{
    if (kind == TRC_ROUND_AND || kind == TRC_ROUND_OR)
        return write_round(frame, bytes);
    bool good = write_list(frame, kind, bytes, size);
    if (kind == TRC_ROUND_RESPONSE)
        end_without_cache(frame->comm->negotiation);
    return good;
}

/* Follows the steps of a negotiation; before a communicator is known as a loop's, counts them. */
static void follow_steps(struct ipo_negotiation *state, enum step step)
{
    bool expected = is_part_of_negotiation(state, step);
    if (!state->proven && expected && step == RESPONSES && ++state->negotiations == PROVEN) {
        state->proven = true;
        ipo_cache_forget(); /* cached signatures belong to the program's own calls */
    }
    if (!expected && !state->proven)
        state->negotiations = 0;
    if (expected && step == RESPONSES)
        end_without_cache(state);
    state->step = expected ? (enum step)((step + 1) % STEPS) : LENGTHS;
}

bool ipo_negotiation_finish(struct ipo_frame *frame, const uintptr_t *args)
{
    struct ipo_negotiation *state = frame->comm->negotiation;
    const struct ipo_call *call = frame->call;
    bool is_round = (frame->sig.flags & TRC_SIG_CONTROL) && !frame->failed;
    if (call->opclass == TRC_OP_ALLREDUCE && is_round) {
        is_round = write_round(frame, ipo_arg(call, args, ROLE_RECEIVE_BUFFER));
    } else {
        enum step step = find_step(frame, args), expected = state->step;
        if (is_round && step == REQUESTS)
            is_round = write_list(frame, TRC_ROUND_REQUEST, ipo_arg(call, args, ROLE_SEND_BUFFER),
                                  ipo_count(call, args, ROLE_SEND_COUNT));
        if (is_round && step == RESPONSES && expected == RESPONSES)
            is_round = write_list(frame, TRC_ROUND_RESPONSE, ipo_arg(call, args, ROLE_RECEIVE_BUFFER),
                                  ipo_count(call, args, ROLE_SEND_COUNT));
        follow_steps(state, step);
    }
    if (!is_round) {
        if (frame->sig.flags & TRC_SIG_CONTROL) {
            frame->sig.flags &= ~(uint32_t)TRC_SIG_CONTROL;
            frame->index = trc_stream_intern(&frame->thread->stream, &frame->sig);
        }
        return false;
    }
    frame->poll = true; /* counted into the FOLD */
    ipo_emit(frame);
    __atomic_store_n(&frame->thread->rounds, frame->thread->rounds + 1, __ATOMIC_RELEASE);
    return true;
}
