#include "tui/term/out.h"

#include "trace/util/text.h"
#include <errno.h>
#include <langinfo.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define LONGEST 4u /* bytes of a character */

struct out {
    int fd;
    bool ascii;
    char cut[LONGEST]; /* the bytes of a character whose end has not come yet */
    size_t held;
};
static struct out out[2] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};
static FILE *terminal;

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Returns whether these bytes begin a character that needs more bytes. */
static bool is_cut(const char *bytes, size_t size)
{
    unsigned char c = (unsigned char)*bytes;
    size_t length = c < 0xc2 || c >= 0xf5 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < size; i++)
        if (!is_continuation(bytes[i]))
            return false;
    return size < length;
}

/* Appends the first character of `bytes` to `to`, or a '?' for its first byte.  Returns the number of bytes taken. */
static size_t append_character(const struct out *o, const char *bytes, size_t size, char *to, size_t *n)
{
    bool plain = *bytes == '\n' || *bytes == '\t';
    size_t length = plain ? 1 : trc_text_char(bytes, size);
    if (length == 0 || (length > 1 && o->ascii)) {
        to[(*n)++] = '?';
        return length ? length : 1;
    }
    memcpy(to + *n, bytes, length);
    *n += length;
    return length;
}

/* Number of bytes, from the first on, shown unchanged whatever comes next: nearly all are. */
static size_t count_plain(const char *bytes, size_t size)
{
    size_t n = 0;
    while (n < size && ((bytes[n] >= ' ' && bytes[n] <= '~') || bytes[n] == '\n' || bytes[n] == '\t'))
        n++;
    return n;
}

static ssize_t write_guarded(void *cookie, const char *bytes, size_t size)
{
    struct out *o = cookie;
    char shown[4096];
    size_t n = 0, at = 0;
    while (o->held > 0 && at < size) { /* the rest of the character that the last write cut */
        bool more = is_continuation(bytes[at]);
        if (more)
            o->cut[o->held++] = bytes[at++];
        if (more && is_cut(o->cut, o->held))
            continue;
        for (size_t i = 0; i < o->held;)
            i += append_character(o, o->cut + i, o->held - i, shown, &n);
        o->held = 0;
    }
    while (at < size) {
        size_t plain = count_plain(bytes + at, size - at < sizeof shown - n ? size - at : sizeof shown - n);
        memcpy(shown + n, bytes + at, plain);
        n += plain;
        at += plain;
        if (n + LONGEST > sizeof shown) {
            if (!write_all(o->fd, shown, n))
                return 0;
            n = 0;
            continue;
        }
        if (at == size)
            break;
        if (size - at < LONGEST && is_cut(bytes + at, size - at)) {
            memcpy(o->cut, bytes + at, size - at);
            o->held = size - at;
            break;
        }
        at += append_character(o, bytes + at, size - at, shown, &n);
    }
    return write_all(o->fd, shown, n) ? (ssize_t)size : 0;
}

static FILE *open_guarded(struct out *o, FILE *plain)
{
    bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    o->ascii = !utf8 && isatty(o->fd);
    FILE *file = fopencookie(o, "w", (cookie_io_functions_t){.write = write_guarded});
    if (!file)
        return plain;
    setvbuf(file, NULL, o->fd == STDERR_FILENO ? _IONBF : isatty(o->fd) ? _IOLBF : _IOFBF, BUFSIZ);
    return file;
}

void tui_out_guard(void)
{
    terminal = stdout;
    stdout = open_guarded(&out[0], stdout);
    stderr = open_guarded(&out[1], stderr);
}

FILE *tui_out_terminal(void)
{
    return terminal ? terminal : stdout;
}
