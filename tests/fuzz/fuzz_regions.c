/* Any bytes as the items of a chunk of events, where regions of the program's own are known: an input follows three
 * calls of a thread, whose signatures it may use.  With libFuzzer (`make fuzz-run`), or as a program that takes files:
 * the corpus, in `make check`. */
#include "tests/fuzz/chunk.h"

static struct tb *build(int rank)
{
    static const char *const names[] = {"step", "solve", "exchange", "step"};
    struct tb *tb = tb_new(rank, 2);
    for (uint32_t i = 0; i < 4; i++)
        tb_define(tb, TRC_DEF_REGION, i + 1, 0, 0, names[i], strlen(names[i]), strlen(names[i]));
    tb_site(tb, 0x1000u + TB_SEND, "main+0x10", "app+0x10");
    tb_send(tb, 0, 1000, 1100, 1 - rank, 5, 64);
    tb_recv(tb, 0, 1200, 1300, 1 - rank, 5, 64);
    tb_allreduce(tb, 0, 1400, 1500, TB_WORLD, 1, 8);
    return tb;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_chunk chunk;
    if (!chunk.file)
        fuzz_build(&chunk, build, TRC_CHUNK_EVENTS, true);
    fuzz_begin();
    fuzz_try(&chunk, data, size);
    return 0;
}
