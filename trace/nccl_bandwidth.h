/* Algorithm and bus bandwidth of NCCL's operations, as nccl-tests define them: algbw = S / t, busbw = algbw x f.
 * Source: NVIDIA/nccl-tests, getBw and ...GetCollByteCount of
 * src/{all_reduce,all_gather,reduce_scatter,alltoall,gather, scatter,broadcast,reduce,sendrecv}.cu, and
 * doc/PERFORMANCE.md, which derives the factors. */
#ifndef ANA_NCCL_BANDWIDTH_H
#define ANA_NCCL_BANDWIDTH_H

#include <stdbool.h>
#include <stdint.h>

/* S of one call, by what its rank sends and receives; UINT64_MAX unknown (no such operation). */
uint64_t ana_nccl_size(const char *call, uint64_t sent, uint64_t received, int32_t ranks);
/* f; NAN where there is none: one rank alone moves nothing, and other calls than these. */
double ana_nccl_bus_factor(const char *call, int32_t ranks);
/* Whether a kernel of this (mangled) name is one of NCCL's. */
bool ana_nccl_kernel(const char *name);

#endif
