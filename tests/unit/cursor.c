/* Items: every kind there and back, growing files, truncation at every byte, recycled chunks, damage. */
#include "tests/support/trace_builder.h"
#include "trace/encode.h"
#include "trace/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;
#define CHECK(cond, ...)                                                                                               \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            failures++;                                                                                                \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #cond);                                                          \
            printf(__VA_ARGS__);                                                                                       \
            printf("\n");                                                                                              \
        }                                                                                                              \
    } while (0)

static char path[64];

static void write_bytes(const void *bytes, size_t size)
{
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(bytes, 1, size, out) != size || fclose(out))
        exit(1);
}

static struct trc_file *open_good(void)
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

static struct seen seen_of(const struct trc_record *record)
{
    struct seen seen = {*record, record->sig ? *record->sig : (struct trc_sig){0}};
    seen.record.sig = NULL;
    return seen;
}

static bool same(const struct seen *a, const struct seen *b)
{
    const struct trc_record *x = &a->record, *y = &b->record;
    return x->kind == y->kind && x->begin == y->begin && x->end == y->end && x->count == y->count &&
           x->busy == y->busy && x->sequence == y->sequence && x->request_thread == y->request_thread &&
           x->request == y->request && !memcmp(&a->sig, &b->sig, sizeof a->sig);
}

/* Everything of one thread that is there; the caller frees it. */
static struct seen *read_all(struct trc_file *file, size_t thread, size_t *count)
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
static uint64_t random_below(uint64_t n)
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

static struct seen *expect(struct script *script, enum trc_record_kind kind, const struct trc_sig *sig, uint64_t begin,
                           uint64_t end)
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

static struct trc_sig random_sig(void)
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

/* The tail that an event or a SUB of these flags has. */
static struct tb_more random_more(struct script *script, uint32_t flags)
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

static void finish(struct script *script, struct seen *seen, uint32_t flags, struct tb_more more)
{
    seen->record.sequence = flags & TRC_SIG_COLL ? more.sequence : 0;
    if (flags & TRC_SIG_COMPLETE) {
        seen->record.request = more.request;
        seen->record.request_thread = more.request == UINT64_MAX ? script->thread : more.request_thread;
    }
    if (flags & TRC_SIG_START)
        seen->record.request = script->starts++;
}

static uint32_t random_flags(void)
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

static void random_event(struct script *script)
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

static void random_sub(struct script *script)
{
    struct trc_sig sig = random_sig();
    sig.flags = random_flags();
    struct tb_more more = random_more(script, sig.flags);
    tb_sub(script->tb, script->thread, &sig, more);
    sig.flags |= TRC_SIG_SUB;
    finish(script, expect(script, TRC_RECORD_EVENT, &sig, script->begin, script->end), sig.flags, more);
}

static void random_row(struct script *script)
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

static void random_step(struct script *script)
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

static struct script script_new(struct tb *tb, uint32_t thread)
{
    struct script script = {.tb = tb, .thread = thread};
    random_event(&script); /* SUB items need one */
    return script;
}

/* ---- there and back --------------------------------------------------------------------------------------------- */

static void compare(const struct script *script, const struct seen *got, size_t n, const char *what)
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

static void test_round_trip(uint32_t chunk_size, uint32_t thread, size_t steps)
{
    struct tb *tb = tb_new_small(0, 4, chunk_size, 1u << 20);
    struct script script = script_new(tb, thread), other = script_new(tb, thread + 1);
    for (size_t i = 0; i < steps; i++) {
        random_step(&script);
        if (i % 3 == 0)
            random_step(&other);
    }
    tb_write(tb, path);
    struct trc_file *file = open_good();
    size_t n;
    struct seen *got = read_all(file, thread, &n);
    compare(&script, got, n, "one thread");
    free(got);
    got = read_all(file, thread + 1, &n);
    compare(&other, got, n, "the other");
    free(got);
    CHECK(!trc_damage(file, 0), "%s", trc_damage(file, 0));
    trc_close(file);
    free(script.expected);
    free(other.expected);
    tb_free(tb);
}

