/* Items of built traces: events, what completes with them, folds, losses, uses. */
#include "tests/support/trace_builder_impl.h"
#include "tests/support/trace_counters.h"
#include "tests/support/trace_encode.h"
#include "trace/format/uses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trc_sig tb_sig(enum tb_call call)
{
    return (struct trc_sig){
        .call = call, .peer = TRC_PEER_NONE, .tag = TRC_TAG_NONE, .source = TRC_PEER_NONE, .rtag = TRC_TAG_NONE};
}

/* Tail of an event behind its times, or behind its signature if it is a SUB. */
static uint8_t *put_rest(struct tb *tb, struct thread *thread, uint8_t *at, uint32_t number, struct tb_more more)
{
    struct sig_state *state = &thread->sigs[number];
    if (state->sig.flags & TRC_SIG_COLL) {
        at = trc_put_varint(at, more.sequence - state->sequence);
        state->sequence = more.sequence;
    }
    if (state->sig.flags & TRC_SIG_COMPLETE)
        at = tb_put_request(at, (uint32_t)(thread - tb->threads), thread->starts, more.request_thread, more.request);
    thread->in_row = false;
    thread->fold_at = 0;
    return at;
}

static uint64_t start_number(struct thread *thread, const struct trc_sig *sig)
{
    return sig->flags & TRC_SIG_START ? thread->starts++ : UINT64_MAX;
}

static void completed(struct tb *tb, struct thread *thread, const struct trc_sig *sig, uint64_t end)
{
    struct trc_page *page = tb_use_at(tb, thread, 6, sig) ? tb_page_of(tb, thread) : NULL;
    if (!page)
        return;
    page->thread.last = 7;
    page->thread.last_end = end;
    page->thread.inside = 0;
}

uint64_t tb_event(struct tb *tb, uint32_t index, const struct trc_sig *sig, int64_t begin_ns, int64_t end_ns,
                  struct tb_more more)
{
    struct thread *thread = tb_thread_of(tb, index);
    uint64_t begin = tb_ticks(tb, begin_ns), end = tb_ticks_at(tb, end_ns);
    uint32_t number = tb_define_sig(tb, thread, sig);
    uint8_t *at = tb_put_event(tb_here(tb, thread), number);
    if (begin < thread->base) {
        fprintf(stderr, "trace builder: a call begins before the one before it ends\n");
        exit(1);
    }
    at = trc_put_varint(at, begin - thread->base);
    at = trc_put_varint(at, end - begin);
    at = put_rest(tb, thread, at, number, more);
    if (!(sig->flags & TRC_SIG_NESTED))
        thread->base = end;
    tb_commit(tb, thread, at, 1, end);
    tb_count(tb, thread, sig, end - begin, 1);
    completed(tb, thread, sig, end);
    return start_number(thread, sig);
}

uint64_t tb_sub(struct tb *tb, uint32_t index, const struct trc_sig *sig, struct tb_more more)
{
    struct thread *thread = tb_thread_of(tb, index);
    struct trc_sig sub = *sig;
    sub.flags |= TRC_SIG_SUB;
    uint32_t number = tb_define_sig(tb, thread, &sub);
    uint8_t *at = tb_put_event(tb_here(tb, thread), number);
    tb_commit(tb, thread, put_rest(tb, thread, at, number, more), 1, 0);
    tb_count(tb, thread, &sub, 0, 0);
    return start_number(thread, sig);
}

void tb_fold(struct tb *tb, uint32_t index, const struct trc_sig *sig, int64_t begin_ns, int64_t end_ns, uint64_t polls,
             int64_t busy_ns)
{
    struct thread *thread = tb_thread_of(tb, index);
    uint32_t number = tb_define_sig(tb, thread, sig);
    uint8_t *at = tb_here(tb, thread), *counters;
    uint64_t begin = tb_ticks(tb, begin_ns), end = tb_ticks_at(tb, end_ns);
    if (!thread->in_row)
        thread->row_base = thread->base;
    thread->in_row = true;
    thread->fold_begin = begin;
    thread->fold_count = polls;
    thread->fold_sig = *sig;
    thread->fold_busy = tb_ticks(tb, busy_ns) - tb->head.start.ticks;
    at = tb_put_fold(at, number, begin - thread->row_base, polls, thread->fold_busy, end - begin, &counters);
    thread->fold_at = (uint32_t)(counters - (uint8_t *)tb_chunk_at(tb, thread->chunk));
    if (end > thread->base)
        thread->base = end;
    tb_commit(tb, thread, at, 1, end);
    tb_count(tb, thread, sig, thread->fold_busy, polls);
    completed(tb, thread, sig, end);
    if (tb_page_of(tb, thread) && sig->flags & TRC_SIG_COLL)
        tb_page_of(tb, thread)->thread.inside_sequence += polls;
}

void tb_fold_more(struct tb *tb, uint32_t index, int64_t end_ns, uint64_t polls, int64_t busy_ns)
{
    struct thread *thread = tb_thread_of(tb, index);
    if (!thread->fold_at)
        tb_die("trace builder: no FOLD to count into");
    thread->fold_count += polls;
    uint64_t busy = tb_ticks(tb, busy_ns) - tb->head.start.ticks, end = tb_ticks_at(tb, end_ns);
    thread->fold_busy += busy;
    trc_set_fold((uint8_t *)tb_chunk_at(tb, thread->chunk) + thread->fold_at, thread->fold_count, thread->fold_busy,
                 end - thread->fold_begin);
    if (end > thread->base)
        thread->base = end;
    ((struct trc_chunk *)tb_chunk_at(tb, thread->chunk))->last_ticks = end;
    tb_count(tb, thread, &thread->fold_sig, busy, polls);
    completed(tb, thread, &thread->fold_sig, end);
}

