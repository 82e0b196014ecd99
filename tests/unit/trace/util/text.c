/* Text from elsewhere that may be shown; nothing else comes out of stdout, wherever writes are cut. */
#include "tests/support/check.h"
#include "trace/util/text.h"
#include "tui/term/out.h"

#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *in, *out;
} cases[] = {
    {"plain", "plain"},
    {"Gr\xc3\xbc\xc3\x9f"
     "e \xe2\x9c\x93 \xf0\x9f\x9a\x80",
     "Gr\xc3\xbc\xc3\x9f"
     "e \xe2\x9c\x93 \xf0\x9f\x9a\x80"},
    {"esc\x1b[31m", "esc?[31m"},
    {"\x01\x7f\r\b", "????"},
    {"caf\xe9", "caf?"},                         /* Latin-1 */
    {"a\x9b\x33m", "a?3m"},                      /* C1, one byte */
    {"a\xc2\x9b\x33m\xc2\xa0", "a??3m\xc2\xa0"}, /* C1 in UTF-8; the first that is none */
    {"\xc0\xaf\xe0\x80\xaf", "?????"},           /* overlong */
    {"\xed\xa0\x80\xf4\x90\x80\x80", "???????"}, /* a surrogate; beyond Unicode */
    {"\xe2\x80\xae\xe2\x80\xa8", "??????"},      /* right to left from here on; a line separator */
    {"\xe2\x9c", "??"},                          /* cut off */
    {"\xe2\xe2\x9c\x93", "?\xe2\x9c\x93"},
};
enum { CASES = sizeof cases / sizeof *cases };

static void clean(void)
{
    for (size_t i = 0; i < CASES; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", cases[i].in);
        trc_clean_text(text);
        CHECK(strcmp(text, cases[i].out) == 0, "case %zu: \"%s\"", i, text);
    }
}

static void defuse(void)
{
    static const char *const computed[] = {"=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1",
                                           "\r=1", "-",    "-0x1", "+inf",    "-."};
    static const char *const shown[] = {"", "1+1", "-1", "+1.5e-3", "-.5", "0x1", "MPI_Send", "'=1"};
    for (size_t i = 0; i < sizeof computed / sizeof *computed; i++)
        CHECK(strcmp(trc_text_defuse(computed[i]), "'") == 0, "\"%s\" is computed", computed[i]);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        CHECK(strcmp(trc_text_defuse(shown[i]), "") == 0, "\"%s\" is shown", shown[i]);
}

/* All cases, a line each, written `step` bytes at a time. */
static void way_out(int from, size_t step)
{
    char all[1024] = "", want[1024] = "", got[1024];
    size_t n = 0;
    for (size_t i = 0; i < CASES; i++) {
        strcat(strcat(all, cases[i].in), "\n");
        strcat(strcat(want, cases[i].out), "\n");
    }
    for (size_t at = 0, size = strlen(all); at < size; at += step) {
        fwrite(all + at, 1, size - at < step ? size - at : step, stdout);
        fflush(stdout);
    }
    for (ssize_t more = 1; n < strlen(want) && more > 0; n += more > 0 ? (size_t)more : 0)
        more = read(from, got + n, sizeof got - n);
    CHECK(n == strlen(want) && memcmp(got, want, n) == 0, "by %zu: %.*s", step, (int)n, got);
}

int main(void)
{
    int ends[2], plain = dup(STDOUT_FILENO);
    if (!setlocale(LC_CTYPE, "C.UTF-8") || pipe(ends) || plain < 0)
        return 77;
    clean();
    defuse();
    dup2(ends[1], STDOUT_FILENO);
    tui_out_guard();
    for (size_t step = 1; step < 9; step++)
        way_out(ends[0], step);
    dup2(plain, STDOUT_FILENO);
    fflush(stdout);
    return check_result();
}
