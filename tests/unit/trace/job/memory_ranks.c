/* What a rank more takes of memory where there are thousands: so many bytes a rank, however long the trace is. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define FEW    2100 /* from 2,048 on each rank has the same resolution, and steps */
#define MANY   3150
#define ROUNDS 64
#define MOST   (72u << 10) /* bytes a rank */

/* Each round a message to the next rank, which one half of the ranks is late for, and a collective. */
static void build(int ranks)
{
    for (int r = 0; r < ranks; r++) {
        struct tb *tb = tb_new(r, ranks);
        for (int64_t i = 0; i < ROUNDS; i++) {
            int64_t t = 1000 + i * 1000000, late = r % 2 * 700;
            tb_send(tb, 0, t + late, t + late + 200, (r + 1) % ranks, 5, 64);
            tb_recv(tb, 0, t + late + 300, t + 1500, (r + ranks - 1) % ranks, 5, 64);
            tb_allreduce(tb, 0, t + 2000 + r % 100, t + 3000, TB_WORLD, (uint64_t)i + 1, 8);
        }
        folder_write(tb, r);
    }
}

static void analyse(int ranks)
{
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    uint64_t matched = 0;
    for (size_t i = 0; i < s.pair_count; i++)
        matched += s.pairs[i].messages;
    _exit(s.analysed == 1 && s.wait_count > 0 && matched == (uint64_t)ranks * ROUNDS ? 0 : 1);
}

/* Peak memory in bytes of a process that analyses a trace of so many ranks. */
static double peak(int ranks)
{
    folder_make("memory_ranks");
    fflush(stdout);
    pid_t child = fork(); /* the builder's memory is its own */
    if (child == 0) {
        build(ranks);
        _exit(0);
    }
    int status = 1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "building: %d", status);
    child = fork();
    if (child == 0)
        analyse(ranks);
    struct rusage used = {0};
    CHECK(child > 0 && wait4(child, &status, 0, &used) == child && status == 0, "the analysis: %d", status);
    folder_remove();
    return (double)used.ru_maxrss * 1024;
}

int main(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    printf("a sanitizer keeps what was freed, and has memory of its own\n");
    return 77;
#endif
    double few = peak(FEW), many = peak(MANY), each = (many - few) / (MANY - FEW);
    printf("%d ranks %.1f MB, %d ranks %.1f MB: %.1f kB a rank\n", FEW, few / 1e6, MANY, many / 1e6, each / 1e3);
    CHECK(each < MOST, "%.0f bytes for each rank more", each);
    return check_result();
}
