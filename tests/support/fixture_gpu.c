/* The GPUs of the fixture: an all-reduce that overlaps, one that does not, and a model's kernels. */
#include "tests/support/fixture_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ana_times times(uint64_t count, double p50)
{
    return (struct ana_times){.count = count,
                              .total_ns = (int64_t)((double)count * p50 * 1.1),
                              .min_ns = p50 / 2,
                              .p50_ns = p50,
                              .p90_ns = p50 * 1.5,
                              .p99_ns = p50 * 3,
                              .max_ns = p50 * 7};
}

static void fill_nccl(const struct fixture *f, struct ana_gpu_look *out)
{
    static const struct {
        const char *call, *comm;
        int size_class;
        uint64_t calls, bytes;
        double ns, skew;
        const char *algorithm, *protocol;
        unsigned least, most;
    } rows[] = {{"ncclAllReduce", "dp", 26, 4117, 33554432, 310000, 41000, "NVLS", "SIMPLE", 16, 24},
                {"ncclAllReduce", "dp", 13, 8234, 4096, 14000, 190000, "several", "LL", 2, 2},
                {"ncclAllGather", "tp", 23, 49404, 4194304, 52000, 2000, "RING", "LL128", 8, 8},
                {"ncclReduceScatter", "tp", 23, 49404, 4194304, 55000, 2100, "", "", 0, 0},
                {"ncclSend", "pp", 21, 16468, 1048576, 88000, NAN, "", "", 0, 0}};
    out->nccl = calloc(5, sizeof *out->nccl);
    for (size_t i = 0; out->nccl && i < 5; i++) {
        double n = (double)f->ranks, bw = f->unknown ? NAN : (double)rows[i].bytes / rows[i].ns * 1e9;
        double factor = i < 2 ? 2 * (n - 1) / n : i < 4 ? (n - 1) / n : 1;
        out->nccl[out->nccl_count++] =
            (struct ana_nccl_stat){.call = rows[i].call,
                                   .comm_identity = (uint64_t)rows[i].comm[0],
                                   .comm_name = rows[i].comm,
                                   .size = (int32_t)f->ranks,
                                   .size_class = rows[i].size_class,
                                   .calls = rows[i].calls * f->ranks,
                                   .bytes = rows[i].calls * f->ranks * rows[i].bytes,
                                   .timed = f->unknown ? 0 : rows[i].calls,
                                   .algbw = bw,
                                   .busbw = bw * factor,
                                   .transfer_p50_ns = f->unknown ? NAN : rows[i].ns,
                                   .skew_p50_ns = f->unknown ? NAN : rows[i].skew,
                                   .skew_p99_ns = f->unknown ? NAN : rows[i].skew * 4,
                                   .kernel_ns = (int64_t)(rows[i].ns * (double)(rows[i].calls * f->ranks)),
                                   .channels_least = rows[i].least,
                                   .channels_most = rows[i].most};
        snprintf(out->nccl[i].algorithm, sizeof out->nccl[i].algorithm, "%s", rows[i].algorithm);
        snprintf(out->nccl[i].protocol, sizeof out->nccl[i].protocol, "%s", rows[i].protocol);
    }
}

bool fixture_gpu(const struct fixture *f, struct ana_selection selection, struct ana_gpu_look *out)
{
    static const struct {
        const char *name;
        bool nccl;
        uint64_t count;
        double ns;
    } kernels[] = {
        {"_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi", false, 823400, 4100},
        {"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", false, 98808, 131000},
        {"_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE", true, 12351, 104000},
        {"_Z40ncclDevKernel_ReduceScatter_Sum_bf16_RING_LLi", true, 49404, 55000}};
    *out = (struct ana_gpu_look){.analysed = 1};
    if (!f->gpu)
        return true;
    fill_nccl(f, out);
    if (f->unknown) {
        strcpy(out->why_not, "kernels are not timed: no libcupti was found");
        return true;
    }
    out->known = true;
    out->kernels = calloc(4, sizeof *out->kernels);
    out->ranks = calloc(f->ranks, sizeof *out->ranks);
    for (size_t i = 0; out->kernels && i < 4; i++)
        out->kernels[out->kernel_count++] = (struct ana_kernel_stat){
            kernels[i].name, kernels[i].nccl, times(kernels[i].count * f->ranks, kernels[i].ns), f->ranks};
    for (size_t i = 0; out->ranks && i < f->ranks; i++) {
        if (selection.ranks && !selection.ranks[i])
            continue;
        int64_t ms = f->elapsed_ns / 1000;
        out->ranks[out->rank_count++] = (struct ana_gpu_rank){.index = i,
                                                              .devices = 1,
                                                              .kernels = 1000000 - i,
                                                              .copies = 4117,
                                                              .to_device = 4117ull << 20,
                                                              .from_device = 4117 * 8,
                                                              .compute_ns = 610 * ms,
                                                              .communication_ns = 300 * ms,
                                                              .overlap_ns = (i == 3 ? 90 : 240) * ms,
                                                              .copy_ns = 20 * ms,
                                                              .busy_ns = 700 * ms,
                                                              .wall_ns = 1000 * ms};
    }
    return true;
}

/* Stream 7 computes in the first half of each second, stream 13 communicates from a quarter on, then copies. */
void fixture_stream_timeline(const struct fixture *f, size_t i, int64_t begin_ns, int64_t end_ns, size_t n,
                             struct ana_timeline_cell *out)
{
    memset(out, 0, n * sizeof *out);
    for (size_t c = 0; c < n; c++) {
        int64_t at = begin_ns + (int64_t)((double)(end_ns - begin_ns) * ((double)c + 0.5) / (double)n);
        int64_t part = at < 0 ? 0 : at % 1000000000;
        if (at < 0 || at >= f->elapsed_ns)
            continue;
        int category = TRC_CAT_COMPUTE;
        if (i % 2 == 0 && part < 500000000)
            category = TRC_CAT_KERNEL;
        else if (i % 2 && part >= 250000000)
            category = part < 700000000 ? TRC_CAT_NCCL : part < 800000000 ? TRC_CAT_COPY : TRC_CAT_COMPUTE;
        out[c].share[category] = 1;
    }
}
