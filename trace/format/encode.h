/* Writers of items (trace/format/format.h) into memory: the recorder fills EVENTS chunks with them, tests build traces.
 * Inline, without libc and allocation: callable from the traced thread.  Each returns the byte behind its output and
 * writes at most TRC_ITEM_MAX bytes; the caller makes sure of the room.  trace/format/decode.h reads them. */
#pragma once

#include "trace/format/format.h"

/* A function of the record path that is part of each of its callers, compiled for the constants that each passes. */
#define TRC_INLINE static inline __attribute__((always_inline))
/* Holds an address in a register: the compiler would else add up the address of a table's element at each use. */
#define TRC_IN_REGISTER(pointer) __asm__("" : "+r"(pointer))

#define TRC_VARINT_MAX 10u

/* Writes an LEB128 number: 7 bits a byte, lowest first. */
static inline uint8_t *trc_put_varint(uint8_t *p, uint64_t value)
{
    while (value >= 0x80) {
        *p++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *p++ = (uint8_t)value;
    return p;
}

/* Below this, gap and duration take two bytes each, as a varint may.  Most are; the processor would often mispredict a
 * branch on the length of each, which costs more than the bytes that it saves. */
#define TRC_SHORT_TIMES (1u << 14)
/* Writes gap and duration, both below TRC_SHORT_TIMES, as two varints of two bytes. */
static inline uint8_t *trc_put_short_times(uint8_t *p, uint64_t gap, uint64_t duration)
{
    uint32_t both = (uint32_t)gap | (uint32_t)duration << 16;
    uint32_t bytes = (both & 0x007f007fu) + 2 * (both & 0x3f803f80u) + 0x00800080u;
    __builtin_memcpy(p, &bytes, sizeof bytes); /* the format is little-endian, and so is every machine we run on */
    return p + sizeof bytes;
}
/* The largest number that trc_put_long writes, plus 1. */
#define TRC_LONG_TIMES ((uint64_t)1 << 56)
/* Writes a number below TRC_LONG_TIMES as the shortest varint, without a loop.  Writes up to seven bytes behind it. */
static inline uint8_t *trc_put_long(uint8_t *p, uint64_t value)
{
    const unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1), size = (bits + 6) * 37 >> 8; /* bits / 7, up */
    uint64_t bytes = (value & 0x000000000fffffffu) | (value & 0x00fffffff0000000u) << 4;
    bytes = (bytes & 0x00003fff00003fffu) | (bytes & 0x0fffc0000fffc000u) << 2;
    bytes = (bytes & 0x007f007f007f007fu) | (bytes & 0x3f803f803f803f80u) << 1;
    bytes |= 0x8080808080808080u & (((uint64_t)1 << 8 * (size - 1)) - 1);
    __builtin_memcpy(p, &bytes, sizeof bytes);
    return p + size;
}
/* Writes gap and duration, in ticks, as two varints. */
static inline uint8_t *trc_put_times(uint8_t *p, uint64_t gap, uint64_t duration)
{
    if (__builtin_expect((gap | duration) < TRC_SHORT_TIMES, 1))
        return trc_put_short_times(p, gap, duration);
    if (__builtin_expect((gap | duration) < TRC_LONG_TIMES, 1))
        return trc_put_long(trc_put_long(p, gap), duration);
    return trc_put_varint(trc_put_varint(p, gap), duration);
}

/* The number of an event's item as a word: its low bytes are the varint, its highest byte is the length.  So it is
 * written without a loop.  Signatures of one chunk are fewer than 2^21. */
static inline uint32_t trc_item_word(uint32_t signature)
{
    const uint32_t item = TRC_ITEM_EVENT + signature, low = item & 0x7f;
    if (item < 1u << 7)
        return item | 1u << 24;
    if (item < 1u << 14)
        return low | 0x80u | item >> 7 << 8 | 2u << 24;
    return low | 0x8080u | (item >> 7 & 0x7f) << 8 | item >> 14 << 16 | 3u << 24;
}
/* Writes the word's varint.  Also writes up to three bytes behind it, where the rest of the item will be. */
static inline uint8_t *trc_put_item_word(uint8_t *p, uint32_t word)
{
    __builtin_memcpy(p, &word, sizeof word);
    return p + (word >> 24);
}

/* Makes small numbers of either sign small unsigned ones: 0, -1, 1, -2 -> 0, 1, 2, 3. */
static inline uint64_t trc_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

