/* Processors whose functions chain their frames, with the names of x86_64.h: no instruction is decoded there to find a
 * caller. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IPO_HAS_FRAME_CHAIN 1

/* A call with a context is taken for the kernel's: its frame is at no fixed distance. */
static inline bool ipo_is_called_by_kernel(const char *frame, const void *context)
{
    (void)frame;
    return context != NULL;
}

/* ---- instructions ------------------------------------------------------------------------------------------------ */

enum { IPO_CALL_BYTES = 4, IPO_JUMP_BYTES = 4 };

/* Never called, since frames are chained. */
static inline bool ipo_decode_call(uint64_t to, const uint8_t code[IPO_CALL_BYTES], uint64_t *target, uint64_t *slot)
{
    (void)to, (void)code, (void)target, (void)slot;
    return false;
}

/* Never called. */
static inline uint64_t ipo_decode_jump(uint64_t address, const uint8_t entry[IPO_JUMP_BYTES])
{
    (void)address, (void)entry;
    return 0;
}
