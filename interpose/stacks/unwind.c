#include "interpose/base/oldglibc.h"
#include "interpose/stacks/unwind.h"
#include "interpose/stacks/cfi.h"
#include "interpose/base/peek.h"

#include <string.h>

#define GUESS_WORDS 4096u /* of stack that are searched for a return address */

/* ---- expressions ------------------------------------------------------------------------------------------------- */

/* The operations that unwinding tables use: PLT entries, signal trampolines, realigned stacks. */
static bool evaluate(const struct ipo_cursor *cursor, uint64_t address, uint64_t length, uint64_t first, bool has_first,
                     uint64_t *out)
{
    uint8_t code[256];
    uint64_t stack[16], a, b;
    unsigned top = 0;
    if (length > sizeof code || !ipo_peek(address, code, length))
        return false;
    if (has_first)
        stack[top++] = first;
    for (size_t at = 0; at < length;) {
        uint8_t op = code[at++];
        uint64_t value = 0;
        if (top >= 15)
            return false;
#define OPERAND(type)                                                                                                  \
    do {                                                                                                               \
        type operand;                                                                                                  \
        if (length - at < sizeof operand)                                                                              \
            return false;                                                                                              \
        memcpy(&operand, code + at, sizeof operand);                                                                   \
        at += sizeof operand;                                                                                          \
        value = (uint64_t)(int64_t)operand;                                                                            \
    } while (0)
        bool sleb = op == 0x11 || (op >= 0x70 && op <= 0x8f), leb = sleb || op == 0x10 || op == 0x23;
        if (leb) {
            unsigned shift = 0;
            uint8_t byte = 0x80;
            while ((byte & 0x80) && at < length) {
                byte = code[at++];
                if (shift < 64)
                    value |= (uint64_t)(byte & 0x7f) << shift;
                shift += 7;
            }
            if (sleb && (byte & 0x40) && shift < 64)
                value |= ~(uint64_t)0 << shift;
        }
        if (op >= 0x30 && op <= 0x4f) { /* lit */
            stack[top++] = op - 0x30u;
        } else if (op >= 0x70 && op <= 0x8f) { /* breg; the PLT's expression asks for the pc */
            unsigned reg = op - 0x70u;
            bool is_pc = IPO_REGS == 17 && reg == 16;
            if (!is_pc && (reg >= IPO_REGS || !(cursor->known >> reg & 1)))
                return false;
            stack[top++] = (is_pc ? cursor->pc : cursor->reg[reg]) + value;
        } else if (op == 0x10 || op == 0x11) {
            stack[top++] = value;
        } else if (op == 0x08 || op == 0x0a || op == 0x0c || op == 0x0e || op == 0x09 || op == 0x0b || op == 0x0d) {
            if (op == 0x08)
                OPERAND(uint8_t);
            else if (op == 0x09)
                OPERAND(int8_t);
            else if (op == 0x0a)
                OPERAND(uint16_t);
            else if (op == 0x0b)
                OPERAND(int16_t);
            else if (op == 0x0c)
                OPERAND(uint32_t);
            else if (op == 0x0d)
                OPERAND(int32_t);
            else
                OPERAND(uint64_t);
            stack[top++] = value;
        } else if (op == 0x06 && top >= 1) { /* deref */
            if (!ipo_peek(stack[top - 1], &stack[top - 1], 8))
                return false;
        } else if (op == 0x23 && top >= 1) { /* plus_uconst */
            stack[top - 1] += value;
        } else if (op == 0x12 && top >= 1) { /* dup */
            stack[top] = stack[top - 1];
            top++;
        } else if (top >= 2) {
            b = stack[--top];
            a = stack[top - 1];
            switch (op) {
            case 0x1a:
                a &= b;
                break;
            case 0x1c:
                a -= b;
                break;
            case 0x1e:
                a *= b;
                break;
            case 0x21:
                a |= b;
                break;
            case 0x22:
                a += b;
                break;
            case 0x24:
                a = b < 64 ? a << b : 0;
                break;
            case 0x25:
                a = b < 64 ? a >> b : 0;
                break;
            case 0x29:
                a = a == b;
                break;
            case 0x2a:
                a = (int64_t)a >= (int64_t)b;
                break;
            case 0x2d:
                a = (int64_t)a < (int64_t)b;
                break;
            default:
                return false;
            }
            stack[top - 1] = a;
        } else {
            return false;
        }
    }
    *out = top ? stack[top - 1] : 0;
    return top > 0;
}

/* ---- guessing ---------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
/* Does a call that returns to `to` lead to `function` (0: to anything)? */
static bool call_leads_to(uint64_t to, uint64_t function)
{
    uint8_t code[7];
    int32_t distance;
    if (!ipo_module_of(to) || !ipo_peek(to - 7, code, sizeof code))
        return false;
    if (code[2] == 0xe8) {
        memcpy(&distance, code + 3, 4);
        uint64_t target = to + (uint64_t)(int64_t)distance;
        if (target == function)
            return true;
        uint8_t entry[11];
        if (!ipo_module_of(target) || !ipo_peek(target, entry, sizeof entry))
            return false;
        /* An entry of the PLT: [endbr64] [bnd] jmp *distance(%rip) */
        size_t at = entry[0] == 0xf3 && entry[1] == 0x0f && entry[2] == 0x1e ? 4 : 0;
        at += entry[at] == 0xf2;
        if (entry[at] != 0xff || entry[at + 1] != 0x25)
            return !function;
        memcpy(&distance, entry + at + 2, 4);
        uint64_t leads = ipo_peek_word(target + at + 6 + (uint64_t)(int64_t)distance);
        return !function || leads == function;
    }
    if (code[1] == 0xff && code[2] == 0x15) { /* call *distance(%rip) */
        memcpy(&distance, code + 3, 4);
        return !function || ipo_peek_word(to + (uint64_t)(int64_t)distance) == function;
    }
    if (function)
        return false;
    return (code[5] == 0xff && (code[6] & 0x38) == 0x10) || (code[4] == 0xff && (code[5] & 0x38) == 0x10);
}

