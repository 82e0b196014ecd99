#include "interpose/arch/code.h"

#if defined(__powerpc64__)

/* Calls between libraries load their target by R2, which is not known here: no function is proven to be a wrapper. */
struct ipo_step ipo_code_step(const uint8_t *code, size_t left, uint64_t address)
{
    (void)code, (void)left, (void)address;
    return (struct ipo_step){.kind = IPO_STEP_UNKNOWN, .length = 4};
}

uint64_t ipo_code_plt_slot(const uint8_t *code, size_t left, uint64_t address)
{
    (void)code, (void)left, (void)address;
    return 0;
}

unsigned ipo_code_callers(const uint8_t *code, size_t size, uint64_t address, uint64_t target, unsigned most)
{
    (void)code, (void)size, (void)address, (void)target, (void)most;
    return 0;
}

#endif
