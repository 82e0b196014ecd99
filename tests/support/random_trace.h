/* Random traces, what must be read from them, and reading all items of a file: for the unit tests of cursors. */
#ifndef TESTS_RANDOM_TRACE_H
#define TESTS_RANDOM_TRACE_H

#include "tests/support/check.h"
#include "tests/support/trace_builder.h"
#include "trace/format/encode.h"
#include "trace/reader/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static inline void write_bytes(const void *bytes, size_t size)
{
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(bytes, 1, size, out) != size || fclose(out))
        exit(1);
}

static inline struct trc_file *open_good(void)
{
    struct trc_file *file = NULL;
    char error[512];
    if (trc_open(path, &file, error, sizeof error) != TRC_OK) {
        printf("%s\n", error);
        exit(1);
    }
    return file;
}

/* A record without its pointer. */
struct seen {
    struct trc_record record;
    struct trc_sig sig;
};

static inline struct seen seen_of(const struct trc_record *record)
{
    struct seen seen = {*record, record->sig ? *record->sig : (struct trc_sig){0}};
    seen.record.sig = NULL;
    return seen;
}

static inline bool same(const struct seen *a, const struct seen *b)
{
    const struct trc_record *x = &a->record, *y = &b->record;
    return x->kind == y->kind && x->begin == y->begin && x->end == y->end && x->count == y->count &&
           x->busy == y->busy && x->sequence == y->sequence && x->request_thread == y->request_thread &&
           x->request == y->request && !memcmp(&a->sig, &b->sig, sizeof a->sig);
}

/* Everything of one thread that is there; the caller frees it. */
static inline struct seen *read_all(struct trc_file *file, size_t thread, size_t *count)
{
    struct trc_cursor *cursor = trc_cursor_open(file, thread);
    struct seen *all = NULL;
    size_t n = 0, room = 0;
    struct trc_record record;
    while (trc_next(cursor, &record) == TRC_OK) {
        if (n == room)
            all = realloc(all, (room = room ? room * 2 : 64) * sizeof *all);
        all[n++] = seen_of(&record);
        if (n > 10000000) {
            printf("a cursor that does not end\n");
            exit(1);
        }
    }
    trc_cursor_close(cursor);
    *count = n;
    return all;
}

/* ---- a random trace and what must be read from it --------------------------------------------------------------- */

static uint64_t random_state = 1;
static inline uint64_t random_below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % n;
}

struct script {
    struct tb *tb;
    uint32_t thread;
    struct seen *expected;
    size_t count, room;
    int64_t now;
    uint64_t begin, end, base; /* ticks of the last event, and of the last end */
    uint64_t sequence, starts;
};

static inline struct seen *expect(struct script *script, enum trc_record_kind kind, const struct trc_sig *sig,
                                  uint64_t begin, uint64_t end)
{
    if (script->count == script->room)
        script->expected =
            realloc(script->expected, (script->room = script->room ? script->room * 2 : 256) * sizeof(struct seen));
    struct seen *seen = &script->expected[script->count++];
    *seen = (struct seen){.record = {.kind = kind,
                                     .begin = begin,
                                     .end = end,
                                     .count = 1,
                                     .busy = end - begin,
                                     .request_thread = script->thread,
                                     .request = UINT64_MAX}};
    if (sig)
        seen->sig = *sig;
    return seen;
}

static inline struct trc_sig random_sig(void)
{
    struct trc_sig sig = tb_sig((enum tb_call)random_below(TB_CALL_COUNT));
    sig.comm = (uint32_t)random_below(5);
    sig.object = (uint32_t)random_below(3);
    sig.peer = (int32_t)random_below(8) - 4;
    sig.tag = random_below(4) ? (int32_t)random_below(1000) : INT32_MAX;
    sig.source = (int32_t)random_below(100) - 5;
    sig.rtag = random_below(4) ? TRC_TAG_ANY : TRC_TAG_NONE;
    sig.sent = random_below(3) ? random_below(1000) : TRC_BYTES_UNKNOWN;
    sig.received = random_below(3) ? 1ull << random_below(63) : 0;
    sig.site = random_below(2) ? 0x7fff12345678u + random_below(16) : 0;
    return sig;
}

/* Tail of an event or a SUB with some flags. */
static inline struct tb_more random_more(struct script *script, uint32_t flags)
{
    struct tb_more more = {.request_thread = script->thread, .request = UINT64_MAX};
    if (flags & TRC_SIG_COLL)
        more.sequence = script->sequence += random_below(3);
    if (flags & TRC_SIG_COMPLETE) {
        switch (random_below(3)) {
        case 0:
            if (script->starts)
                more.request = random_below(script->starts);
            break;
        case 1:
            more.request_thread = script->thread + 1;
            more.request = random_below(1000000);
            break;
        default:
            break;
        }
    }
    return more;
}

