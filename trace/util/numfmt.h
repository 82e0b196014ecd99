/* Numbers to text, the same everywhere: three significant digits, a unit, a dash for unknown values.
 * Units are decimal (1 kB = 1000 B), even for sizes that are powers of two: one kind everywhere.
 * All functions write a terminated text of at most `size` bytes and return `out`; ANA_TEXT always is room enough. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANA_TEXT 32

enum ana_unit {
    ANA_COUNT,       /* 412, 12.4k, 1.10M */
    ANA_PER_S,       /* 412/s, 12.4k/s */
    ANA_BYTES,       /* 8 B, 32.8 kB, 36.0 GB */
    ANA_BYTES_PER_S, /* 2.31 GB/s */
    ANA_NS,          /* nanoseconds: 61ns, 1.90ms, 12.3s, 3m12s, 2h14m */
    ANA_SHARE        /* of 0..1: 9.1%, 100% */
};

/* Writes `value` in `unit`.  NAN and infinities are unknown and give a dash: "–" when `utf8`, else "-". */
char *ana_number(char *out, size_t size, enum ana_unit unit, double value, bool utf8);

/* Appends formatted text behind the first *n characters of `out` and adds its length to *n.  Text that does not fit is
 * cut; then *n is not less than `size`. */
__attribute__((format(printf, 4, 5))) void ana_append(char *out, size_t size, size_t *n, const char *format, ...);

/* Returns an integer as a double; a negative value means unknown: NAN. */
static inline double ana_known(int64_t value)
{
    return value < 0 ? NAN : (double)value;
}

/* Writes a running time as a clock: "00:00:07", "02:14:07", "3d 02:14:07"; dashes when negative. */
char *ana_clock(char *out, size_t size, int64_t ns);

/* Writes a duration for a sentence: "1.9 ms", "12 s", "3 min 12 s", "2 h 14 min". */
char *ana_spoken(char *out, size_t size, double ns);

/* Writes the length of a run that has ended: below a minute as ana_spoken() does, else as ana_clock() does. */
char *ana_run_time(char *out, size_t size, int64_t ns);

/* Writes the smallest size of a trc_size_class(): "0 B", "1 B", "64 B", "32.8 kB", "1.05 MB"; "unknown". */
char *ana_size_class(char *out, size_t size, int size_class);

/* Returns the length of the line number or the offset that a place ends in: ":30", "+0x1234"; 0: none. */
int ana_place_tail(const char *text);
/* Returns the columns before the mark in a text that is cut to `width` columns.  In a wide one the last third of the
 * others is behind it, since names differ at either end; a line number or an offset is never cut where it fits. */
int ana_cut_head(const char *text, int width);

/* Puts `text` into exactly `width` columns of a text line: cut (with "~" in it) or padded, to the right when
 * `right`.  Counts characters of UTF-8, not bytes; `out` needs 4 x width + 1 bytes. */
char *ana_column(char *out, size_t size, const char *text, int width, bool right);

/* Formatted texts as expressions, in memory of the enclosing block. */
#define ANA_NUMBER(unit, value, utf8) ana_number((char[ANA_TEXT]){""}, ANA_TEXT, unit, value, utf8)
#define ANA_SPOKEN(ns)                ana_spoken((char[ANA_TEXT]){""}, ANA_TEXT, ns)
#define ANA_SIZE_CLASS(size_class)    ana_size_class((char[ANA_TEXT]){""}, ANA_TEXT, size_class)

/* Returns how many of `all` rows a table shows that has room for `most` and then counts the hidden rows in a line.
 * That line takes no more place than one row, so it never stands for a single row. */
static inline size_t ana_shown(size_t all, size_t most)
{
    return all <= most + 1 ? all : most;
}
