/* Lines of text on the stack.  Any thread, also in a signal handler: no stdio, no allocation, no lock. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Copies `text` to the `size` bytes of `out`: always terminated, cut where it does not fit.  `size` is at least 1. */
static inline void ipo_copy(char *out, size_t size, const char *text)
{
    size_t n = strnlen(text, size - 1);
    memcpy(out, text, n);
    out[n] = 0;
}

/* A line; zeroed it is empty. */
struct ipo_text {
    char text[4608]; /* always terminated; what does not fit is cut */
    size_t used;
};

/* Appends `more`; cuts what does not fit. */
static inline void ipo_text_add(struct ipo_text *line, const char *more)
{
    for (; *more && line->used + 1 < sizeof line->text; more++)
        line->text[line->used++] = *more;
    line->text[line->used] = 0;
}

/* Appends the digits of a number to a base. */
static inline void ipo_text_add_digits(struct ipo_text *line, uint64_t number, unsigned base)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = 0;
    do
        digits[--at] = "0123456789abcdef"[number % base];
    while (number /= base);
    ipo_text_add(line, digits + at);
}

/* Appends a number in decimal digits. */
static inline void ipo_text_add_number(struct ipo_text *line, uint64_t number)
{
    ipo_text_add_digits(line, number, 10);
}

/* Appends "name+0xoffset". */
static inline void ipo_text_add_place(struct ipo_text *line, const char *name, uint64_t offset)
{
    ipo_text_add(line, name);
    ipo_text_add(line, "+0x");
    ipo_text_add_digits(line, offset, 16);
}

/* The decimal number at `at`, after blanks; 0 where there is none.  Not strtol: new headers turn it into a function
 * that old glibcs lack. */
static inline uint64_t ipo_text_number(const char *at)
{
    uint64_t number = 0;
    for (at += strspn(at, " "); *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    return number;
}
