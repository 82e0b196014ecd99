/* Unions of spans against a timeline painted second by second, in any order; and NCCL's formulas. */
#include "tests/support/check.h"
#include "trace/gpu/nccl_bandwidth.h"
#include "trace/format/format.h"
#include "trace/util/spans.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define LENGTH 2000

static uint32_t seed;
static uint32_t random_below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static void compare(const struct ana_mix *mix, bool painted[ANA_GPU_KINDS][LENGTH], int from)
{
    int64_t want[ANA_GPU_MIXES] = {0}, got[ANA_GPU_MIXES];
    for (int t = from; t < LENGTH; t++) {
        unsigned now = 0;
        for (unsigned k = 0; k < ANA_GPU_KINDS; k++)
            now |= painted[k][t] ? 1u << k : 0;
        want[now] += now ? 1 : 0;
    }
    ana_mix_sum(mix, got);
    CHECK(memcmp(want, got, sizeof want) == 0, "seed %u: %lld %lld %lld, wanted %lld %lld %lld", seed,
          (long long)got[1], (long long)got[2], (long long)got[3], (long long)want[1], (long long)want[2],
          (long long)want[3]);
}

/* Any order, all kept. */
static void test_any_order(void)
{
    for (uint32_t round = 0; round < 200; round++) {
        static bool painted[ANA_GPU_KINDS][LENGTH];
        struct ana_mix mix = {.max = 100000};
        memset(painted, 0, sizeof painted);
        seed = round;
        for (int i = 0; i < 60; i++) {
            enum ana_gpu_kind kind = random_below(ANA_GPU_KINDS);
            int begin = (int)random_below(LENGTH), end = begin + (int)random_below(40);
            end = end < LENGTH ? end : LENGTH;
            CHECK(ana_mix_add(&mix, kind, begin, end), "out of memory");
            for (int t = begin; t < end; t++)
                painted[kind][t] = true;
        }
        compare(&mix, painted, 0);
        ana_mix_free(&mix);
    }
}

/* Spans in about the order of time, with room for a few only: nothing is lost. */
static void test_bounded(void)
{
    for (uint32_t round = 0; round < 50; round++) {
        static bool painted[ANA_GPU_KINDS][LENGTH];
        struct ana_mix mix = {.max = 32};
        memset(painted, 0, sizeof painted);
        seed = round;
        for (int begin = 0; begin < LENGTH - 8; begin += 1 + (int)random_below(4)) {
            enum ana_gpu_kind kind = random_below(ANA_GPU_KINDS);
            int late = begin > 12 ? begin - (int)random_below(12) : begin, end = late + 1 + (int)random_below(3);
            CHECK(ana_mix_add(&mix, kind, late, end), "out of memory");
            for (int t = late; t < end; t++)
                painted[kind][t] = true;
        }
        CHECK(mix.settled && mix.of[0].count <= 32, "%zu kept", mix.of[0].count);
        compare(&mix, painted, 0);
        ana_mix_free(&mix);
    }
}

/* Values that nccl-tests prints for n = 4 and 1 MiB a rank. */
static void test_bandwidth(void)
{
    static const struct {
        const char *call;
        uint64_t sent, received, size;
        double factor;
    } table[] = {
        {"ncclAllReduce", 1000, 1000, 1000, 1.5},
        {"ncclAllReduceConfig", 1000, 1000, 1000, 1.5},
        {"ncclAllGather", 1000, 4000, 4000, 0.75},
        {"ncclReduceScatter", 4000, 1000, 4000, 0.75},
        {"ncclAlltoAll", 4000, 4000, 4000, 0.75},
        {"ncclGather", 1000, 0, 4000, 0.75},
        {"ncclGather", 1000, 4000, 4000, 0.75},
        {"ncclScatter", 0, 1000, 4000, 0.75},
        {"ncclScatter", 4000, 1000, 4000, 0.75},
        {"ncclBroadcast", 1000, 0, 1000, 1},
        {"ncclBcast", 0, 1000, 1000, 1},
        {"ncclReduce", 1000, 1000, 1000, 1},
        {"ncclReduce", 1000, 0, 1000, 1},
        {"ncclSend", 1000, 0, 1000, 1},
        {"ncclRecv", 0, 1000, 1000, 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint64_t size = ana_nccl_size(table[i].call, table[i].sent, table[i].received, 4);
        double factor = ana_nccl_bus_factor(table[i].call, 4);
        CHECK(size == table[i].size && fabs(factor - table[i].factor) < 1e-12, "%s: %llu, %g", table[i].call,
              (unsigned long long)size, factor);
        CHECK(isnan(ana_nccl_bus_factor(table[i].call, 1)), "%s on one rank", table[i].call);
    }
    CHECK(isnan(ana_nccl_bus_factor("ncclCommSplit", 4)), "no operation");
    CHECK(ana_nccl_size("ncclCommSplit", 0, 0, 4) == UINT64_MAX, "no operation");
    CHECK(ana_nccl_size("ncclAllReduce", TRC_BYTES_UNKNOWN, 8, 4) == UINT64_MAX, "unknown stays unknown");
    CHECK(ana_nccl_kernel("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24x") &&
              ana_nccl_kernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t") && !ana_nccl_kernel("_Z4busyi") &&
              !ana_nccl_kernel(NULL),
          "whose kernel");
}

int main(void)
{
    test_any_order();
    test_bounded();
    test_bandwidth();
    return check_result();
}
