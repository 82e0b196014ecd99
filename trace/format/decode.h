/* A cursor over bytes that never reads past their end.  It reads what trace/format/encode.h writes, and trusts nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct trc_bytes {
    const uint8_t *at, *end;
};

/* The slow path of trc_get_varint, for varints of two bytes and more.  False: cut off, or longer than 64 bits; then
 * nothing has moved. */
static inline bool trc_get_varint_long(struct trc_bytes *bytes, uint64_t *value)
{
    uint64_t sum = 0;
    const uint8_t *p = bytes->at;
    for (unsigned shift = 0; shift < 64 && p < bytes->end; shift += 7) {
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1)
            return false;
        sum |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            bytes->at = p;
            *value = sum;
            return true;
        }
    }
    return false;
}

/* Reads an LEB128 number.  False: cut off, or longer than 64 bits; then nothing has moved and *value is as it was. */
static inline bool trc_get_varint(struct trc_bytes *bytes, uint64_t *value)
{
    const uint8_t *p = bytes->at;
    if (__builtin_expect(bytes->end - p >= 2, 1)) {
        if (p[0] < 0x80) {
            *value = p[0];
            bytes->at = p + 1;
            return true;
        }
        if (p[1] < 0x80) {
            *value = (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
            bytes->at = p + 2;
            return true;
        }
    }
    return trc_get_varint_long(bytes, value);
}

/* Reads an LEB128 number where ten bytes can be read; returns its end, or NULL: it is longer than eight bytes. */
static inline __attribute__((always_inline)) const uint8_t *trc_varint_at(const uint8_t *p, uint64_t *value)
{
    uint64_t all, last;
    if (p[0] < 0x80) {
        *value = p[0];
        return p + 1;
    }
    if (p[1] < 0x80) {
        *value = (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
        return p + 2;
    }
    memcpy(&all, p, sizeof all);
    last = ~all & 0x8080808080808080u; /* lowest bit set: the last byte */
    if (__builtin_expect(!last, 0))
        return NULL;
    all &= last ^ (last - 1);
    all = (all & 0x007f007f007f007fu) | (all & 0x7f007f007f007f00u) >> 1;
    all = (all & 0x00003fff00003fffu) | (all & 0x3fff00003fff0000u) >> 2;
    *value = (all & 0x0fffffffu) | (all & 0x0fffffff00000000u) >> 4;
    return p + __builtin_ctzll(last) / 8 + 1;
}

/* The signed number that trc_zigzag made unsigned. */
static inline int64_t trc_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Reads eight bytes.  False: fewer are left; then nothing has moved. */
static inline bool trc_get_u64(struct trc_bytes *bytes, uint64_t *value)
{
    if (bytes->end - bytes->at < 8)
        return false;
    memcpy(value, bytes->at, 8);
    bytes->at += 8;
    return true;
}

/* Steps over `n` bytes.  False: fewer are left; then nothing has moved. */
static inline bool trc_skip(struct trc_bytes *bytes, uint64_t n)
{
    if ((uint64_t)(bytes->end - bytes->at) < n)
        return false;
    bytes->at += n;
    return true;
}