static inline void finish(struct script *script, struct seen *seen, uint32_t flags, struct tb_more more)
{
    seen->record.sequence = flags & TRC_SIG_COLL ? more.sequence : 0;
    if (flags & TRC_SIG_COMPLETE) {
        seen->record.request = more.request;
        seen->record.request_thread = more.request == UINT64_MAX ? script->thread : more.request_thread;
    }
    if (flags & TRC_SIG_START)
        seen->record.request = script->starts++;
}

static inline uint32_t random_flags(void)
{
    uint32_t flags = random_below(3) ? 0 : TRC_SIG_COLL;
    switch (random_below(4)) {
    case 0:
        return flags | TRC_SIG_START | TRC_SIG_P2P_IN;
    case 1:
        return flags | TRC_SIG_COMPLETE;
    default:
        return flags;
    }
}

static inline void random_event(struct script *script)
{
    struct trc_sig sig = random_sig();
    sig.flags = random_flags() | (random_below(10) ? 0 : TRC_SIG_NESTED);
    int64_t begin = script->now + (int64_t)random_below(300);
    int64_t end = begin + (int64_t)(random_below(10) ? random_below(200) : random_below(1000000));
    struct tb_more more = random_more(script, sig.flags);
    tb_event(script->tb, script->thread, &sig, begin, end, more);
    script->begin = tb_ticks(script->tb, begin);
    script->end = tb_ticks(script->tb, end);
    finish(script, expect(script, TRC_RECORD_EVENT, &sig, script->begin, script->end), sig.flags, more);
    if (!(sig.flags & TRC_SIG_NESTED)) {
        script->now = end;
        script->base = script->end;
    }
}

static inline void random_sub(struct script *script)
{
    struct trc_sig sig = random_sig();
    sig.flags = random_flags();
    struct tb_more more = random_more(script, sig.flags);
    tb_sub(script->tb, script->thread, &sig, more);
    sig.flags |= TRC_SIG_SUB;
    finish(script, expect(script, TRC_RECORD_EVENT, &sig, script->begin, script->end), sig.flags, more);
}

static inline void random_row(struct script *script)
{
    for (uint64_t folds = 1 + random_below(4); folds--;) {
        struct trc_sig sig = tb_sig(TB_IPROBE);
        sig.flags = TRC_SIG_POLL;
        sig.source = (int32_t)random_below(3);
        int64_t begin = script->now + (int64_t)random_below(500), end = begin + 10 + (int64_t)random_below(500);
        tb_fold(script->tb, script->thread, &sig, begin, end, 2, 3);
        struct seen *seen =
            expect(script, TRC_RECORD_FOLD, &sig, tb_ticks(script->tb, begin), tb_ticks(script->tb, end));
        seen->record.count = 2;
        seen->record.busy = 3;
        if (random_below(2)) {
            tb_fold_more(script->tb, script->thread, end += 1000, 5, 4);
            seen->record.end = tb_ticks(script->tb, end);
            seen->record.count = 7;
            seen->record.busy = 7;
        }
        script->now = end > script->now ? end : script->now;
    }
    script->base = tb_ticks(script->tb, script->now);
    tb_lost(script->tb, script->thread, 9); /* ends the row: the next FOLD has a base of its own */
    struct seen *seen = expect(script, TRC_RECORD_LOST, NULL, script->base, script->base);
    seen->record.count = 9;
    seen->record.busy = 0;
}

static inline void random_step(struct script *script)
{
    uint64_t what = random_below(100);
    if (what < 70 || !script->count)
        random_event(script);
    else if (what < 90)
        random_sub(script);
    else if (what < 97)
        random_row(script);
    else if (what < 99) {
        static const uint8_t future[] = {5, 3, 'x', 'y', 'z'};
        tb_raw(script->tb, script->thread, future, sizeof future, 0);
    } else
        tb_next_chunk(script->tb, script->thread);
}

static inline struct script script_new(struct tb *tb, uint32_t thread)
{
    struct script script = {.tb = tb, .thread = thread};
    random_event(&script); /* SUB items need one */
    return script;
}

/* ---- exchanges there and back ------------------------------------------------------------------------------------ */

static inline void compare(const struct script *script, const struct seen *got, size_t n, const char *what)
{
    CHECK(n == script->count, "%s: %zu records of %zu", what, n, script->count);
    for (size_t i = 0; i < n && i < script->count; i++)
        if (!same(&got[i], &script->expected[i])) {
            const struct trc_record *a = &got[i].record, *b = &script->expected[i].record;
            CHECK(0, "%s: record %zu: kind %d %d begin %llu %llu end %llu %llu count %llu %llu request %llu %llu", what,
                  i, a->kind, b->kind, (unsigned long long)a->begin, (unsigned long long)b->begin,
                  (unsigned long long)a->end, (unsigned long long)b->end, (unsigned long long)a->count,
                  (unsigned long long)b->count, (unsigned long long)a->request, (unsigned long long)b->request);
            return;
        }
}

#endif