/* The function keeps its frame by a register that is not known here (a thread blocked in the kernel shows only its
 * stack pointer).  Its return address is searched for on the stack: one behind a call that leads to it, else behind any
 * call. */
static bool guess(struct ipo_cursor *cursor, uint64_t function)
{
    static uint64_t words[GUESS_WORDS];
    uint64_t sp = cursor->reg[IPO_REG_SP];
    size_t count = ipo_peek_some(sp, words, sizeof words) / 8;
    for (int sure = 1; sure >= 0; sure--)
        for (size_t i = 1; i < count; i++)
            if (words[i] > 4096 && call_leads_to(words[i], sure ? function : 0)) {
                cursor->known = 0;
                ipo_cursor_set(cursor, IPO_REG_SP, sp + 8 * (i + 1));
                uint64_t frame = words[i - 1]; /* where the function saved its caller's, if it did */
                if (frame > sp + 8 * i && frame - sp < (8u << 20))
                    ipo_cursor_set(cursor, IPO_REG_FP, frame);
                cursor->pc = words[i];
                cursor->exact = false;
                cursor->guessed = true;
                return true;
            }
    return false;
}
#else
static bool guess(struct ipo_cursor *cursor, uint64_t function)
{
    (void)function;
    uint64_t pair[2], frame = cursor->reg[IPO_REG_FP]; /* aarch64 code keeps frame records as a rule */
    if (!(cursor->known >> IPO_REG_FP & 1) || !ipo_peek(frame, pair, sizeof pair) || pair[0] <= frame)
        return false;
    ipo_cursor_set(cursor, IPO_REG_SP, frame + 16);
    ipo_cursor_set(cursor, IPO_REG_FP, pair[0]);
    cursor->pc = pair[1] & 0x0000ffffffffffffu;
    cursor->exact = false;
    cursor->guessed = true;
    return cursor->pc != 0;
}
#endif

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static bool frame_address(const struct ipo_cursor *cursor, const struct ipo_row *row, uint64_t *cfa)
{
    if (row->cfa.rule == IPO_RULE_VAL_EXPRESSION)
        return evaluate(cursor, (uint64_t)row->cfa.value, row->cfa.length, 0, false, cfa);
    if (row->cfa_register >= IPO_REGS || !(cursor->known >> row->cfa_register & 1))
        return false;
    *cfa = cursor->reg[row->cfa_register] + (uint64_t)row->cfa.value;
    return true;
}

static bool restore(const struct ipo_cursor *cursor, const struct ipo_where *where, uint64_t cfa, unsigned reg,
                    uint64_t *out)
{
    uint64_t at;
    switch (where->rule) {
    case IPO_RULE_SAME:
        *out = cursor->reg[reg];
        return cursor->known >> reg & 1;
    case IPO_RULE_OFFSET:
        return ipo_peek(cfa + (uint64_t)where->value, out, 8);
    case IPO_RULE_VAL_OFFSET:
        *out = cfa + (uint64_t)where->value;
        return true;
    case IPO_RULE_REGISTER:
        if (where->value < 0 || where->value >= IPO_REGS)
            return false;
        *out = cursor->reg[where->value];
        return cursor->known >> where->value & 1;
    case IPO_RULE_EXPRESSION:
        return evaluate(cursor, (uint64_t)where->value, where->length, cfa, true, &at) && ipo_peek(at, out, 8);
    case IPO_RULE_VAL_EXPRESSION:
        return evaluate(cursor, (uint64_t)where->value, where->length, cfa, true, out);
    default:
        return false;
    }
}

bool ipo_unwind_step(struct ipo_cursor *cursor, bool *ended)
{
    *ended = false;
    uint64_t pc = cursor->exact ? cursor->pc : cursor->pc - 1, cfa;
    const struct ipo_module *module = ipo_module_of(pc);
    struct ipo_row row;
    if (!module || !ipo_cfi_row(module, pc, &row))
        return guess(cursor, 0);
    if (row.reg[row.return_register].rule == IPO_RULE_UNDEFINED) {
        *ended = true; /* the thread's first function says so */
        return false;
    }
    if (!frame_address(cursor, &row, &cfa))
        return guess(cursor, row.function);
    struct ipo_cursor caller = {.guessed = cursor->guessed};
    for (unsigned reg = 0; reg < IPO_REGS; reg++) {
        uint64_t value;
        if (restore(cursor, &row.reg[reg], cfa, reg, &value))
            ipo_cursor_set(&caller, reg, value);
    }
    if (!(caller.known >> row.return_register & 1))
        return false;
    caller.pc = caller.reg[row.return_register];
#if defined(__aarch64__)
    caller.pc &= 0x0000ffffffffffffu; /* without the signature of pointer authentication */
#endif
    if (row.reg[IPO_REG_SP].rule == IPO_RULE_SAME)
        ipo_cursor_set(&caller, IPO_REG_SP, cfa);
    caller.exact = row.signal_frame;
    if (caller.pc == 0) {
        *ended = true;
        return false;
    }
    bool moved = caller.reg[IPO_REG_SP] > cursor->reg[IPO_REG_SP] ||
                 (cursor->exact && caller.reg[IPO_REG_SP] == cursor->reg[IPO_REG_SP]) || row.signal_frame;
    *cursor = caller;
    return moved;
}
