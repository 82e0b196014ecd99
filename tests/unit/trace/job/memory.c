/* Memory of the analysis does not grow with the length of a trace: of one ten times as long, its peak memory is larger
 * by no more than the newest messages, waits and collectives that a job keeps (store.h, bounded) take in it. */
#include "tests/support/peak.h"
#include "trace/sums/store.h"

#define ROUNDS 30000 /* rounds of the long one that fill the store */
#define LONGER 10
#define SLACK  (4u << 20) /* heads of chunks, and what malloc and the kernel round up */

/* Each round a message to and fro, both waited for, and a collective. */
static void build(int64_t rounds)
{
    struct tb *tb[2] = {tb_new(0, 2), tb_new(1, 2)};
    for (int64_t i = 0; i < rounds; i++) {
        int64_t t = 1000 + i * 34000; /* long enough that the pyramid of the brief one is as full */
        for (int32_t a = 0; a < 2; a++) {
            tb_recv(tb[1 - a], 0, t + a * 1000 - 300, t + a * 1000 + 400, a, 5, 8);
            tb_send(tb[a], 0, t + a * 1000, t + a * 1000 + 200, 1 - a, 5, 8);
        }
        for (int32_t r = 0; r < 2; r++)
            tb_allreduce(tb[r], 0, t + 1500 + r * 50, t + 1600, TB_WORLD, (uint64_t)i + 1, 8);
    }
    for (int r = 0; r < 2; r++)
        folder_write(tb[r], r);
}

/* Peak memory in bytes of a process that analyses a trace of `rounds` rounds. */
static size_t peak(int64_t rounds)
{
    return peak_of("memory", build, rounds, (uint64_t)rounds * 2);
}

static size_t kept(size_t n, size_t room, size_t size)
{
    return (n < room ? n : room) * size;
}

/* Memory of the store with `rounds` rounds. */
static size_t stored(size_t rounds)
{
    return kept(2 * rounds, ANA_STORE_MESSAGES, sizeof(struct ana_stored_message)) +
           kept(3 * rounds, ANA_STORE_WAITS, sizeof(struct ana_stored_wait)) +
           kept(rounds, ANA_STORE_INSTANCES, sizeof(struct ana_stored_instance));
}

int main(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    printf("a sanitizer keeps what was freed, and has memory of its own\n");
    return 77;
#endif
    size_t brief = peak(ROUNDS), lengthy = peak(ROUNDS * LONGER);
    size_t allowed = brief + stored(ROUNDS * LONGER) - stored(ROUNDS) + SLACK;
    printf("%zu kB, ten times as long %zu kB, of which %zu kB more in the store\n", brief / 1024, lengthy / 1024,
           (stored(ROUNDS * LONGER) - stored(ROUNDS)) / 1024);
    CHECK(lengthy <= allowed, "%zu kB for a trace of %d rounds, %zu kB for one of %d", brief / 1024, ROUNDS,
          lengthy / 1024, ROUNDS * LONGER);
    return check_result();
}
