/* Output to stdout has no control characters and no bytes that are no UTF-8, however it is cut into writes. */
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tui/term/out.h"
#include "trace/util/text.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE = 200000 };

static uint64_t random_state = 88172645463325252u;
static size_t below(size_t n)
{
    return (size_t)(draw_bits(&random_state) % n);
}

/* Long plain stretches, and between them a few bytes of any kind. */
static void fill(char *text)
{
    static const char *const odd[] = {
        "\x1b[31m", "\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xc3", "\xe2\x82", "\xff", "\x7f", "\r"};
    for (size_t at = 0; at < SIZE;) {
        for (size_t n = below(9000); n-- && at < SIZE;)
            text[at++] = "plain\ttext\n"[below(11)];
        for (size_t n = below(20); n--;) {
            const char *some = odd[below(sizeof odd / sizeof *odd)];
            for (; *some && at < SIZE; some++)
                text[at++] = *some;
        }
    }
}

static size_t expect(const char *text, char *out)
{
    size_t n = 0;
    for (size_t at = 0, length; at < SIZE; at += length ? length : 1) {
        bool plain = text[at] == '\n' || text[at] == '\t';
        length = plain ? 1 : trc_text_char(text + at, SIZE - at);
        memcpy(out + n, length ? text + at : "?", length ? length : 1);
        n += length ? length : 1;
    }
    return n;
}

int main(void)
{
    char *text = malloc(SIZE), *expected = malloc(SIZE), *got = malloc(SIZE + 1);
    FILE *file = tmpfile();
    if (!text || !expected || !got || !file || dup2(fileno(file), STDOUT_FILENO) < 0)
        return 77;
    fill(text);
    text[SIZE - 1] = '\n'; /* a character that is cut off at the end is held back for ever */
    tui_out_guard();
    for (size_t done = 0, n; done < SIZE; done += n) {
        n = 1 + below(below(2) ? 10 : 10000);
        n = n < SIZE - done ? n : SIZE - done;
        fwrite(text + done, 1, n, stdout);
        if (below(3) == 0)
            fflush(stdout);
    }
    fflush(stdout);
    size_t size = expect(text, expected);
    rewind(file);
    size_t read = fread(got, 1, SIZE + 1, file);
    CHECK(read == size && memcmp(got, expected, size) == 0, "%zu bytes, not %zu, or others", read, size);
    free(text);
    free(expected);
    free(got);
    return check_result();
}
