#include "trace/export/out.h"
#include "trace/util/mode.h"
#include "trace/util/text.h"
#include <errno.h>
#include <stdarg.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int ana_out_make(const char *path)
{
    if (unlink(path) != 0 && errno != ENOENT) /* leftover of a killed export, or a link that leads elsewhere */
        return -1;
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, ana_mode_of(path));
}

struct ana_out *ana_out_open(const char *path)
{
    struct ana_out *out = malloc(sizeof *out);
    if (!out)
        return NULL;
    out->fd = ana_out_make(path);
    out->error = out->fd < 0 ? errno : 0;
    out->used = 0;
    return out;
}

static void write_all(struct ana_out *out, const char *bytes, size_t n)
{
    while (n > 0 && !out->error) {
        ssize_t written = write(out->fd, bytes, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            out->error = written < 0 ? errno : EIO;
            return;
        }
        bytes += written;
        n -= (size_t)written;
    }
}

static void flush(struct ana_out *out)
{
    write_all(out, out->room, out->used);
    out->used = 0;
}

int ana_out_close(struct ana_out *out)
{
    if (!out)
        return 0;
    flush(out);
    if (out->fd >= 0 && close(out->fd) != 0 && !out->error)
        out->error = errno;
    int error = out->error;
    free(out);
    return error;
}

char *ana_out_grow(struct ana_out *out, size_t n)
{
    if (out->used + n > sizeof out->room)
        flush(out);
    return out->room + out->used;
}

void ana_out_bytes(struct ana_out *out, const void *bytes, size_t n)
{
    if (n > sizeof out->room / 2) {
        flush(out);
        write_all(out, bytes, n);
        return;
    }
    memcpy(ana_out_grow(out, n), bytes, n);
    out->used += n;
}

void ana_out_integer(struct ana_out *out, uint64_t value)
{
    char digits[20];
    size_t n = 0;
    do
        digits[sizeof digits - ++n] = (char)('0' + value % 10);
    while ((value /= 10));
    ana_out_bytes(out, digits + sizeof digits - n, n);
}

void ana_out_signed(struct ana_out *out, int64_t value)
{
    if (value < 0)
        ana_out_text(out, "-");
    ana_out_integer(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void ana_out_seconds(struct ana_out *out, int64_t ns)
{
    uint64_t positive = ns < 0 ? -(uint64_t)ns : (uint64_t)ns, rest = positive % 1000000000u;
    char text[10] = ".";
    if (ns < 0)
        ana_out_text(out, "-");
    ana_out_integer(out, positive / 1000000000u);
    for (int i = 9; i > 0; i--, rest /= 10)
        text[i] = (char)('0' + rest % 10);
    ana_out_bytes(out, text, sizeof text);
}

void ana_out_format(struct ana_out *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    for (const char *at = format; *at;) {
        size_t n = strcspn(at, "%");
        ana_out_bytes(out, at, n);
        at += n;
        switch (*at ? at[1] : 0) {
        case 's':
            ana_out_text(out, va_arg(args, const char *));
            break;
        case 'c':
            ana_out_csv(out, va_arg(args, const char *));
            break;
        case 'u':
            ana_out_integer(out, va_arg(args, uint64_t));
            break;
        case 'd':
            ana_out_signed(out, va_arg(args, int64_t));
            break;
        case 'T':
            ana_out_seconds(out, va_arg(args, int64_t));
            break;
        default:
            break;
        }
        at += *at ? 2 : 0;
    }
    va_end(args);
}

void ana_out_csv(struct ana_out *out, const char *text)
{
    size_t left = text ? strlen(text) : 0;
    bool quoted = text && strpbrk(text, ",\"\r\n");
    ana_out_text(out, quoted ? "\"" : "");
    ana_out_text(out, text ? trc_text_defuse(text) : "");
    while (left) {
        size_t n = trc_text_char(text, left);
        if (*text == '"')
            ana_out_text(out, "\"");
        ana_out_bytes(out, n ? text : "?", n ? n : 1);
        text += n ? n : 1;
        left -= n ? n : 1;
    }
    ana_out_text(out, quoted ? "\"" : "");
}
