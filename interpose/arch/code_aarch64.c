#include "interpose/arch/code.h"

#include <string.h>

#if defined(__aarch64__)

static uint32_t load_word(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* A signed field of `bits` bits from bit `first` on, in words. */
static uint64_t distance_in(uint32_t word, unsigned first, unsigned bits)
{
    return (uint64_t)((int64_t)((uint64_t)(word >> first) << (64 - bits)) >> (64 - bits)) * 4;
}

struct ipo_step ipo_code_step(const uint8_t *code, size_t left, uint64_t address)
{
    struct ipo_step step = {.length = 4};
    const uint32_t word = left < 4 ? 0 : load_word(code);
    if (left < 4)
        return step;
    step.kind = IPO_STEP_JUMP;
    if ((word & 0x7c000000) == 0x14000000) {
        step.kind = word >> 31 ? IPO_STEP_CALL : IPO_STEP_JUMP;
        step.target = address + distance_in(word, 0, 26);
    } else if ((word & 0xfe000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000) {
        step.target = address + distance_in(word, 5, 19);
    } else if ((word & 0x7e000000) == 0x36000000) {
        step.target = address + distance_in(word, 5, 14);
    } else { /* jumps by a register, but for ret, and calls of the kernel */
        bool known = (word & 0xfe000000) != 0xd6000000 || (word & 0xfffffc1f) == 0xd65f0000;
        step.kind = known && (word & 0xff000000) != 0xd4000000 ? IPO_STEP_PLAIN : IPO_STEP_UNKNOWN;
    }
    return step;
}

/* adrp x16, page; ldr x17, [x16, offset] */
uint64_t ipo_code_plt_slot(const uint8_t *code, size_t left, uint64_t address)
{
    for (size_t i = 0; i + 8 <= left && i <= 4; i += 4) { /* a landing pad may stand before */
        const uint32_t page = load_word(code + i), load = load_word(code + i + 4);
        const uint64_t high = (uint64_t)(page >> 5 & 0x7ffff) << 2 | (page >> 29 & 3);
        if ((page & 0x9f00001f) == 0x90000010 && (load & 0xffc003ff) == 0xf9400211)
            return (address & ~(uint64_t)4095) + (uint64_t)((int64_t)(high << 43) >> 43 << 12) +
                   (load >> 10 & 4095) * 8;
    }
    return 0;
}

unsigned ipo_code_callers(const uint8_t *code, size_t size, uint64_t address, uint64_t target, unsigned most)
{
    unsigned found = 0;
    for (size_t i = 0; i + 4 <= size && found < most; i += 4) {
        const uint32_t word = load_word(code + i);
        found += (word & 0x7c000000) == 0x14000000 && address + i + distance_in(word, 0, 26) == target;
    }
    return found;
}

#endif
