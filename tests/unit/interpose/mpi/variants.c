/* Variants of cached calls: what ipo_cache_vary makes of the call before must be what describing the call gives, for
 * calls of many kinds, with sizes, tags and partners at random, MPI's constants among them. */
#include "interpose/mpi/abi.h"
#include "interpose/mpi/cached.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/recorder/ranks.h"
#include "tests/support/recorder/recorder.h"

#include <string.h>

enum { SITE = 0x400000, ROUNDS = 20000, RANKS = 5 };

static uintptr_t type, other_type, status[8], request;
static uint64_t state = 7;

static const enum ipo_call_id ids[] = {IPO_Send,      IPO_Isend,  IPO_Recv,      IPO_Irecv,    IPO_Sendrecv,
                                       IPO_Allreduce, IPO_Bcast,  IPO_Allgather, IPO_Alltoall, IPO_Reduce,
                                       IPO_Gather,    IPO_Iprobe, IPO_Scan,      IPO_Send_c,   IPO_Sendrecv_replace};

/* Draws the arguments of a call; half stay as they are. */
static void draw_arguments(const struct ipo_call *call, uintptr_t *args)
{
    const bool equal_counts = draw(&state, 4);
    const uintptr_t count = draw(&state, 6) ? 1 + draw(&state, 9) : 0;
    for (unsigned i = 0; i < call->arity; i++)
        switch (call->roles[i]) {
        case ROLE_SEND_COUNT:
        case ROLE_RECEIVE_COUNT:
            args[i] = equal_counts ? count : 1 + draw(&state, 3);
            break;
        case ROLE_SEND_TYPE:
        case ROLE_RECEIVE_TYPE:
            args[i] = draw(&state, 2) ? type : other_type;
            break;
        case ROLE_SEND_TAG:
            args[i] = draw(&state, 4);
            break;
        case ROLE_RECEIVE_TAG:
            args[i] = draw(&state, 4) ? draw(&state, 3) : (uintptr_t)ipo_abi.any_tag;
            break;
        case ROLE_DESTINATION:
        case ROLE_SOURCE:
            args[i] = draw(&state, 4) ? draw(&state, RANKS) : (uintptr_t)ipo_abi.proc_null;
            break;
        case ROLE_ROOT:
            args[i] = draw(&state, 2);
            break;
        case ROLE_COMM:
            args[i] = ipo_abi.comm_world;
            break;
        case ROLE_OPERATION:
            args[i] = 0x77;
            break;
        case ROLE_SEND_BUFFER:
        case ROLE_RECEIVE_BUFFER:
            args[i] = draw(&state, 5) ? 0x1000 : ipo_abi.in_place;
            break;
        case ROLE_REQUEST_OUT:
            args[i] = (uintptr_t)&request;
            break;
        default:
            args[i] = (uintptr_t)status;
        }
}

/* Makes the call from a place, or just its variant.  Returns whether frame->sig is its signature. */
static bool begin(struct ipo_frame *frame, uint64_t site, enum ipo_call_id id, const uintptr_t *args, bool by_variant)
{
    *frame = (struct ipo_frame){.address = __builtin_frame_address(0), .site = site, .thread = ipo_thread_self()};
    memcpy(frame->args, args, sizeof frame->args);
    struct ipo_cached *row = &frame->thread->cache[draw(&state, IPO_CACHE_ROWS)];
    if (by_variant) {
        const bool varied = ipo_cache_vary(frame, id, row);
        frame->index = row->inside - 1;
        if (varied)
            frame->sig = *trc_stream_sig(&frame->thread->stream, frame->index);
        return varied;
    }
    if (!ipo_enter(frame, id, frame->args))
        return false;
    frame->thread->stream.page->thread.inside = 0;
    frame->thread->outer = NULL;
    return true;
}

int main(void)
{
    recorder_start(&(struct recorder_setup){.family = FAKE_OPENMPI, .rank = 0, .size = RANKS});
    type = fake_type_new(24);
    other_type = fake_type_new(40);
    ipo_process.writer.head->pid = ipo_thread_self()->tid;      /* no background loop */
    MPI(SITE, Send, 0x1000, 1, type, 1, 5, ipo_abi.comm_world); /* now their sizes are known */
    MPI(SITE, Send, 0x1000, 1, other_type, 1, 5, ipo_abi.comm_world);
    unsigned varied = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const enum ipo_call_id id = ids[draw(&state, sizeof ids / sizeof *ids)];
        struct ipo_frame before, variant, described;
        uintptr_t args[IPO_ARGS_MOST] = {0}, changed[IPO_ARGS_MOST];
        draw_arguments(&ipo_calls[id], args);
        memcpy(changed, args, sizeof args);
        while (draw(&state, 2)) {
            uintptr_t drawn[IPO_ARGS_MOST];
            memcpy(drawn, args, sizeof args);
            draw_arguments(&ipo_calls[id], drawn);
            unsigned at = draw(&state, ipo_calls[id].arity);
            changed[at] = drawn[at];
        }
        const uint64_t site = SITE + 128 * i; /* new: the call is described */
        begin(&before, site, id, args, false);
        if (!begin(&variant, site, id, changed, true))
            continue;
        varied++;
        CHECK(begin(&described, site + 64, id, changed, false), "not entered");
        described.sig.site = variant.sig.site;
        described.sig.path = variant.sig.path;
        CHECK(trc_sig_equal(&variant.sig, &described.sig), "%s: flags %#x, %#x; sent %lu, %lu; received %lu, %lu",
              ipo_calls[id].name, variant.sig.flags, described.sig.flags, (unsigned long)variant.sig.sent,
              (unsigned long)described.sig.sent, (unsigned long)variant.sig.received,
              (unsigned long)described.sig.received);
    }
    CHECK(varied > ROUNDS / 3, "%u of %u calls are variants", varied, ROUNDS);
    recorder_remove();
    return check_result();
}
