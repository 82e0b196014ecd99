/* Messages of protocol buffers, written from front to back into room that the caller has.  The length of an inner
 * message is filled in when it ends: it takes ANA_PROTO_LENGTH bytes even if it is small, which the encoding allows. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ANA_PROTO_LENGTH = 2 }; /* messages of up to 2^14 - 1 bytes */

struct ana_proto {
    uint8_t *at; /* the next byte; the caller made sure that there is room */
};

/* Adds an integer, seven bits a byte. */
static inline void ana_proto_varint(struct ana_proto *p, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *p->at++ = (uint8_t)(value | 0x80);
    *p->at++ = (uint8_t)value;
}

/* A field with an unsigned integer, an enum or a boolean. */
static inline void ana_proto_uint(struct ana_proto *p, uint32_t field, uint64_t value)
{
    ana_proto_varint(p, field << 3);
    ana_proto_varint(p, value);
}
/* A field of eight bytes: fixed64. */
static inline void ana_proto_fixed(struct ana_proto *p, uint32_t field, uint64_t value)
{
    ana_proto_varint(p, field << 3 | 1);
    for (int i = 0; i < 8; i++)
        *p->at++ = (uint8_t)(value >> 8 * i);
}
/* A field of type double. */
static inline void ana_proto_double(struct ana_proto *p, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ana_proto_fixed(p, field, bits);
}
/* A field with `n` bytes. */
static inline void ana_proto_bytes(struct ana_proto *p, uint32_t field, const void *bytes, size_t n)
{
    ana_proto_varint(p, field << 3 | 2);
    ana_proto_varint(p, n);
    memcpy(p->at, bytes, n);
    p->at += n;
}
/* A field with text. */
static inline void ana_proto_text(struct ana_proto *p, uint32_t field, const char *text)
{
    ana_proto_bytes(p, field, text, strlen(text));
}

/* Begins a message in a field; returns what ana_proto_end wants. */
static inline uint8_t *ana_proto_begin(struct ana_proto *p, uint32_t field)
{
    ana_proto_varint(p, field << 3 | 2);
    p->at += ANA_PROTO_LENGTH;
    return p->at;
}
/* Ends the message that began at `begin`. */
static inline void ana_proto_end(struct ana_proto *p, uint8_t *begin)
{
    size_t n = (size_t)(p->at - begin);
    for (int i = ANA_PROTO_LENGTH; i > 0; i--, n >>= 7)
        begin[-i] = (uint8_t)((n & 0x7f) | (i > 1 ? 0x80 : 0));
}

/* Begins a message of less than 128 bytes, whose length takes one; ana_proto_end_small ends it. */
static inline uint8_t *ana_proto_begin_small(struct ana_proto *p, uint32_t field)
{
    ana_proto_varint(p, field << 3 | 2);
    return ++p->at;
}
/* Ends a small message. */
static inline void ana_proto_end_small(struct ana_proto *p, uint8_t *begin)
{
    begin[-1] = (uint8_t)(p->at - begin);
}
