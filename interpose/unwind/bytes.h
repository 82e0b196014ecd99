/* Reads DWARF's numbers out of a copy of the process's memory.  A read past the end sets `bad` and gives 0, as do all
 * later ones. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A copy that is being read. */
struct ipo_bytes {
    const uint8_t *at, *end; /* the next byte, and the end */
    const uint8_t *base;     /* copy of the bytes at `address` in the process */
    uint64_t address;
    bool bad;
};

/* Returns the number of bytes left. */
static inline size_t ipo_bytes_left(const struct ipo_bytes *b)
{
    return (size_t)(b->end - b->at);
}

/* Address of the next byte in the process. */
static inline uint64_t ipo_bytes_here(const struct ipo_bytes *b)
{
    return b->address + (uint64_t)(b->at - b->base);
}

/* Passes over `size` bytes. */
static inline void ipo_bytes_skip(struct ipo_bytes *b, uint64_t size)
{
    b->bad = b->bad || size > ipo_bytes_left(b);
    b->at = b->bad ? b->end : b->at + size;
}

/* A little-endian number of `size` bytes, at most 8. */
static inline uint64_t ipo_bytes_unsigned(struct ipo_bytes *b, unsigned size)
{
    uint64_t value = 0;
    const uint8_t *from = b->at;
    ipo_bytes_skip(b, size);
    if (!b->bad)
        memcpy(&value, from, size);
    return value;
}
/* A little-endian number of `size` bytes, 1 to 8, with its sign. */
static inline int64_t ipo_bytes_signed(struct ipo_bytes *b, unsigned size)
{
    unsigned unused = 64 - 8 * size;
    return (int64_t)(ipo_bytes_unsigned(b, size) << unused) >> unused;
}

/* A number in LEB128: 7 bits a byte, the lowest first; the top bit says that more follow.  *bits: how many were
 * read. */
static inline uint64_t ipo_bytes_leb(struct ipo_bytes *b, unsigned *bits)
{
    uint64_t value = 0, byte;
    *bits = 0;
    do {
        byte = ipo_bytes_unsigned(b, 1);
        if (*bits < 64)
            value |= (byte & 0x7f) << *bits;
        *bits += 7;
    } while (byte & 0x80);
    return value;
}
/* A number in unsigned LEB128. */
static inline uint64_t ipo_bytes_uleb(struct ipo_bytes *b)
{
    unsigned bits;
    return ipo_bytes_leb(b, &bits);
}
/* A number in signed LEB128. */
static inline int64_t ipo_bytes_sleb(struct ipo_bytes *b)
{
    unsigned bits;
    uint64_t value = ipo_bytes_leb(b, &bits);
    if (bits < 64 && (value >> (bits - 1) & 1))
        value |= ~(uint64_t)0 << bits;
    return (int64_t)value;
}
