/* Numbers at random that are the same in every run: one state for each sequence. */
#ifndef TESTS_DRAW_H
#define TESTS_DRAW_H

#include <stdint.h>

/* 0 .. n - 1 */
static inline uint32_t draw(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* 64 bits; the state is not 0. */
static inline uint64_t draw_bits(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

#endif
