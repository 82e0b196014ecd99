/* libtrace.so's own memcpy and the like, hidden.  The process's own may be a sanitizer's, which would report our
 * reads and writes as errors of the program (data races, redzones). */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* a test with a sanitizer must see them */

#ifdef __clang__
#define PLAINLY __attribute__((no_builtin)) /* else the compiler turns a copying loop into a call of memcpy */
#else
#define PLAINLY __attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif
typedef uint64_t __attribute__((may_alias, aligned(1))) word;

PLAINLY void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    char *at = to;
    const char *with = from;
    for (; n >= sizeof(word); n -= sizeof(word), at += sizeof(word), with += sizeof(word))
        *(word *)(void *)at = *(const word *)(const void *)with;
    while (n--)
        *at++ = *with++;
    return to;
}

PLAINLY void *memmove(void *to, const void *from, size_t n)
{
    char *at = to;
    const char *with = from;
    if ((uintptr_t)to - (uintptr_t)from >= n) { /* forwards: no byte is overwritten before it is read */
        while (n--)
            *at++ = *with++;
    } else {
        while (n--)
            at[n] = with[n];
    }
    return to;
}

PLAINLY void *memset(void *to, int value, size_t n)
{
    char *at = to;
    const word all = (uint8_t)value * 0x0101010101010101u;
    for (; n >= sizeof(word); n -= sizeof(word), at += sizeof(word))
        *(word *)(void *)at = all;
    while (n--)
        *at++ = (char)value;
    return to;
}

PLAINLY int memcmp(const void *a, const void *b, size_t n)
{
    const uint8_t *x = a, *y = b;
    for (; n && *x == *y; n--)
        x++, y++;
    return n ? *x - *y : 0;
}

PLAINLY size_t strlen(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

PLAINLY int strncmp(const char *a, const char *b, size_t n)
{
    for (; n && *a && *a == *b; n--)
        a++, b++;
    return n ? (uint8_t)*a - (uint8_t)*b : 0;
}

PLAINLY int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

#endif
