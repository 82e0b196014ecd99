/* Algorithm and bus bandwidth of NCCL's operations, as nccl-tests define them: algbw = S / t, busbw = algbw x f.
 * Source: NVIDIA/nccl-tests, getBw and ...GetCollByteCount of src/{all_reduce,all_gather,reduce_scatter,alltoall,
 * gather,scatter,broadcast,reduce,sendrecv}.cu, and doc/PERFORMANCE.md, which derives the factors. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* S of one call in bytes, by what its rank sends and receives; UINT64_MAX unknown (no such operation). */
uint64_t ana_nccl_size(const char *call, uint64_t sent, uint64_t received, int32_t ranks);
/* The factor f of an operation; NAN for other calls, and for one rank alone, which moves nothing. */
double ana_nccl_bus_factor(const char *call, int32_t ranks);
/* Whether no rank can finish the operation before all have begun it, since each needs something of everyone. */
bool ana_nccl_together(const char *call);
/* The purpose of a call, or of a kernel by its name, as far as kernels are named after it (NCCL's
 * src/device/generate.py: messages, AlltoAll, Gather and Scatter are all SendRecv). */
enum ana_nccl_function {
    ANA_NCCL_ANY, /* not known */
    ANA_NCCL_ALL_REDUCE,
    ANA_NCCL_ALL_GATHER,
    ANA_NCCL_REDUCE_SCATTER,
    ANA_NCCL_BROADCAST,
    ANA_NCCL_REDUCE,
    ANA_NCCL_SEND_RECV
};
/* The function of a call or kernel by its name. */
enum ana_nccl_function ana_nccl_function_of(const char *name);
/* Whether a kernel of this (mangled) name is one of NCCL's. */
bool ana_nccl_kernel(const char *name);
