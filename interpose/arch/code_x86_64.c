#include "interpose/arch/code.h"

#include <string.h>

#if defined(__x86_64__)

static int64_t load_signed(const uint8_t *at, unsigned bytes)
{
    int32_t value = 0;
    if (bytes == 1)
        return (int8_t)*at;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Operands of the opcodes in wrappers: M a ModRM byte, with m and d followed by an immediate of 1
 * and of 4 bytes; B, D, I such an immediate alone; N none; J, j and C a jump or a call; t the group of test, G of inc,
 * call and push.  A blank is unknown. */
static const char one_byte[] = "MMMMBD  MMMMBD  MMMMBD  MMMMBD  MMMMBD  MMMMBD  MMMMBD  MMMMBD  "  /* 00 .. 3f */
                               "                NNNNNNNNNNNNNNNN   M    DdBm    jjjjjjjjjjjjjjjj"  /* 40 .. 7f */
                               "md mMMMMMMMM M  NNNNNNNNNN          NN  BDNN    BBBBBBBBIIIIIIII"  /* 80 .. bf */
                               "mm N  md N      MMMM                    CJ j          tt      MG"; /* c0 .. ff */
_Static_assert(sizeof one_byte == 257, "an operand for each opcode");

/* Length of a ModRM byte with what belongs to it. */
static unsigned size_modrm(const uint8_t *at)
{
    const unsigned mod = *at >> 6, base = (*at & 7) == 4 && mod != 3 ? at[1] & 7 : *at & 7;
    const unsigned sib = mod != 3 && (*at & 7) == 4;
    const unsigned shift = mod == 1 ? 1 : mod == 2 || (mod == 0 && base == 5) ? 4 : 0;
    return 1 + sib + shift;
}

/* Opcodes behind 0f. */
static char operand_of_two(uint8_t opcode)
{
    if (opcode >= 0x80 && opcode <= 0x8f)
        return 'J';
    if (opcode == 0x70 || opcode == 0xc6)
        return 'm';
    const bool known = (opcode >= 0x10 && opcode <= 0x17) || (opcode >= 0x1e && opcode <= 0x1f) ||
                       (opcode >= 0x28 && opcode <= 0x2f) || (opcode >= 0x40 && opcode <= 0x6f) || opcode == 0x7e ||
                       opcode == 0x7f || (opcode >= 0x90 && opcode <= 0x9f) || opcode == 0xaf ||
                       (opcode >= 0xb6 && opcode <= 0xb7) || (opcode >= 0xbe && opcode <= 0xbf) || opcode == 0xd6 ||
                       opcode == 0xef;
    return known ? 'M' : ' ';
}

/* Size of the immediate of an instruction; `extension`: bits of its ModRM byte that belong to the opcode. */
static unsigned size_immediate(char operand, uint8_t opcode, uint8_t extension, bool wide)
{
    switch (operand) {
    case 'B':
    case 'm':
    case 'j':
        return 1;
    case 'D':
    case 'd':
    case 'J':
    case 'C':
        return 4;
    case 'I':
        return wide ? 8 : 4;
    case 't': /* test has one, not and neg have none */
        return extension > 1 ? 0 : opcode & 1 ? 4 : 1;
    default:
        return 0;
    }
}

struct ipo_step ipo_code_step(const uint8_t *code, size_t left, uint64_t address)
{
    static const struct ipo_step unknown;
    struct ipo_step step = {.kind = IPO_STEP_PLAIN};
    uint8_t at[16] = {0};
    memcpy(at, code, left < sizeof at ? left : sizeof at);
    unsigned n = 0;
    while (n < 4 && memchr("\x66\xf2\xf3\x64\x2e", at[n], 5))
        n++;
    const bool narrow = memchr(at, 0x66, n) != NULL, rex = (at[n] & 0xf0) == 0x40, wide = rex && at[n] & 8;
    n += rex;
    const bool two = at[n] == 0x0f;
    n += two;
    const char operand = two ? operand_of_two(at[n]) : one_byte[at[n]];
    const uint8_t opcode = at[n++], extension = at[n] >> 3 & 7;
    const bool jumps = operand == 'j' || operand == 'J' || operand == 'C';
    unsigned immediate = size_immediate(operand, opcode, extension, wide);
    if (narrow && !jumps && immediate == 4)
        immediate = 2;
    if (jumps) {
        step.kind = operand == 'C' ? IPO_STEP_CALL : IPO_STEP_JUMP;
        step.target = address + n + immediate + (uint64_t)load_signed(at + n, immediate);
    } else if (operand == 'G' && extension == 2 && (at[n] & 0xc7) == 5) { /* call *distance(%rip) */
        step.kind = IPO_STEP_SLOT;
        step.target = address + n + 5 + (uint64_t)load_signed(at + n + 1, 4);
    } else if (operand == ' ' || (operand == 'G' && extension > 1 && extension != 6)) {
        return unknown;
    }
    step.length = n + (strchr("MmdtG", operand) ? size_modrm(at + n) : 0) + immediate;
    return step.length <= left ? step : unknown;
}

uint64_t ipo_code_plt_slot(const uint8_t *code, size_t left, uint64_t address)
{
    static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
    uint8_t at[16] = {0};
    memcpy(at, code, left < sizeof at ? left : sizeof at);
    unsigned n = memcmp(at, landing, sizeof landing) == 0 ? sizeof landing : 0;
    n += at[n] == 0xf2;
    return at[n] == 0xff && at[n + 1] == 0x25 ? address + n + 6 + (uint64_t)load_signed(at + n + 2, 4) : 0;
}

unsigned ipo_code_callers(const uint8_t *code, size_t size, uint64_t address, uint64_t target, unsigned most)
{
    unsigned found = 0;
    for (size_t i = 0; i + 5 <= size && found < most; i++)
        found += (code[i] & 0xfe) == 0xe8 && address + i + 5 + (uint64_t)load_signed(code + i + 1, 4) == target;
    return found;
}

#endif
