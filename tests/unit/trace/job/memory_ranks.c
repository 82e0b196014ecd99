/* Memory of one rank more where there are thousands: a number of bytes a rank, however long the trace is. */
#include "tests/support/peak.h"

#define FEW  2100 /* ranks; resolution and steps are equal from 2,048 ranks on */
#define MANY 3150

static int64_t rounds;

/* Each round a message to the next rank, which one half of the ranks is late for, and a collective. */
static void build(int64_t n)
{
    int ranks = (int)n;
    for (int r = 0; r < ranks; r++) {
        struct tb *tb = tb_new(r, ranks);
        for (int64_t i = 0; i < rounds; i++) {
            int64_t t = 1000 + i * 1000000, late = r % 2 * 700;
            tb_send(tb, 0, t + late, t + late + 200, (r + 1) % ranks, 5, 64);
            tb_recv(tb, 0, t + late + 300, t + 1500, (r + ranks - 1) % ranks, 5, 64);
            tb_allreduce(tb, 0, t + 2000 + r % 100, t + 3000, TB_WORLD, (uint64_t)i + 1, 8);
        }
        folder_write(tb, r);
    }
}

/* Peak memory in bytes of a process that analyses a trace of `ranks` ranks. */
static double peak(int ranks)
{
    return (double)peak_of("memory_ranks", build, ranks, (uint64_t)(ranks * rounds));
}

static void check(int64_t of_rounds, double most)
{
    rounds = of_rounds;
    double few = peak(FEW), many = peak(MANY), each = (many - few) / (MANY - FEW);
    printf("%d rounds: %d ranks %.1f MB, %d ranks %.1f MB: %.1f kB a rank\n", (int)rounds, FEW, few / 1e6, MANY,
           many / 1e6, each / 1e3);
    CHECK(each < most, "%.0f bytes for each rank more", each);
}

int main(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    printf("a sanitizer keeps what was freed, and has memory of its own\n");
    return 77;
#endif
    check(64, 50e3);
    check(20, 31e3); /* little is kept of a rank that does little; runs differ by 300 bytes */
    return check_result();
}
