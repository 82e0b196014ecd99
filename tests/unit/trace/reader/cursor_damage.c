/* Items where the file is live, cut, damaged, recycled or hostile. */
#include "tests/support/trace_encode.h"
#include "tests/support/random_trace.h"

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
    while (tb_head(tb)->blocks_used < 3)
        random_step(&script);
    size_t size, before = script.count;
    const uint8_t *image = tb_image(tb, &size);
    write_bytes(image, size);
    for (size_t cut = size; cut-- > 0;) {
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

/* Any bytes: reading ends, and times are in order. */
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
    while (tb_head(tb)->blocks_used < 5)
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

    tb_next_chunk(tb, 0); /* seek behind all: nothing now, later items are delivered */
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
        size_t hole = tb_head(tb)->chunks_offset + 4096 + 1008; /* begin of an item in the first EVENTS chunk */
        memset(bytes + hole, 0, 4096 - 1008);
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
    for (int which = 0; which < 8; which++) {
        struct tb *tb = tb_new_small(0, 3, 4096, 1000);
        tb_send(tb, 0, 10, 20, 1, 1, 8);
        switch (which) {
        case 0: /* begin past 2^64 */
            end = trc_put_varint(trc_put_varint(tb_put_event(item, 0), UINT64_MAX), 0);
            break;
        case 1: /* end past 2^64 */
            end = trc_put_varint(trc_put_varint(tb_put_event(item, 0), 0), UINT64_MAX);
            break;
        case 2: /* a signature out of nothing */
            end = trc_put_varint(trc_put_varint(tb_put_event(item, 77), 0), 0);
            break;
        case 3: /* a FOLD past 2^64 */
            end = tb_put_fold(item, 0, UINT64_MAX, 1, 1, UINT64_MAX, NULL);
            break;
        case 4: /* a signature like one that is not there */
            end = trc_put_varint(trc_put_varint(trc_put_varint(item, TRC_ITEM_LIKE), 2), 77);
            end = trc_put_varint(end, 0);
            break;
        case 5: /* a completion of a signature that is not there */
            tb_next_chunk(tb, 0);
            end = trc_put_done(item);
            break;
        case 6: /* a signature like another without a mask */
            end = trc_put_varint(trc_put_varint(trc_put_varint(item, TRC_ITEM_LIKE), 1), 0);
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
    snprintf(path, sizeof path, "hpctop-cursor-damage-%d.hpctop", (int)getpid());
    test_held_back();
    test_truncation();
    test_bit_flips();
    test_recycled();
    test_seek();
    test_sub_across_chunks();
    test_hole();
    test_hostile_items();
    unlink(path);
    return check_result();
}
