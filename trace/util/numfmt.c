#include "trace/util/numfmt.h"
#include "trace/format/histogram.h"
#include "trace/util/cxx_name.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Returns how many decimals give a value below 1000 three significant digits. */
static int decimals(double value)
{
    if (value >= 99.95)
        return 0;
    return value >= 9.995 ? 1 : 2;
}

/* Writes "412", "12.4k": `prefix` names the powers of 1000.  Whole numbers below 1000 have no decimals. */
static void put_scaled(char *out, size_t size, double value, const char *const *prefix, size_t prefixes,
                       const char *unit)
{
    const char *sign = value < 0 ? "-" : "";
    value = fabs(value);
    size_t p = 0;
    while (p + 1 < prefixes && value >= 999.5) {
        value /= 1000;
        p++;
    }
    int digits = p == 0 && value == floor(value) ? 0 : decimals(value);
    snprintf(out, size, "%s%.*f%s%s", sign, digits, value, prefix[p], unit);
}

static void put_duration(char *out, size_t size, double ns)
{
    static const char *const prefix[4] = {"n", "u", "m", ""};
    double s = fabs(ns) / 1e9;
    const char *sign = ns < 0 ? "-" : "";
    if (s < 99.95) {
        put_scaled(out, size, ns < 0 || ns >= 100 ? ns : floor(ns + 0.5), prefix, 4, "s");
        return;
    }
    uint64_t whole = s < 1e15 ? (uint64_t)(s + 0.5) : (uint64_t)1e15;
    if (whole < 3600)
        snprintf(out, size, "%s%" PRIu64 "m%02" PRIu64 "s", sign, whole / 60, whole % 60);
    else if (whole < 86400)
        snprintf(out, size, "%s%" PRIu64 "h%02" PRIu64 "m", sign, whole / 3600, whole % 3600 / 60);
    else
        snprintf(out, size, "%s%" PRIu64 "d%02" PRIu64 "h", sign, whole / 86400, whole % 86400 / 3600);
}

static void put_share(char *out, size_t size, double value)
{
    double percent = value * 100;
    if (percent > 0 && percent < 0.05)
        snprintf(out, size, "<0.1%%");
    else if (fabs(percent) >= 99.95)
        snprintf(out, size, "%.0f%%", percent);
    else
        snprintf(out, size, "%.1f%%", percent);
}

char *ana_number(char *out, size_t size, enum ana_unit unit, double value, bool utf8)
{
    static const char *const count[7] = {"", "k", "M", "G", "T", "P", "E"};
    static const char *const bytes[7] = {" ", " k", " M", " G", " T", " P", " E"};
    if (!isfinite(value)) {
        snprintf(out, size, "%s", utf8 ? "\xe2\x80\x93" : "-");
        return out;
    }
    switch (unit) {
    case ANA_COUNT:
        put_scaled(out, size, value, count, 7, "");
        break;
    case ANA_PER_S:
        put_scaled(out, size, value, count, 7, "/s");
        break;
    case ANA_BYTES:
        put_scaled(out, size, value, bytes, 7, "B");
        break;
    case ANA_BYTES_PER_S:
        put_scaled(out, size, value, bytes, 7, "B/s");
        break;
    case ANA_NS:
        put_duration(out, size, value);
        break;
    case ANA_SHARE:
        put_share(out, size, value);
        break;
    }
    return out;
}

char *ana_clock(char *out, size_t size, int64_t ns)
{
    if (ns < 0) {
        snprintf(out, size, "--:--:--");
        return out;
    }
    uint64_t s = (uint64_t)ns / 1000000000u;
    unsigned h = (unsigned)(s % 86400 / 3600), m = (unsigned)(s % 3600 / 60), sec = (unsigned)(s % 60);
    if (s < 86400)
        snprintf(out, size, "%02u:%02u:%02u", h, m, sec);
    else
        snprintf(out, size, "%" PRIu64 "d %02u:%02u:%02u", s / 86400, h, m, sec);
    return out;
}

