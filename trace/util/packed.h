/* Numbers of as many bytes as they need: 1 to 8, the lowest first. */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ANA_PACKED_BEHIND 8u /* bytes that must be there from the begin of a number on, whatever they are */

/* Returns how many bytes a number needs; 0 needs none. */
static inline uint8_t ana_packed_width(uint64_t number)
{
    uint8_t width = 0;
    while (width < 8 && number >> 8 * width)
        width++;
    return width;
}

/* The number of `width` bytes, at least 1, that begins at `at`. */
static inline uint64_t ana_packed_get(const void *at, unsigned width)
{
    uint64_t number;
    memcpy(&number, at, sizeof number);
    return le64toh(number) & UINT64_MAX >> (64 - 8 * width);
}

/* Whether a number fits into `width` bytes, at least 1. */
static inline bool ana_packed_fits(uint64_t number, unsigned width)
{
    return number <= UINT64_MAX >> (64 - 8 * width);
}

/* Puts the lowest `width` bytes of a number there. */
static inline void ana_packed_put(void *at, unsigned width, uint64_t number)
{
    for (unsigned b = 0; b < width; b++)
        ((uint8_t *)at)[b] = (uint8_t)(number >> 8 * b);
}
/* Puts a number there that is the last so far: bytes behind it are overwritten, as far as ANA_PACKED_BEHIND. */
static inline void ana_packed_put_last(void *at, uint64_t number)
{
    number = htole64(number);
    memcpy(at, &number, sizeof number);
}