/* A live file: read after every few calls, nothing twice and nothing missing. */
static void test_growth(void)
{
    struct tb *tb = tb_new_small(0, 4, 4096, 1u << 20);
    struct script script = script_new(tb, 0);
    tb_running(tb, 1);
    tb_write(tb, path);
    struct trc_file *file = open_good();
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct seen *got = malloc(100000 * sizeof *got);
    size_t n = 0;
    struct trc_record record;
    for (int round = 0; round < 300; round++) {
        for (uint64_t i = random_below(12); i--;)
            random_step(&script);
        tb_running(tb, round);
        tb_write(tb, path);
        trc_refresh(file);
        while (trc_next(cursor, &record) == TRC_OK)
            got[n++] = seen_of(&record);
    }
    compare(&script, got, n, "growing");
    CHECK(!trc_damage(file, 0), "%s", trc_damage(file, 0));
    trc_cursor_close(cursor);
    trc_close(file);
    free(got);
    free(script.expected);
    tb_free(tb);
}

/* FOLDs at the end of a live file are held back while they grow, and delivered once. */
static void test_held_back(void)
{
    enum { BY_EVENT, BY_STATE, BY_FINAL, BY_CHUNK, WAYS };
    for (int way = 0; way < WAYS; way++) {
        struct tb *tb = tb_new(0, 2);
        struct trc_sig poll = tb_sig(TB_IPROBE), other = tb_sig(TB_TEST);
        poll.flags = other.flags = TRC_SIG_POLL;
        tb_running(tb, 1);
        tb_send(tb, 0, 10, 20, 1, 1, 1);
        tb_fold(tb, 0, &poll, 30, 40, 1, 1);
        tb_write(tb, path);
        struct trc_file *file = open_good();
        struct trc_cursor *cursor = trc_cursor_open(file, 0);
        struct trc_record record;
        CHECK(trc_next(cursor, &record) == TRC_OK && record.kind == TRC_RECORD_EVENT, "the event before");
        CHECK(trc_next(cursor, &record) == TRC_END, "a FOLD that grows was delivered");
        tb_fold_more(tb, 0, 50, 10, 10);
        tb_write(tb, path);
        trc_refresh(file);
        CHECK(trc_next(cursor, &record) == TRC_END, "a FOLD that grows was delivered");
        tb_fold(tb, 0, &other, 60, 70, 3, 3); /* a second one in the row, then both grow */
        tb_write(tb, path);
        trc_refresh(file);
        CHECK(trc_next(cursor, &record) == TRC_END, "a row that grows was delivered");
        tb_fold_more(tb, 0, 90, 1, 1);
        uint64_t expected = 4;
        switch (way) {
        case BY_EVENT:
            tb_send(tb, 0, 100, 120, 1, 1, 1);
            break;
        case BY_STATE:
            tb_head(tb)->state = TRC_STATE_FINALIZED;
            break;
        case BY_CHUNK:
            tb_next_chunk(tb, 0);
            break;
        default:
            break;
        }
        tb_write(tb, path);
        trc_refresh(file);
        if (way == BY_FINAL)
            trc_set_final(file);
        CHECK(trc_next(cursor, &record) == TRC_OK && record.kind == TRC_RECORD_FOLD && record.count == 11 &&
                  record.begin == tb_ticks(tb, 30) && record.end == tb_ticks(tb, 50),
              "way %d: the first FOLD, count %llu", way, (unsigned long long)record.count);
        CHECK(trc_next(cursor, &record) == TRC_OK && record.kind == TRC_RECORD_FOLD && record.count == expected &&
                  record.begin == tb_ticks(tb, 60) && record.end == tb_ticks(tb, 90),
              "way %d: the second FOLD, count %llu", way, (unsigned long long)record.count);
        if (way == BY_EVENT)
            CHECK(trc_next(cursor, &record) == TRC_OK && record.kind == TRC_RECORD_EVENT &&
                      record.begin == tb_ticks(tb, 100),
                  "the event behind a row stands on its latest end");
        CHECK(trc_next(cursor, &record) == TRC_END, "way %d: something twice", way);
        trc_cursor_close(cursor);
        trc_close(file);
        tb_free(tb);
    }
}

