/* Escape sequences are taken as a whole, known or not. */
#include "tests/support/check.h"
#include "tui/term/keys.h"
#include "tui/term/sequence.h"

#include <stdlib.h>
#include <string.h>

/* Feeds characters behind an Esc; *rest gets how many characters do not belong to the sequence. */
static int key_of(const char *text, size_t length, size_t *rest)
{
    struct tui_sequence s = {0};
    size_t i = 0;
    while (i < length && tui_sequence_add(&s, (unsigned char)text[i]))
        i++;
    *rest = s.length ? length - (i < length ? i + 1 : i) : length;
    return tui_sequence_key(&s);
}

static const struct {
    const char *text;
    int key;
} keys[] = {{"[A", TUI_KEY_UP},
            {"[D", TUI_KEY_LEFT},
            {"OC", TUI_KEY_RIGHT},
            {"[1;5D", TUI_KEY_CONTROL_LEFT},
            {"[1;5C", TUI_KEY_CONTROL_RIGHT},
            {"O5C", TUI_KEY_CONTROL_RIGHT},
            {"[1;2D", TUI_KEY_SHIFT_LEFT},
            {"[1;5A", TUI_KEY_NONE},
            {"[4~", TUI_KEY_END},
            {"[8~", TUI_KEY_END},
            {"[F", TUI_KEY_END},
            {"[1~", TUI_KEY_HOME},
            {"[7~", TUI_KEY_HOME},
            {"OH", TUI_KEY_HOME},
            {"[3~", TUI_KEY_DELETE},
            {"[3;5~", TUI_KEY_NONE},
            {"[2~", TUI_KEY_NONE},
            {"[5~", TUI_KEY_PAGE_UP},
            {"[6~", TUI_KEY_PAGE_DOWN},
            {"OP", TUI_KEY_F1},
            {"[[B", TUI_KEY_F1 + 1},
            {"[15~", TUI_KEY_F1 + 4},
            {"[21~", TUI_KEY_F10},
            {"[24~", TUI_KEY_NONE},
            {"[27;5;9~", TUI_KEY_NONE},
            {"[57441u", TUI_KEY_NONE},
            {"[?62;22c", TUI_KEY_NONE},
            {"[200~", TUI_KEY_NONE},
            {"[M (8", TUI_KEY_NONE},
            {"[<0;10;5M", TUI_KEY_NONE},
            {"[I", TUI_KEY_NONE},
            {"]11;rgb:ffff/ffff/ffff\a", TUI_KEY_NONE},
            {"]11;rgb:ffff/ffff/ffff\033\\", TUI_KEY_NONE},
            {"P1$r0 q\033\\", TUI_KEY_NONE}};

/* Any numbers and finals that a terminal may send: no part is left over. */
static void any_of_them(void)
{
    unsigned seed = 7;
    for (int i = 0; i < 20000; i++) {
        char text[48] = "[", *at = text + 1;
        seed = seed * 1103515245 + 12345;
        for (unsigned n = seed >> 16 & 15; n > 0; n--) {
            seed = seed * 1103515245 + 12345;
            *at++ = "0123456789;:<=>? !\"#$%&'()*+,-./"[seed >> 16 & 31];
        }
        seed = seed * 1103515245 + 12345;
        *at = (char)('@' + (seed >> 16) % 63);
        if (text[1] == '[' || text[1] == 'M')
            continue; /* sequences with something behind them */
        size_t rest;
        key_of(text, strlen(text), &rest);
        CHECK(rest == 0, "%s leaves %zu", text, rest);
    }
}

int main(void)
{
    size_t rest;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int key = key_of(keys[i].text, strlen(keys[i].text), &rest);
        CHECK(key == keys[i].key && rest == 0, "%s is key %x, %zu left", keys[i].text + (*keys[i].text == 27), key,
              rest);
        char more[64];
        snprintf(more, sizeof more, "%sq", keys[i].text);
        key = key_of(more, strlen(more), &rest);
        CHECK(key == keys[i].key && rest == 1, "%s: the next key is its own", keys[i].text);
    }
    any_of_them();
    CHECK(key_of("q", 1, &rest) == TUI_KEY_NONE && rest == 1, "Esc and a letter are two keys");
    CHECK(key_of("[", 1, &rest) == TUI_KEY_NONE, "half a sequence is no key");
    char *longest = malloc(100000);
    memset(longest, 'x', 100000);
    longest[0] = ']';
    longest[99999] = 7;
    CHECK(key_of(longest, 100000, &rest) == TUI_KEY_NONE && rest == 0, "a long answer is taken as a whole");
    free(longest);
    return check_result();
}