void tb_lost(struct tb *tb, uint32_t index, uint64_t records)
{
    struct thread *thread = tb_thread_of(tb, index);
    tb_commit(tb, thread, trc_put_lost(tb_room(tb, thread), records), 1, 0);
    thread->in_row = false;
    thread->fold_at = 0;
    thread->lost += records;
    tb->head.lost_records += records;
}

void tb_round(struct tb *tb, uint32_t index, enum trc_round_kind kind, uint32_t comm, uint64_t sequence, uint64_t round,
              int64_t begin_ns, int64_t end_ns, const void *bytes, size_t size)
{
    struct thread *thread = tb_thread_of(tb, index);
    uint64_t begin = tb_ticks(tb, begin_ns), end = tb_ticks(tb, end_ns);
    uint8_t body[2 * TRC_ITEM_MAX], *at = body;
    const uint64_t fields[] = {kind, comm, sequence, round, begin - thread->base, end - begin, size};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        at = trc_put_varint(at, fields[i]);
    if (thread->chunk != NONE && thread->at + size + 3 * TRC_ITEM_MAX > tb->chunk_size)
        tb_next_chunk(tb, index);
    uint8_t *item = tb_room(tb, thread);
    *item = TRC_ITEM_ROUND;
    item = trc_put_varint(item + 1, (uint64_t)(at - body) + size);
    memcpy(item, body, (size_t)(at - body));
    item += at - body;
    memcpy(item, bytes, size);
    thread->in_row = false;
    tb_commit(tb, thread, item + size, 0, 0);
    if (tb_page_of(tb, thread))
        tb_page_of(tb, thread)->thread.inside_sequence = sequence - 1; /* holds until the FOLD counts */
}

void tb_raw(struct tb *tb, uint32_t index, const void *bytes, size_t size, uint32_t records)
{
    struct thread *thread = tb_thread_of(tb, index);
    uint8_t *at = tb_room(tb, thread);
    memcpy(at, bytes, size);
    thread->in_row = false;
    tb_commit(tb, thread, at + size, records, 0);
}

void tb_inside(struct tb *tb, uint32_t index, const struct trc_sig *sig, int64_t since, uint64_t sequence)
{
    struct thread *thread = tb_thread_of(tb, index);
    struct trc_page *page = tb_use_at(tb, thread, 7, sig) ? tb_page_of(tb, thread) : NULL;
    if (!page)
        return;
    page->thread.inside_since = tb_ticks(tb, since);
    page->thread.inside_sequence = sequence;
    page->thread.inside = 8;
}

void tb_uses(struct tb *tb, uint32_t index, const struct trc_sig *sig, uint64_t uses)
{
    struct thread *thread = tb_thread_of(tb, index);
    struct trc_use *use = tb_use_at(tb, thread, 16 + thread->uses++, sig);
    if (!use)
        return;
    use->uses = uses;
    struct trc_moved moved = trc_moved_by(use);
    use->row = tb_row_of(tb, thread, sig->call, trc_sig_class(sig))->number;
    use->out = moved.out && sig->peer >= 0 ? tb_peer_of(tb, thread, sig->peer)->number : 0;
    use->in = moved.in && sig->source >= 0 ? tb_peer_of(tb, thread, sig->source)->number : 0;
}

void tb_uses_torn(struct tb *tb, uint32_t index, const struct trc_sig *sig, uint64_t uses)
{
    struct thread *of = tb_thread_of(tb, index);
    struct trc_use *use = tb_use_at(tb, of, 15, sig);
    if (!use)
        return;
    struct trc_row *row = tb_row_of(tb, of, sig->call, trc_sig_class(sig));
    struct trc_peer *out = sig->peer >= 0 ? tb_peer_of(tb, of, sig->peer) : NULL;
    use->row = row->number;
    use->out = out ? out->number : 0;
    struct trc_page *page = tb_page_of(tb, of);
    struct trc_thread *thread = &page->thread;
    page->undo = (struct trc_undo){
        .index_plus_1 = 16,
        .row = row->number,
        .out = out ? out->number : 0,
        .uses = uses,
        .row_sent = row->sent,
        .row_received = row->received,
        .out_messages = out ? out->sent_messages : 0,
        .out_bytes = out ? out->sent_bytes : 0,
        .sent = thread->sent,
        .received = thread->received,
        .sent_messages = thread->sent_messages,
        .received_messages = thread->received_messages,
        .peer_overflow = thread->peer_overflow,
        .settled = TRC_SETTLE_ADD,
    };
    thread->sent += sig->sent * uses;
    if (row)
        row->sent += sig->sent * uses;
    if (out)
        out->sent_messages += uses; /* point at which it was killed */
}

void tb_region(struct tb *tb, uint32_t thread, enum trc_region_what what, uint32_t id, int64_t gap_ns)
{
    uint8_t body[3 * TRC_VARINT_MAX], whole[4 * TRC_VARINT_MAX], *at = trc_put_varint(body, what);
    at = trc_put_varint(at, id);
    at = trc_put_varint(at, (uint64_t)gap_ns);
    uint8_t *end = trc_put_varint(whole, TRC_ITEM_REGION);
    end = trc_put_varint(end, (uint64_t)(at - body));
    memcpy(end, body, (size_t)(at - body));
    tb_raw(tb, thread, whole, (size_t)(end - whole) + (size_t)(at - body), 0);
}
