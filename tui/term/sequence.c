#include "tui/term/sequence.h"

#include "tui/term/keys.h"
#include <stdlib.h>
#include <string.h>

enum { MOUSE = 3, BELL = 7 };

static bool is_final(unsigned ch)
{
    return ch >= 0x40 && ch <= 0x7e;
}

/* Whether more belongs to a sequence that began with `[` and has `n` characters with this one. */
static bool is_unfinished(const struct tui_sequence *s, unsigned ch)
{
    size_t n = s->length;
    if (n == 1)
        return true;
    if (s->text[1] == '[') /* F1 to F5 of the Linux console */
        return n < 3;
    if (s->text[1] == 'M') /* an old mouse: button, column, row */
        return n < 2 + MOUSE;
    return !is_final(ch);
}

bool tui_sequence_add(struct tui_sequence *s, unsigned ch)
{
    char last = s->length && s->length <= TUI_SEQUENCE ? s->text[s->length - 1] : 0;
    if (s->length == 0 && !(ch < 0x80 && ch && strchr("[OP]_^X", (int)ch)))
        return false;
    if (s->length < TUI_SEQUENCE)
        s->text[s->length] = (char)ch;
    else /* the end of a string may be far away */
        s->text[TUI_SEQUENCE - 1] = (char)ch;
    s->length += s->length < TUI_SEQUENCE;
    if (s->text[0] == '[')
        return is_unfinished(s, ch);
    if (s->text[0] == 'O')
        return s->length == 1 || (ch >= '0' && ch <= '9') || ch == ';';
    return s->length == 1 || !(ch == BELL || (last == 27 && ch == '\\'));
}

/* The key that `ch` ends sequences of, with a modifier: 1 none, 2 Shift, 5 Ctrl. */
static int key_of_letter(char ch, long modifier)
{
    static const struct {
        char ch;
        int plain, shift, control;
    } keys[] = {{'A', TUI_KEY_UP, 0, 0},
                {'B', TUI_KEY_DOWN, 0, 0},
                {'C', TUI_KEY_RIGHT, TUI_KEY_SHIFT_RIGHT, TUI_KEY_CONTROL_RIGHT},
                {'D', TUI_KEY_LEFT, TUI_KEY_SHIFT_LEFT, TUI_KEY_CONTROL_LEFT},
                {'H', TUI_KEY_HOME, 0, 0},
                {'F', TUI_KEY_END, 0, 0},
                {'P', TUI_KEY_F1, 0, 0},
                {'Q', TUI_KEY_F1 + 1, 0, 0},
                {'R', TUI_KEY_F1 + 2, 0, 0},
                {'S', TUI_KEY_F1 + 3, 0, 0},
                {'M', TUI_KEY_ENTER, 0, 0}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].ch == ch)
            return modifier == 1 ? keys[i].plain : modifier == 2 ? keys[i].shift : modifier == 5 ? keys[i].control : 0;
    return TUI_KEY_NONE;
}

static int key_of_number(long number)
{
    static const int keys[] = {
        [1] = TUI_KEY_HOME,      [3] = TUI_KEY_DELETE,  [4] = TUI_KEY_END,     [5] = TUI_KEY_PAGE_UP,
        [6] = TUI_KEY_PAGE_DOWN, [7] = TUI_KEY_HOME,    [8] = TUI_KEY_END,     [11] = TUI_KEY_F1,
        [12] = TUI_KEY_F1 + 1,   [13] = TUI_KEY_F1 + 2, [14] = TUI_KEY_F1 + 3, [15] = TUI_KEY_F1 + 4,
        [17] = TUI_KEY_F1 + 5,   [18] = TUI_KEY_F1 + 6, [19] = TUI_KEY_F1 + 7, [20] = TUI_KEY_F1 + 8,
        [21] = TUI_KEY_F10};
    return number >= 0 && number < (long)(sizeof keys / sizeof *keys) ? keys[number] : TUI_KEY_NONE;
}

int tui_sequence_key(const struct tui_sequence *s)
{
    char text[TUI_SEQUENCE], *end;
    if (s->length < 2 || s->length >= TUI_SEQUENCE || !strchr("[O", s->text[0]))
        return TUI_KEY_NONE;
    char last = s->text[s->length - 1];
    memcpy(text, s->text + 1, s->length - 2);
    text[s->length - 2] = 0;
    if (text[0] == '[')
        return last >= 'A' && last <= 'E' ? TUI_KEY_F1 + (last - 'A') : TUI_KEY_NONE;
    if (text[strspn(text, "0123456789;")]) /* an answer of the terminal, a mouse */
        return TUI_KEY_NONE;
    long first = strtol(text, &end, 10), modifier = *end == ';' ? strtol(end + 1, &end, 10) : 1;
    if (s->text[0] == 'O' && first) /* "O5D": the number is the modifier */
        modifier = first;
    if (last == '~')
        return modifier == 1 ? key_of_number(first) : TUI_KEY_NONE;
    return s->text[0] == '[' && strchr("PQRSM", last) && first != 1 ? TUI_KEY_NONE : key_of_letter(last, modifier);
}
