/* Part of CUPTI's activity records that is read: the front, which has been the same since CUDA 9, whatever was added
 * behind it (CUpti_ActivityKernel4 to Kernel10 with 144 to 216 bytes, CUpti_ActivityMemcpy to Memcpy6,
 * CUpti_ActivityMemcpyPtoP to PtoP4).  So records are walked by CUPTI's own cuptiActivityGetNextRecord, never by their
 * size.  tests/static/cupti.sh holds these offsets to the headers of each toolkit that is there. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* CUpti_ActivityKind.  KIND_KERNEL (3) must never be enabled: it serialises kernels, and NCCL's wait for each other. */
enum { IPO_CUPTI_MEMCPY = 1, IPO_CUPTI_KERNEL = 3, IPO_CUPTI_CONCURRENT_KERNEL = 10, IPO_CUPTI_MEMCPY2 = 22 };

/* CUpti_ActivityMemcpyKind. */
enum { IPO_CUPTI_HTOD = 1, IPO_CUPTI_DTOH = 2, IPO_CUPTI_DTOD = 8, IPO_CUPTI_HTOH = 9, IPO_CUPTI_PTOP = 10 };

/* Times are of the clock that was registered, else of cuptiGetTimestamp; both 0: not known; end 0: not finished. */
struct ipo_cupti_kernel {
    uint32_t kind;
    uint8_t of_no_interest_1[12];
    uint64_t start, end;
    uint8_t of_no_interest_2[8];
    uint32_t device, context, stream;
    uint8_t of_no_interest_3[40];
    uint32_t correlation;
    uint8_t of_no_interest_4[8];
    const char *name; /* mangled; CUPTI's */
};

/* Also of copies between GPUs (MEMCPY2). */
struct ipo_cupti_copy {
    uint32_t kind;
    uint8_t copy_kind;
    uint8_t of_no_interest[3];
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
};

_Static_assert(offsetof(struct ipo_cupti_kernel, start) == 16 && offsetof(struct ipo_cupti_kernel, end) == 24 &&
                   offsetof(struct ipo_cupti_kernel, device) == 40 &&
                   offsetof(struct ipo_cupti_kernel, context) == 44 &&
                   offsetof(struct ipo_cupti_kernel, stream) == 48 &&
                   offsetof(struct ipo_cupti_kernel, correlation) == 92 &&
                   offsetof(struct ipo_cupti_kernel, name) == 104,
               "kernels");
_Static_assert(offsetof(struct ipo_cupti_copy, copy_kind) == 4 && offsetof(struct ipo_cupti_copy, bytes) == 8 &&
                   offsetof(struct ipo_cupti_copy, start) == 16 && offsetof(struct ipo_cupti_copy, end) == 24 &&
                   offsetof(struct ipo_cupti_copy, device) == 32 && offsetof(struct ipo_cupti_copy, context) == 36 &&
                   offsetof(struct ipo_cupti_copy, stream) == 40,
               "copies");