/* Every prefix of a file can be read, and gives a prefix of its records. */
static void test_truncation(void)
{
    struct tb *tb = tb_new_small(0, 4, 4096, 1u << 20);
    struct script script = script_new(tb, 0);
    while (tb_head(tb)->chunks_used < 3)
        random_step(&script);
    size_t size, before = script.count, chunks = tb_head(tb)->chunks_offset;
    const uint8_t *image = tb_image(tb, &size);
    write_bytes(image, size);
    for (size_t cut = size; cut-- > 0;) {
        if (cut == chunks - 100) /* the schema is cut byte by byte elsewhere */
            cut = TRC_HEAD_SIZE + 100;
        if (truncate(path, (off_t)cut))
            exit(1);
        struct trc_file *file = NULL;
        char error[512] = "";
        if (trc_open(path, &file, error, sizeof error) != TRC_OK) {
            CHECK(cut < TRC_HEAD_SIZE && error[0], "cut at %zu: %s", cut, error);
            continue;
        }
        size_t n;
        struct seen *got = read_all(file, 0, &n);
        CHECK(n <= before, "cut at %zu: %zu records, but %zu of a longer file", cut, n, before);
        CHECK(n + 400 > before, "cut at %zu: %zu records, and %zu one byte further", cut, n, before);
        before = n;
        for (size_t i = 0; i < n; i++)
            if (!same(&got[i], &script.expected[i])) {
                CHECK(0, "cut at %zu: record %zu is not that of the whole file", cut, i);
                break;
            }
        CHECK(trc_damage(file, 0), "cut at %zu: not told", cut);
        free(got);
        trc_close(file);
    }
    CHECK(before == 0, "records in a file without chunks");
    free(script.expected);
    tb_free(tb);
}

/* Whatever the bytes are, reading ends, and times are in order. */
static void read_anything(void)
{
    struct trc_file *file = NULL;
    char error[512];
    if (trc_open(path, &file, error, sizeof error) != TRC_OK)
        return;
    for (size_t thread = 0; thread < trc_threads(file); thread++) {
        struct trc_cursor *cursor = trc_cursor_open(file, thread);
        struct trc_record record;
        size_t n = 0;
        while (trc_next(cursor, &record) == TRC_OK && n++ < 1000000) {
            CHECK(record.begin <= record.end, "a record that ends before it begins");
            CHECK((record.kind == TRC_RECORD_LOST) == !record.sig, "a record without a signature");
        }
        CHECK(n < 1000000, "a cursor that does not end");
        trc_cursor_seek(cursor, 1000000500);
        trc_next(cursor, &record);
        trc_cursor_close(cursor);
    }
    trc_refresh(file);
    trc_close(file);
}

static void test_bit_flips(void)
{
    struct tb *tb = tb_new_small(0, 4, 4096, 1u << 20);
    struct script script = script_new(tb, 0);
    while (tb_head(tb)->chunks_used < 5)
        random_step(&script);
    size_t size;
    const uint8_t *image = tb_image(tb, &size);
    uint8_t *bytes = malloc(size);
    size_t chunks = tb_head(tb)->chunks_offset;
    for (int round = 0; round < 500; round++) {
        memcpy(bytes, image, size);
        for (uint64_t flips = 1 + random_below(4); flips--;) {
            size_t at = random_below(4) ? chunks + random_below(size - chunks) : random_below(TRC_HEAD_SIZE / 4);
            bytes[at] ^= (uint8_t)(1u << random_below(8));
        }
        write_bytes(bytes, size);
        read_anything();
    }
    free(bytes);
    free(script.expected);
    tb_free(tb);
}

/* ---- recycling, seeking, -------------------------------------------------------------------------------------------
 */

static void send_many(struct tb *tb, int *next, int n)
{
    for (; n--; ++*next)
        tb_send(tb, 0, 100 * *next, 100 * *next + 50, 1, *next, 8);
}

static void test_recycled(void)
{
    struct tb *tb = tb_new_small(0, 2, 4096, 6);
    int sent = 0;
    tb_running(tb, 1);
    send_many(tb, &sent, 20);
    tb_write(tb, path);
    struct trc_file *file = open_good();
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    int got = 0;
    uint64_t lost = 0;
    bool untold = false;
    for (int round = 0; round < 200; round++) {
        /* Slow readers: sometimes a whole file's worth of records passes between two looks. */
        send_many(tb, &sent, round % 20 == 19 ? 3000 : 30);
        tb_write(tb, path);
        if (round % 7 != 3) /* else: the cursor meets chunks that changed since the last look */
            trc_refresh(file);
        for (int i = 0; (round % 20 > 17 ? i < 10 : 1) && trc_next(cursor, &record) == TRC_OK; i++) {
            if (record.kind == TRC_RECORD_LOST) {
                lost += record.count;
                untold |= !record.count;
                continue;
            }
            int number = record.sig->tag;
            CHECK(number >= got, "record %d after %d", number, got);
            CHECK(number == got || lost || untold, "record %d after %d, and nothing was said", number, got);
            CHECK(record.begin == tb_ticks(tb, 100 * number), "record %d has a wrong time", number);
            if (number > got && !untold)
                CHECK((uint64_t)(number - got) == lost, "%d records missed, %llu told", number - got,
                      (unsigned long long)lost);
            got = number + 1;
            lost = 0;
            untold = false;
        }
    }
    CHECK(tb_head(tb)->recycled_chunks > 10, "nothing was recycled");
    CHECK(!trc_damage(file, 0), "%s", trc_damage(file, 0));
    trc_cursor_close(cursor);
    trc_close(file);
    file = open_good(); /* a reader that comes late begins at the oldest kept */
    size_t n;
    struct seen *all = read_all(file, 0, &n);
    CHECK(n && all[n - 1].sig.tag == sent - 1 && all[0].sig.tag == sent - (int)n, "what is kept: %zu", n);
    CHECK(n + trc_head(file)->recycled_records == (size_t)sent, "kept and recycled make all");
    free(all);
    trc_close(file);
    tb_free(tb);
}

