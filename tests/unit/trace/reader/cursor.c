/* Items: random scripts of every kind there and back, also in a growing file. */
#include "tests/support/random_trace.h"
#include "tests/support/trace_encode.h"

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

/* The second and third signature differ from the first in the bytes sent, which the bytes received equal. */
static void test_like(void)
{
    struct tb *tb = tb_new(0, 4);
    struct trc_sig sig = tb_sig(TB_SEND);
    sig.sent = sig.received = 8;
    tb_event(tb, 0, &sig, 10, 20, (struct tb_more){0});
    for (uint32_t i = 1; i < 3; i++) {
        uint8_t item[2 * TRC_ITEM_MAX], body[TRC_ITEM_MAX], *end = trc_put_varint(body, i);
        end = trc_put_varint(trc_put_varint(end, 1u << TRC_SIG_FIELD_sent), 100 * i);
        const size_t size = (size_t)(end - body);
        end = trc_put_varint(trc_put_varint(item, TRC_ITEM_LIKE), size);
        end = (uint8_t *)memcpy(end, body, size) + size;
        end = trc_put_varint(trc_put_varint(tb_put_event(end, i), 1), 2);
        tb_raw(tb, 0, item, (size_t)(end - item), 1);
    }
    tb_write(tb, path);
    struct trc_file *file = open_good();
    size_t n;
    struct seen *got = read_all(file, 0, &n);
    CHECK(n == 3 && got[1].sig.sent == 100 && got[2].sig.sent == 200, "%zu records", n);
    CHECK(n == 3 && got[2].sig.received == 200, "bytes received");
    CHECK(!trc_damage(file, 0), "%s", trc_damage(file, 0));
    free(got);
    trc_close(file);
    tb_free(tb);
}

int main(void)
{
    snprintf(path, sizeof path, "hpctop-cursor-%d.hpctop", (int)getpid());
    for (uint64_t seed = 1; seed <= 5; seed++) {
        random_state = seed * 0x9e3779b97f4a7c15u;
        test_round_trip(4096, (uint32_t)seed - 1, 2000);
        test_round_trip(TRC_CHUNK_MOST * TRC_BLOCK, (uint32_t)seed - 1, 20000);
        test_growth();
    }
    test_like();
    unlink(path);
    return check_result();
}
