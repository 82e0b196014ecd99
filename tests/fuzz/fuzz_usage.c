/* Any bytes as the items of a chunk of usage, in a job with segments that it is joined to.  With libFuzzer
 * (`make fuzz-run`), or as a program that takes files: the corpus, in `make check`. */
#include "tests/fuzz/chunk.h"

enum { CALLS = 20, GAP_NS = 5000 };

/* Two threads that compute between sums, and one item of usage. */
static struct tb *build(int rank)
{
    struct tb *tb = tb_new(rank, 2);
    tb_site(tb, 0x1000u + TB_ALLREDUCE, "main+0x10", "app+0x10");
    for (int i = 0; i < CALLS; i++)
        for (uint32_t thread = 0; thread < 2; thread++) {
            int64_t at = (int64_t)(i + 1) * GAP_NS + thread * 10;
            if (thread)
                tb_send(tb, thread, at, at + 100, 1 - rank, 5, 64);
            else
                tb_allreduce(tb, thread, at, at + 200, TB_WORLD, (uint64_t)i + 1, 8);
        }
    tb_usage(tb, 0, GAP_NS, &(struct trc_usage){.whose = TRC_USAGE_PROCESS, .fields = 1}, 1);
    return tb;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_chunk chunk;
    if (!chunk.file)
        fuzz_build(&chunk, build, TRC_CHUNK_USAGE, false);
    fuzz_begin();
    fuzz_try(&chunk, data, size);
    return 0;
}