/* Writes eight bytes, little-endian. */
static inline uint8_t *trc_put_u64(uint8_t *p, uint64_t value)
{
    __builtin_memcpy(p, &value, sizeof value);
    return p + sizeof value;
}

/* Writes a SIG item: it defines the next signature of this chunk. */
static inline uint8_t *trc_put_sig(uint8_t *p, const struct trc_sig *sig)
{
    *p++ = TRC_ITEM_SIG;
    uint8_t *length = p++; /* twelve fields are at most 75 bytes: one byte holds the length */
#define TRC_PUT_u(value)        trc_put_varint(p, (value))
#define TRC_PUT_s(value)        trc_put_varint(p, trc_zigzag(value))
#define FIELD(type, name, kind) p = TRC_PUT_##kind(sig->name);
    TRC_SIG_FIELDS(FIELD)
#undef FIELD
    *length = (uint8_t)(p - length - 1);
    return p;
}

/* Fields in which variants of a signature differ. */
#define TRC_VARIED_FIELDS                                                                                              \
    (1u << TRC_SIG_FIELD_peer | 1u << TRC_SIG_FIELD_tag | 1u << TRC_SIG_FIELD_source | 1u << TRC_SIG_FIELD_rtag |      \
     1u << TRC_SIG_FIELD_sent | 1u << TRC_SIG_FIELD_received)

/* Writes a LIKE item: it defines the next signature of this chunk, by its differences to `like`, the signature that is
 * `back` before it.  `among`: a constant, one bit for each field (enum trc_sig_field) that may differ. */
TRC_INLINE uint8_t *trc_put_like(uint8_t *p, const struct trc_sig *sig, const struct trc_sig *like, uint32_t back,
                                 uint32_t among)
{
    const uint64_t received = like->received == like->sent ? sig->sent : like->received;
    uint32_t mask = 0;
    *p++ = TRC_ITEM_LIKE;
    uint8_t *length = p++, *mask_at = p = trc_put_varint(p, back);
    p += 2;
#define FIELD(type, name, kind)                                                                                        \
    if (among >> TRC_SIG_FIELD_##name & 1 &&                                                                           \
        sig->name != (TRC_SIG_FIELD_##name == TRC_SIG_FIELD_received ? (type)received : like->name)) {                 \
        mask |= 1u << TRC_SIG_FIELD_##name;                                                                            \
        p = TRC_PUT_##kind(sig->name);                                                                                 \
    }
    TRC_SIG_FIELDS(FIELD)
#undef FIELD
    mask_at[0] = (uint8_t)(mask | 0x80); /* a varint of two bytes, whatever it is */
    mask_at[1] = (uint8_t)(mask >> 7);
    *length = (uint8_t)(p - length - 1);
    return p;
}
/* Writes a DONE item: it defines the signature under which requests of the last one complete. */
static inline uint8_t *trc_put_done(uint8_t *p)
{
    *p++ = TRC_ITEM_DONE;
    *p++ = 0;
    return p;
}
#undef TRC_PUT_u
#undef TRC_PUT_s

/* Rewrites the three u64 of a FOLD item in place; busy and span are ticks. */
static inline void trc_set_fold(uint8_t *counters, uint64_t count, uint64_t busy, uint64_t span)
{
    trc_put_u64(trc_put_u64(trc_put_u64(counters, count), busy), span);
}

/* Writes a LOST item: `count` records could not be kept here. */
static inline uint8_t *trc_put_lost(uint8_t *p, uint64_t count)
{
    *p++ = TRC_ITEM_LOST;
    return trc_put_varint(p, count);
}

/* Writes an entry of a USAGE item (format_usage.h): the values of `fields` that are not 0.  Writes at most
 * TRC_USAGE_ENTRY_MAX bytes. */
static inline uint8_t *trc_put_usage(uint8_t *p, const struct trc_usage *usage)
{
    uint32_t risen = 0;
    for (uint32_t i = 0; i < TRC_USAGE_FIELDS; i++)
        if (usage->fields >> i & 1 && usage->value[i])
            risen |= 1u << i;
    p = trc_put_varint(p, usage->whose);
    p = trc_put_varint(p, risen);
    for (uint32_t i = 0; i < TRC_USAGE_FIELDS; i++)
        if (risen >> i & 1)
            p = trc_put_varint(p, usage->value[i]);
    return p;
}
