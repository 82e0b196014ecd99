/* Declarations shared by the files of the dump; nobody else includes this. */
#pragma once

#include "trace/reader/dump.h"
#include "trace/reader/file.h"

#include <inttypes.h>

/* The word with this number; "?" where there is none. */
static inline const char *trc_dump_one_of(const char *const *words, size_t n, uint32_t i)
{
    return i < n && words[i] ? words[i] : "?";
}
#define ONE_OF(words, i) trc_dump_one_of(words, sizeof(words) / sizeof *(words), i)

/* Prints the names of the bits that are set, with + between them; the words in the order of the bits. */
static inline void trc_dump_flags(FILE *out, const char *const *words, size_t n, uint32_t flags)
{
    const char *between = "";
    for (size_t i = 0; i < 32; i++)
        if (flags >> i & 1) {
            if (i < n)
                fprintf(out, "%s%s", between, words[i]);
            else
                fprintf(out, "%sbit%zu", between, i);
            between = "+";
        }
    if (!*between)
        fputs("-", out);
}
#define PUT_FLAGS(out, words, flags) trc_dump_flags(out, words, sizeof(words) / sizeof *(words), flags)

/* Prints " title=1,2,3", the ranks of a list by its id; nothing for 0. */
void trc_dump_list(const struct trc_file *file, FILE *out, const char *title, uint32_t id);
/* Prints " title=bytes"; nothing for 0. */
void trc_dump_bytes(FILE *out, const char *title, uint64_t bytes);
/* Seconds since the file was made. */
double trc_dump_since(const struct trc_file *file, uint64_t ticks);

/* dump_definitions.c: prints the definitions, facts and stacks, and the operations on devices. */
void trc_dump_definitions(const struct trc_file *file, FILE *out);

/* dump_items.c: writes the contents of a round. */
void trc_dump_round(const struct trc_record *record, FILE *out);
/* dump_items.c: writes that a region begins, ends or is open. */
void trc_dump_region(const struct trc_file *file, const struct trc_record *record, FILE *out);
/* dump_items.c: writes what the kernel counted.  False: out of memory. */
bool trc_dump_usage(struct trc_file *file, FILE *out);
