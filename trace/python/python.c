#include "trace/python/python.h"

#include <string.h>

#define LINES_MAX    65536u
#define INTERPRETERS 64u

uint64_t trc_python_word(const struct trc_python *p, uint64_t address)
{
    uint64_t word;
    return address && p->read(p, address, &word, sizeof word) ? word : 0;
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18 & 7));
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* A str as UTF-8; of a long one the end is kept, which says more of a path. */
static bool read_string(const struct trc_python *p, uint64_t object, char *out, size_t size)
{
    const struct trc_python_layout *l = &p->layout;
    struct {
        uint64_t count, type, length, hash;
        uint32_t state;
    } head;
    if (!p->read(p, object, &head, sizeof head) || head.length > 65536)
        return false;
    /* Bits of the state: 2 interned, 3 kind, 1 compact, 1 ascii. */
    unsigned kind = head.state >> 2 & 7, compact = head.state >> 5 & 1, ascii = head.state >> 6 & 1;
    if (!compact || (kind != 1 && (ascii || (kind != 2 && kind != 4))))
        return false;
    size_t room = (size - 1) / (ascii ? 1 : kind == 1 ? 2 : kind == 2 ? 3 : 4), n = (size_t)head.length, at = 0;
    uint64_t data = object + (ascii ? l->ascii : l->compact);
    if (n > room) {
        data += (n - room) * kind;
        n = room;
    }
    for (size_t i = 0; i < n;) {
        uint8_t part[512];
        size_t some = n - i < sizeof part / kind ? n - i : sizeof part / kind;
        if (!p->read(p, data + i * kind, part, some * kind))
            return false;
        for (size_t k = 0; k < some; k++) {
            uint32_t c = part[k * kind];
            if (kind == 2)
                c |= (uint32_t)part[k * 2 + 1] << 8;
            else if (kind == 4)
                memcpy(&c, part + k * 4, 4);
            if (ascii && c >= 0x80)
                return false; /* no string, or changed meanwhile */
            at += put_utf8(out + at, c);
        }
        i += some;
    }
    out[at] = 0;
    return true;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* A bytes object that is read piece by piece. */
struct table {
    const struct trc_python *python;
    uint64_t at, end, have_end;
    uint8_t part[256];
    uint64_t part_at;
};
static int read_byte(struct table *t)
{
    if (t->at >= t->end)
        return -1;
    if (t->at >= t->have_end) {
        size_t n = t->end - t->at < sizeof t->part ? (size_t)(t->end - t->at) : sizeof t->part;
        if (!t->python->read(t->python, t->at, t->part, n))
            return -1;
        t->part_at = t->at;
        t->have_end = t->at + n;
    }
    return t->part[t->at++ - t->part_at];
}
static int32_t read_varint(struct table *t)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 30; shift += 6) {
        int byte = read_byte(t);
        if (byte < 0)
            break;
        value |= (uint32_t)(byte & 63) << shift;
        if (!(byte & 64))
            break;
    }
    return (int32_t)value;
}
static int32_t read_signed(struct table *t)
{
    uint32_t value = (uint32_t)read_varint(t);
    return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* Adds to a line's number; a damaged table wraps around. */
static int32_t add_lines(int32_t line, int32_t change)
{
    return (int32_t)((uint32_t)line + (uint32_t)change);
}

/* Python 3.11 on: each entry covers some code units and says how the line changes. */
static int32_t find_line_in_entries(struct table *t, int32_t line, uint64_t index)
{
    uint64_t place = 0;
    int32_t known = line;
    for (int first; (first = read_byte(t)) >= 0;) {
        unsigned code = (unsigned)first >> 3 & 15, length = ((unsigned)first & 7) + 1;
        bool none = code == 15;
        if (code == 14) {
            line = add_lines(line, read_signed(t));
            read_varint(t);
            read_varint(t);
            read_varint(t);
        } else if (code == 13) {
            line = add_lines(line, read_signed(t));
        } else if (code >= 10 && !none) {
            line = add_lines(line, (int32_t)code - 10);
            read_byte(t);
            read_byte(t);
        } else if (!none) {
            read_byte(t);
        }
        known = none ? known : line;
        place += length;
        if (index < place)
            break;
    }
    return known;
}

/* 3.10: pairs of bytes covered and change of line; -128: no line.  Before: change of place, then of line. */
static int32_t find_line_in_pairs(struct table *t, int32_t line, uint64_t place_wanted, bool before_310)
{
    uint64_t place = 0;
    for (;;) {
        int step = read_byte(t), change = read_byte(t);
        if (step < 0 || change < 0)
            return line;
        int32_t delta = (int8_t)change;
        if (before_310) {
            place += (uint64_t)step;
            if (place > place_wanted)
                return line;
            line = add_lines(line, delta);
        } else {
            line = add_lines(line, delta == -128 ? 0 : delta);
            place += (uint64_t)step;
            if (place > place_wanted)
                return line;
        }
    }
}

static int32_t find_line(const struct trc_python *p, uint64_t code, uint64_t at)
{
    const struct trc_python_layout *l = &p->layout;
    int32_t first = 0;
    uint64_t bytes = trc_python_word(p, code + l->code_lines), size = trc_python_word(p, bytes + 16);
    if (!p->read(p, code + l->code_first_line, &first, sizeof first) || size > LINES_MAX * 16)
        return 0;
    struct table t = {.python = p, .at = bytes + 32, .end = bytes + 32 + size};
    if (l->minor >= 11) {
        uint64_t begin = code + l->code_bytes;
        return find_line_in_entries(&t, first, at < begin ? 0 : (at - begin) / 2);
    }
    int32_t index = (int32_t)at;
    if (index < 0)
        return first;
    return find_line_in_pairs(&t, first, l->minor == 10 ? (uint64_t)index * 2 : (uint64_t)index, l->minor < 10);
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

uint64_t trc_python_top(const struct trc_python *p, uint64_t state)
{
    const struct trc_python_layout *l = &p->layout;
    uint64_t frame = trc_python_word(p, state + l->thread_frame);
    return frame && (l->minor == 11 || l->minor == 12) ? trc_python_word(p, frame + l->cframe) : frame;
}

bool trc_python_code(const struct trc_python *p, uint64_t frame, uint64_t *code, uint64_t *at)
{
    const struct trc_python_layout *l = &p->layout;
    uint8_t owner = 0;
    *code = trc_python_word(p, frame + l->frame_code) & ~(uint64_t)(l->minor >= 14 ? 3 : 0); /* tagged */
    if (l->frame_owner && (!p->read(p, frame + l->frame_owner, &owner, 1) || owner >= 3))
        return false; /* the C stack's own */
    if (!*code || trc_python_word(p, *code + 8) != p->code_type)
        return false;
    if (l->minor >= 11) {
        *at = trc_python_word(p, frame + l->frame_at);
    } else {
        int32_t index = -1;
        p->read(p, frame + l->frame_at, &index, sizeof index);
        *at = (uint64_t)(int64_t)index;
    }
    return true;
}

uint64_t trc_python_back(const struct trc_python *p, uint64_t frame)
{
    return trc_python_word(p, frame + p->layout.frame_back);
}

bool trc_python_describe(const struct trc_python *p, uint64_t code, uint64_t at, struct trc_python_place *out)
{
    const struct trc_python_layout *l = &p->layout;
    if (!read_string(p, trc_python_word(p, code + l->code_name), out->function, sizeof out->function) ||
        !read_string(p, trc_python_word(p, code + l->code_file), out->file, sizeof out->file))
        return false;
    out->line = find_line(p, code, at);
    return true;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* Before 3.11 the interpreter knows only the address of the C library's descriptor of the thread, which holds the
 * thread's id somewhere near its start: the first number that is the id of a thread of this process. */
static uint32_t find_tid(const struct trc_python *p, uint64_t descriptor, const uint32_t *tid, unsigned count)
{
    uint32_t words[256];
    if (!p->read(p, descriptor, words, sizeof words))
        return 0;
    for (size_t i = 16; i < sizeof words / sizeof *words; i++)
        for (unsigned k = 0; words[i] && k < count; k++)
            if (words[i] == tid[k])
                return words[i];
    return 0;
}

static uint64_t find_gil_holder(const struct trc_python *p, uint64_t interp)
{
    const struct trc_python_layout *l = &p->layout;
    if (l->minor <= 11)
        return trc_python_word(p, p->runtime + l->gil);
    uint64_t gil = trc_python_word(p, interp + l->gil);
    int32_t locked = 0;
    /* struct _gil_runtime_state: interval, last_holder, locked */
    return gil && p->read(p, gil + 16, &locked, sizeof locked) && locked == 1 ? trc_python_word(p, gil + 8) : 0;
}

size_t trc_python_threads(const struct trc_python *p, const uint32_t *tid, unsigned count,
                          struct trc_python_thread *out, size_t most)
{
    const struct trc_python_layout *l = &p->layout;
    size_t n = 0;
    uint64_t interp = trc_python_word(p, p->runtime + l->interp);
    for (unsigned i = 0; interp && i < INTERPRETERS; i++, interp = trc_python_word(p, interp + l->interp_next)) {
        uint64_t holder = find_gil_holder(p, interp), state = trc_python_word(p, interp + l->interp_threads);
        for (; state && n < most; state = trc_python_word(p, state + l->thread_next)) {
            uint64_t word = trc_python_word(p, state + (l->thread_native ? l->thread_native : l->thread_pthread));
            out[n++] = (struct trc_python_thread){
                .tid = l->thread_native ? (uint32_t)word : find_tid(p, word, tid, count),
                .has_gil = state == holder,
                .state = state,
            };
        }
    }
    return n;
}
