/* The first instructions of a function on x86-64, as far as they move its arguments. */
#include "tui/sources/outside_impl.h"

#include <string.h>

#if defined(__x86_64__)
enum { RSP = TUI_OUTSIDE_ON_STACK, RBP = 5 };

/* An instruction's operands: a register, and a register or memory. */
struct operands {
    int reg, rm; /* rm: register, or base of the address; -1: another address */
    bool memory;
    int32_t offset;
    const uint8_t *end;
};

static struct operands decode_operands(uint8_t rex, const uint8_t *at)
{
    const uint8_t modrm = *at++, mod = modrm >> 6;
    struct operands o = {
        .reg = (modrm >> 3 & 7) | (rex & 4) << 1, .rm = (modrm & 7) | (rex & 1) << 3, .memory = mod != 3};
    int32_t wide = 0;
    memcpy(&wide, at + (o.memory && (modrm & 7) == 4), sizeof wide);
    if (o.memory && (modrm & 7) == 4) {
        const uint8_t sib = *at++;
        o.rm = (sib & 0x3f) == 0x24 && !(rex & 3) ? RSP : -1;
        at += mod == 0 && (sib & 7) == 5 ? 4 : 0;
    } else if (o.memory && mod == 0 && (modrm & 7) == 5) {
        o.rm = -1;
        at += 4;
    }
    o.offset = mod == 1 ? (int8_t)*at : mod == 2 ? wide : 0;
    o.end = at + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
    return o;
}

/* Notes that a register or memory has the value of a register. */
static void note_copy(struct tui_outside_entry *e, const struct operands *o, int from, int to)
{
    const int argument = e->holds[from];
    if (!o->memory) {
        e->holds[to] = argument;
        if (from == RSP && to == RBP)
            e->frame = e->depth;
    } else if (argument >= 0 && (o->rm == RSP || (o->rm == RBP && e->frame))) {
        e->slot[argument] = o->offset - (o->rm == RSP ? e->depth : e->frame);
    }
}

/* Follows one instruction; returns the next one, NULL: it branches, or is not known. */
static const uint8_t *follow(struct tui_outside_entry *e, const uint8_t *at)
{
    static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa}, sub8[] = {0x48, 0x83, 0xec}, sub32[] = {0x48, 0x81, 0xec};
    int32_t wide;
    if (memcmp(at, endbr, sizeof endbr) == 0)
        return at + sizeof endbr;
    memcpy(&wide, at + 3, sizeof wide);
    if (memcmp(at, sub8, sizeof sub8) == 0 || memcmp(at, sub32, sizeof sub32) == 0) {
        e->depth += at[1] == 0x83 ? (int8_t)at[3] : wide;
        return at + (at[1] == 0x83 ? 4 : 7);
    }
    at += *at == 0x64; /* thread's own data */
    const uint8_t rex = (*at & 0xf0) == 0x40 ? *at++ : 0, opcode = *at++;
    if (opcode >= 0x50 && opcode < 0x58) {
        e->depth += 8;
        return at;
    }
    const struct operands o = decode_operands(rex, at);
    switch (opcode) {
    case 0x89: /* mov to memory or register */
        note_copy(e, &o, o.reg, o.rm);
        return o.end;
    case 0x8b: /* mov from there */
    case 0x63:
    case 0x8d: /* lea */
        if (o.memory)
            e->holds[o.reg] = -1;
        else
            note_copy(e, &o, o.rm, o.reg);
        return o.end;
    case 0x31: /* xor */
        if (!o.memory)
            e->holds[o.rm] = -1;
        return o.end;
    case 0x39: /* cmp, test */
    case 0x3b:
    case 0x85:
        return o.end;
    case 0xc7:
        return o.memory ? o.end + 4 : NULL;
    }
    return NULL;
}

struct tui_outside_entry tui_outside_decode_entry(const uint8_t *code, size_t size)
{
    static const int carries[TUI_OUTSIDE_IN_REGISTERS] = {7, 6, 2, 1, 8, 9};
    struct tui_outside_entry e = {.depth = 8};
    for (int i = 0; i < 16; i++)
        e.holds[i] = -1;
    for (int i = 0; i < TUI_OUTSIDE_IN_REGISTERS; i++)
        e.holds[carries[i]] = i;
    for (const uint8_t *at = code; at && at < code + size;)
        at = follow(&e, at);
    return e;
}

/* ---- the whole function ------------------------------------------------------------------------------------------ */

/* An instruction: its opcode (0x100 and more: behind 0x0f), and its end; NULL: not known. */
struct instruction {
    int opcode;
    uint8_t rex;
    bool has_operands;
    struct operands at;
    const uint8_t *end;
};