char *ana_spoken(char *out, size_t size, double ns)
{
    if (!isfinite(ns)) {
        snprintf(out, size, "unknown");
        return out;
    }
    double s = ns / 1e9;
    if (s < 1e-6)
        snprintf(out, size, "%.0f ns", ns);
    else if (s < 1e-3)
        snprintf(out, size, "%.*f us", s < 1e-5 ? 1 : 0, s * 1e6);
    else if (s < 1)
        snprintf(out, size, "%.*f ms", s < 1e-2 ? 1 : 0, s * 1e3);
    else if (s < 60)
        snprintf(out, size, "%.*f s", s < 10 ? 1 : 0, s);
    else if (s < 3600)
        snprintf(out, size, "%d min %d s", (int)(s / 60), (int)s % 60);
    else
        snprintf(out, size, "%.0f h %d min", floor(s / 3600), (int)fmod(s / 60, 60));
    return out;
}

char *ana_run_time(char *out, size_t size, int64_t ns)
{
    return 0 <= ns && ns < 60000000000 ? ana_spoken(out, size, (double)ns) : ana_clock(out, size, ns);
}

char *ana_size_class(char *out, size_t size, int size_class)
{
    if (size_class < 0)
        snprintf(out, size, "all");
    else if (size_class == TRC_SIZE_UNKNOWN)
        snprintf(out, size, "unknown");
    else
        ana_number(out, size, ANA_BYTES, size_class ? ldexp(1, size_class - 1) : 0, false);
    return out;
}

#define NARROW 14 /* columns that two parts of a name do not fit into */

int ana_place_tail(const char *text)
{
    const char *colon = strrchr(text, ':'), *plus = strstr(text, "+0x");
    size_t line = colon ? strspn(colon + 1, "0123456789") : 0;
    size_t offset = plus ? strspn(plus + 3, "0123456789abcdef") : 0;
    if (line && !colon[1 + line])
        return (int)line + 1;
    return offset && !plus[3 + offset] ? (int)offset + 3 : 0;
}

int ana_cut_head(const char *text, int width)
{
    if (width < 1)
        return 0;
    int head = width < NARROW ? width - 1 : width - 1 - (width - 1) / 3, most = width - 1 - ana_place_tail(text);
    return most > 0 && most < head ? most : head;
}

char *ana_column(char *out, size_t size, const char *text, int width, bool right)
{
    if (size == 0)
        return out;
    char room[512];
    text = trc_cxx_fit(text, width > 0 ? (size_t)width : SIZE_MAX, room, sizeof room);
    int columns = 0;
    for (const char *c = text; *c; c++)
        columns += ((unsigned char)*c & 0xc0) != 0x80;
    int head = columns > width ? ana_cut_head(text, width) : columns, pad = columns > width ? 0 : width - columns;
    int tail = columns > width ? columns - (width - 1 - head) : columns; /* characters before it are left out */
    size_t n = 0;
    for (int i = 0; right && i < pad && n + 1 < size; i++)
        out[n++] = ' ';
    int seen = 0;
    for (const char *c = text; *c && n + 1 < size; c++) {
        bool begins = ((unsigned char)*c & 0xc0) != 0x80;
        seen += begins;
        if (begins && seen == head + 1 && columns > width && width > 0)
            out[n++] = '~';
        if ((seen <= head || seen > tail) && n + 1 < size)
            out[n++] = *c;
    }
    for (int i = 0; !right && i < pad && n + 1 < size; i++)
        out[n++] = ' ';
    out[n] = 0;
    return out;
}

void ana_append(char *out, size_t size, size_t *n, const char *format, ...)
{
    va_list args;
    if (*n >= size)
        return;
    va_start(args, format);
    int more = vsnprintf(out + *n, size - *n, format, args);
    va_end(args);
    *n += more > 0 ? (size_t)more : 0;
}
