#include "trace/util/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_hidden(uint32_t ch)
{
    return ch < 0x20 || (ch >= 0x7f && ch < 0xa0) || ch == 0x061c || ch == 0x200e || ch == 0x200f ||
           (ch >= 0x2028 && ch <= 0x202e) || (ch >= 0x2066 && ch <= 0x2069) || ch == 0xfeff ||
           (ch >= 0xe0000 && ch < 0xe0080);
}

size_t trc_text_char(const char *text, size_t size)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    if (size == 0)
        return 0;
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (n == 0 || n > size)
        return 0;
    uint32_t ch = n == 1 ? s[0] : s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        ch = ch << 6 | (s[i] & 0x3f);
    }
    bool none = ch < least[n] || ch > 0x10ffff || (ch >= 0xd800 && ch < 0xe000);
    return none || is_hidden(ch) ? 0 : n;
}

void trc_clean_text(char *text)
{
    for (size_t left = strlen(text), n; left > 0; left -= n, text += n) {
        n = *text >= ' ' && *text <= '~' ? 1 : trc_text_char(text, left); /* nearly all are */
        if (n == 0) {
            *text = '?';
            n = 1;
        }
    }
}

static bool is_number(const char *text)
{
    static const char digits[] = "0123456789";
    char *end;
    const char *first = text + (*text == '-' || *text == '+');
    first += *first == '.';
    strtod(text, &end);
    return *first && strchr(digits, *first) && !*end && !strpbrk(text, "xX");
}

const char *trc_text_defuse(const char *text)
{
    bool begins = *text && strchr("=+-@\t\r", *text);
    return begins && !is_number(text) ? "'" : "";
}

const char *trc_base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash && slash[1] ? slash + 1 : path;
}

bool trc_ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}