/* Bytes of an immediate operand; `extends`: the digit of the opcode that the register field holds. */
static int immediate_of(int opcode, int extends, bool wide, bool half)
{
    const int full = half ? 2 : 4;
    switch (opcode) {
    case 0xb8 ... 0xbf:
        return wide ? 8 : full;
    case 0x68:
    case 0x69:
    case 0x81:
    case 0xa9:
    case 0xc7:
        return full;
    case 0xe8:
    case 0xe9:
    case 0x180 ... 0x18f:
        return 4;
    case 0xf6:
        return extends < 2;
    case 0xf7:
        return extends < 2 ? full : 0;
    case 0x6a ... 0x6b:
    case 0x70 ... 0x80:
    case 0x83:
    case 0xa8:
    case 0xb0 ... 0xb7:
    case 0xc0 ... 0xc1:
    case 0xc6:
    case 0xeb:
    case 0x170 ... 0x173:
    case 0x1a4:
    case 0x1ac:
    case 0x1ba:
    case 0x1c2:
    case 0x1c4 ... 0x1c6:
        return 1;
    }
    return opcode >= 0x40 ? 0 : (opcode & 7) == 4 ? 1 : (opcode & 7) == 5 ? full : 0;
}

static bool has_operands(int opcode)
{
    if (opcode < 0x40)
        return (opcode & 7) < 4;
    if (opcode >= 0x100)
        return opcode != 0x105 && opcode != 0x10b && opcode != 0x131 && opcode != 0x1a2 &&
               !(opcode >= 0x180 && opcode < 0x190) && !(opcode >= 0x1c8 && opcode < 0x1d0);
    return opcode == 0x63 || opcode == 0x69 || opcode == 0x6b || (opcode >= 0x80 && opcode < 0x90) ||
           (opcode & ~1) == 0xc0 || (opcode & ~1) == 0xc6 || (opcode & ~3) == 0xd0 || (opcode & ~7) == 0xd8 ||
           (opcode & ~1) == 0xf6 || opcode >= 0xfe;
}

static struct instruction decode(const uint8_t *at)
{
    struct instruction out = {.end = NULL};
    bool half = false;
    for (; *at == 0x66 || *at == 0xf2 || *at == 0xf3 || *at == 0x64 || *at == 0xf0 || *at == 0x2e; at++)
        half |= *at == 0x66;
    out.rex = (*at & 0xf0) == 0x40 ? *at++ : 0;
    out.opcode = *at++;
    if (out.opcode == 0x0f)
        out.opcode = 0x100 | *at++;
    if (out.opcode == 0x138 || out.opcode == 0x13a || out.opcode == 0xc4 || out.opcode == 0xc5 || out.opcode == 0x62)
        return out;
    out.has_operands = has_operands(out.opcode);
    if (out.has_operands)
        out.at = decode_operands(out.rex, at);
    out.end = (out.has_operands ? out.at.end : at) + immediate_of(out.opcode, out.at.reg & 7, out.rex & 8, half) +
              (out.opcode == 0xc2 ? 2 : 0);
    return out;
}

/* Whether an instruction may write a register; pop restores the caller's. */
static bool may_write(const struct instruction *i, int reg)
{
    const int opcode = i->opcode, extends = i->at.reg & 7;
    bool in_reg = false, in_rm = false;
    if ((opcode >= 0xb0 && opcode < 0xc0) || (opcode > 0x90 && opcode < 0x98) || (opcode >= 0x1c8 && opcode < 0x1d0))
        return ((opcode & 7) | (i->rex & 1) << 3) == reg;
    if (!i->has_operands)
        return false;
    if (opcode < 0x40) {
        in_reg = (opcode & 2) && (opcode & ~7) != 0x38;
        in_rm = !(opcode & 2) && (opcode & ~7) != 0x38;
    } else if (opcode < 0x100) {
        in_reg = opcode == 0x63 || opcode == 0x69 || opcode == 0x6b || (opcode & ~1) == 0x86 || (opcode & ~1) == 0x8a ||
                 opcode == 0x8d;
        in_rm = opcode >= 0x80 && opcode < 0x84 ? extends != 7
                : (opcode & ~1) == 0xf6         ? extends > 1
                : opcode >= 0xfe                ? extends < 2
                                                : (opcode & ~1) != 0x84 && !in_reg;
        in_rm |= (opcode & ~1) == 0x86;
    } else {
        in_reg = true; /* a vector register of that number also counts */
        in_rm = (opcode >= 0x190 && opcode < 0x1a0) || opcode == 0x17e || opcode >= 0x1a3;
    }
    return (in_reg && i->at.reg == reg) || (in_rm && !i->at.memory && i->at.rm == reg);
}

/* Whether an instruction stores at an offset from the stack pointer, or has its address. */
static bool may_store(const struct instruction *i, int64_t offset)
{
    const int opcode = i->opcode;
    return i->has_operands && i->at.memory && i->at.rm == RSP && i->at.offset == offset &&
           ((opcode & ~1) == 0x88 || opcode == 0x8d || (opcode & ~1) == 0xc6 || (opcode < 0x38 && !(opcode & 2)) ||
            opcode == 0x111 || opcode == 0x113 || opcode == 0x117 || opcode == 0x129 || opcode == 0x17f ||
            opcode == 0x1d6);
}

bool tui_outside_keeps(const uint8_t *code, size_t size, int reg, int64_t offset)
{
    int writes = 0;
    const uint8_t *at = code;
    while (at && at < code + size) {
        const struct instruction i = decode(at);
        writes += i.end && (reg == RSP ? may_store(&i, offset) : may_write(&i, reg));
        at = i.end;
    }
    return at && writes == 1;
}
#endif
