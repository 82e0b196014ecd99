/* A file that is written quickly, in pieces of text or bytes.  What fails is kept: nothing need be asked before the
 * end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ANA_OUT_ROOM = 1 << 17 };

struct ana_out {
    int fd;
    int error; /* errno of the first thing that failed; 0: none */
    size_t used;
    char room[ANA_OUT_ROOM];
};

/* Makes a new file to write and read, for the caller to close; a file or link that has its name goes.  -1, with errno:
 * it cannot be made. */
int ana_out_make(const char *path);
/* Makes the file in the same way; NULL when out of memory.  ana_out_close reports whether it could be made. */
struct ana_out *ana_out_open(const char *path);
/* Writes the remaining bytes and frees it; NULL is none.  Returns errno of the first failure; 0: the file is whole. */
int ana_out_close(struct ana_out *out);

/* Makes room for `n` bytes, at most ANA_OUT_ROOM / 2, and returns it; ana_out_used takes it. */
char *ana_out_grow(struct ana_out *out, size_t n);

/* Marks bytes behind the last written one as written. */
static inline void ana_out_used(struct ana_out *out, size_t n)
{
    out->used += n;
}
/* Adds bytes, however many. */
void ana_out_bytes(struct ana_out *out, const void *bytes, size_t n);
/* Adds text. */
static inline void ana_out_text(struct ana_out *out, const char *text)
{
    ana_out_bytes(out, text, strlen(text));
}
/* Adds a number with all its digits. */
void ana_out_integer(struct ana_out *out, uint64_t value);
/* Adds a number that may be negative. */
void ana_out_signed(struct ana_out *out, int64_t value);
/* Adds a time in seconds with nine digits behind the point. */
void ana_out_seconds(struct ana_out *out, int64_t ns);
/* Adds text with values: %s text as it is, %c as CSV, %u uint64_t, %d int64_t, %T int64_t ns in seconds. */
void ana_out_format(struct ana_out *out, const char *format, ...);
/* Adds text as a field of CSV (RFC 4180) that no spreadsheet computes; NULL gives an empty one. */
void ana_out_csv(struct ana_out *out, const char *text);