static void test_seek(void)
{
    struct tb *tb = tb_new_small(0, 2, 4096, 1000);
    int sent = 0;
    send_many(tb, &sent, 5000);
    tb_write(tb, path);
    struct trc_file *file = open_good();
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    size_t chunks = trc_event_chunks(file);
    CHECK(chunks > 5, "%zu chunks", chunks);
    for (int want = 0; want < sent; want += 371) {
        uint64_t ticks = tb_ticks(tb, 100 * want);
        trc_cursor_seek(cursor, ticks);
        int skipped = 0;
        while (trc_next(cursor, &record) == TRC_OK && record.end < ticks)
            skipped++;
        CHECK(record.sig->tag == want, "seek to %d found %d", want, record.sig->tag);
        CHECK(skipped < 5000 / (int)chunks * 2, "%d records before", skipped);
    }
    uint32_t records = 0;
    for (size_t i = 0; i < chunks; i++) {
        struct trc_chunk_info info = trc_event_chunk(file, i);
        CHECK(info.thread == 0 && info.first_ticks <= info.last_ticks, "chunk %zu", i);
        records += info.records;
    }
    CHECK(records == 5000, "%u records in the chunks' heads", records);
    CHECK(trc_event_chunk(file, chunks).records == 0, "a chunk out of range");

    tb_next_chunk(tb, 0); /* seek behind all: nothing now, what comes later is delivered */
    tb_head(tb)->state = TRC_STATE_RUNNING;
    tb_write(tb, path);
    trc_refresh(file);
    trc_cursor_seek(cursor, tb_ticks(tb, 1000000000));
    CHECK(trc_next(cursor, &record) == TRC_END, "something behind the end");
    send_many(tb, &sent, 1);
    tb_write(tb, path);
    trc_refresh(file);
    CHECK(trc_next(cursor, &record) == TRC_OK && record.sig->tag == sent - 1, "what came later");
    trc_cursor_close(cursor);
    trc_close(file);
    tb_free(tb);
}

/* Completions that spill into the next chunk belong to the event in the one before. */
static void test_sub_across_chunks(void)
{
    struct tb *tb = tb_new_small(0, 2, 4096, 1000);
    enum { N = 3000 };
    for (int i = 0; i < N; i++)
        tb_irecv(tb, 0, 10 * i, 10 * i + 5, 1, i, 8);
    struct trc_sig wait = tb_sig(TB_WAITALL);
    tb_event(tb, 0, &wait, 100000, 200000, (struct tb_more){0});
    for (int i = 0; i < N; i++)
        tb_completed_recv(tb, 0, (uint64_t)i, 1, i, 8);
    tb_write(tb, path);
    struct trc_file *file = open_good();
    size_t n;
    struct seen *got = read_all(file, 0, &n);
    CHECK(n == 2 * N + 1, "%zu records", n);
    for (size_t i = N + 1; i < n; i++)
        CHECK(got[i].record.begin == tb_ticks(tb, 100000) && got[i].record.end == tb_ticks(tb, 200000) &&
                  got[i].record.request == i - N - 1,
              "completion %zu of request %llu", i, (unsigned long long)got[i].record.request);
    free(got);
    trc_close(file);
    tb_free(tb);
}

