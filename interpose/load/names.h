/* The names of all calls that a source may lead to a wrapper, with their hash: made by names.sh when libtrace.so is
 * built. */
#pragma once

#include "interpose/base/ours.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tables, in the order of the Makefile. */
enum ipo_names { IPO_NAMES_MPI, IPO_NAMES_NCCL, IPO_NAMES_CUPTI, IPO_NAMES_LIBC, IPO_NO_NAMES };

/* The rows of IPO_NAMES_LIBC. */
enum ipo_libc {
#define LIBC(name) IPO_LIBC_##name,
#include "interpose/load/libc_calls.def"
#undef LIBC
};

struct ipo_name {
    const char *text;
    enum ipo_names table;
    int row; /* -1: it begins as names of that table do, but is none: Fortran's, or of the profiling interface */
};

/* Table and row of a name; IPO_NO_NAMES for most.  Any thread. */
struct ipo_name ipo_name_of(const char *text);

/* Row of a name of that many characters, whatever the case of its letters; -1: there is none. */
int ipo_name_spelled(enum ipo_names table, const char *text, size_t length);

/* A letter with bit 5 set: capital and small letters are one. */
static inline uint8_t ipo_name_code(char c)
{
    return (uint8_t)c | 32;
}
extern IPO_OURS const uint8_t ipo_name_pairs[256]; /* hash of two bytes: 1 where a wanted name has it */
/* Whether a wanted name may begin with the first two bytes of `text`; false for nearly all others.  Any thread. */
static inline bool ipo_name_begins(const char *text)
{
    return text[0] && ipo_name_pairs[(uint8_t)(ipo_name_code(text[0]) * 11 + ipo_name_code(text[1]))];
}
