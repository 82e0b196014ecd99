/* Items: random scripts of every kind there and back, also in a growing file. */
#include "tests/support/random_trace.h"

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

int main(void)
{
    snprintf(path, sizeof path, "hpctop-cursor-%d.hpctop", (int)getpid());
    for (uint64_t seed = 1; seed <= 5; seed++) {
        random_state = seed * 0x9e3779b97f4a7c15u;
        test_round_trip(4096, (uint32_t)seed - 1, 2000);
        test_round_trip(TRC_CHUNK_MOST * TRC_BLOCK, (uint32_t)seed - 1, 20000);
        test_growth();
    }
    unlink(path);
    return check_result();
}