/* Committed, but not there: damage in a finished file; on a network file system it may still come. */
static void test_hole(void)
{
    for (int late = 0; late < 4; late++) { /* 2: and its process has finished meanwhile; 3: they never come */
        struct tb *tb = tb_new_small(0, 2, 4096, 1000);
        if (late)
            tb_head(tb)->flags |= TRC_HEAD_WRITE_BACK;
        tb_running(tb, 1);
        int sent = 0;
        send_many(tb, &sent, 300);
        size_t size;
        const uint8_t *image = tb_image(tb, &size);
        uint8_t *bytes = malloc(size);
        memcpy(bytes, image, size);
        size_t hole = tb_head(tb)->chunks_offset + 4096 + 1000; /* in the first EVENTS chunk */
        memset(bytes + hole, 0, 4096 - 1000);
        write_bytes(bytes, size);
        struct trc_file *file = open_good();
        struct trc_cursor *cursor = trc_cursor_open(file, 0);
        struct trc_record record;
        int got = 0;
        tb_running(tb, 2);
        if (late == 2)
            tb_head(tb)->state = TRC_STATE_FINALIZED;
        memcpy(bytes, tb_image(tb, &size), sizeof(struct trc_head));
        write_bytes(bytes, size);
        trc_refresh(file); /* now it is seen to be alive */
        while (trc_next(cursor, &record) == TRC_OK && record.sig->tag == got)
            got++;
        CHECK(got > 20 && got < 100, "%d records before the hole", got);
        if (late == 2)
            trc_set_final(file);
        CHECK(trc_next(cursor, &record) == TRC_OK || late, "nothing behind the hole");
        CHECK(!late == !!trc_damage(file, 0), "late %d: %s", late, trc_damage(file, 0));
        if (late == 3) {
            for (int i = 0; i < 10 && trc_next(cursor, &record) == TRC_END; i++)
                trc_refresh(file);
            CHECK(record.sig->tag > got && trc_damage(file, 0), "waiting for ever");
        } else if (late) {
            tb_write(tb, path);
            trc_refresh(file);
            while (trc_next(cursor, &record) == TRC_OK && record.sig->tag == got)
                got++;
            CHECK(got == sent, "%d of %d records after the hole was filled", got, sent);
        } else
            CHECK(record.sig->tag > got, "what follows the damaged chunk is read");
        trc_cursor_close(cursor);
        trc_close(file);
        free(bytes);
        tb_free(tb);
    }
}

/* Numbers that would run over are damage. */
static void test_hostile_items(void)
{
    uint8_t item[TRC_ITEM_MAX], *end;
    for (int which = 0; which < 5; which++) {
        struct tb *tb = tb_new_small(0, 2, 4096, 1000);
        tb_send(tb, 0, 10, 20, 1, 1, 8);
        switch (which) {
        case 0: /* begin past 2^64 */
            end = trc_put_varint(trc_put_varint(trc_put_event(item, 0), UINT64_MAX), 0);
            break;
        case 1: /* end past 2^64 */
            end = trc_put_varint(trc_put_varint(trc_put_event(item, 0), 0), UINT64_MAX);
            break;
        case 2: /* a signature out of nothing */
            end = trc_put_varint(trc_put_varint(trc_put_event(item, 77), 0), 0);
            break;
        case 3: /* a FOLD past 2^64 */
            end = trc_put_fold(item, 0, UINT64_MAX, 1, 1, UINT64_MAX, NULL);
            break;
        default: /* a signature longer than the chunk */
            end = trc_put_varint(trc_put_varint(item, TRC_ITEM_SIG), UINT64_MAX);
            break;
        }
        tb_raw(tb, 0, item, (size_t)(end - item), 1);
        tb_next_chunk(tb, 0);
        tb_send(tb, 0, 30, 40, 1, 2, 8);
        tb_write(tb, path);
        struct trc_file *file = open_good();
        size_t n;
        struct seen *got = read_all(file, 0, &n);
        CHECK(n == 2 && got[1].sig.tag == 2, "case %d: %zu records", which, n);
        CHECK(trc_damage(file, 0), "case %d: not told", which);
        free(got);
        trc_close(file);
        tb_free(tb);
    }
}

int main(void)
{
    snprintf(path, sizeof path, "hpctop-cursor-%d.hpctop", (int)getpid());
    for (uint64_t seed = 1; seed <= 5; seed++) {
        random_state = seed * 0x9e3779b97f4a7c15u;
        test_round_trip(4096, (uint32_t)seed - 1, 2000);
        test_round_trip(TRC_CHUNK_SIZE, (uint32_t)seed - 1, 20000);
        test_growth();
    }
    test_held_back();
    test_truncation();
    test_bit_flips();
    test_recycled();
    test_seek();
    test_sub_across_chunks();
    test_hole();
    test_hostile_items();
    unlink(path);
    return failures != 0;
}
