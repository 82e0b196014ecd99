#include "interpose/base/oldglibc.h"
#include "interpose/unwind/unwind.h"
#include "interpose/unwind/cfi.h"
#include "interpose/unwind/expression.h"
#include "interpose/base/safe_read.h"

#include <string.h>

#define GUESS_WORDS 4096u /* words of stack that are searched for a return address */

/* ---- guessing ---------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
/* Whether a call instruction before `to` calls `function` (0: any). */
static bool is_call_to(uint64_t to, uint64_t function)
{
    uint8_t code[7];
    int32_t distance;
    if (!ipo_module_of(to) || !ipo_safe_read(to - 7, code, sizeof code))
        return false;
    if (code[2] == 0xe8) {
        memcpy(&distance, code + 3, 4);
        uint64_t target = to + (uint64_t)(int64_t)distance;
        if (target == function)
            return true;
        uint8_t entry[11];
        if (!ipo_module_of(target) || !ipo_safe_read(target, entry, sizeof entry))
            return false;
        /* An entry of the PLT: [endbr64] [bnd] jmp *distance(%rip) */
        size_t at = entry[0] == 0xf3 && entry[1] == 0x0f && entry[2] == 0x1e ? 4 : 0;
        at += entry[at] == 0xf2;
        if (entry[at] != 0xff || entry[at + 1] != 0x25)
            return !function;
        memcpy(&distance, entry + at + 2, 4);
        uint64_t leads = ipo_safe_read_word(target + at + 6 + (uint64_t)(int64_t)distance);
        return !function || leads == function;
    }
    if (code[1] == 0xff && code[2] == 0x15) { /* call *distance(%rip) */
        memcpy(&distance, code + 3, 4);
        return !function || ipo_safe_read_word(to + (uint64_t)(int64_t)distance) == function;
    }
    if (function)
        return false;
    return (code[5] == 0xff && (code[6] & 0x38) == 0x10) || (code[4] == 0xff && (code[5] & 0x38) == 0x10);
}

/* The function's frame depends on a register that is not known: a thread blocked in the kernel shows only its stack
 * pointer.  So the stack is searched for a return address behind a call of the function, else behind any call. */
static bool guess_caller(struct ipo_cursor *cursor, uint64_t function)
{
    static uint64_t words[GUESS_WORDS];
    uint64_t sp = cursor->reg[IPO_REG_SP];
    size_t count = ipo_safe_read_some(sp, words, sizeof words) / 8;
    for (int sure = 1; sure >= 0; sure--)
        for (size_t i = 1; i < count; i++)
            if (words[i] > 4096 && is_call_to(words[i], sure ? function : 0)) {
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
static bool guess_caller(struct ipo_cursor *cursor, uint64_t function)
{
    (void)function;
    uint64_t pair[2], frame = cursor->reg[IPO_REG_FP]; /* aarch64 code keeps frame records as a rule */
    if (!(cursor->known >> IPO_REG_FP & 1) || !ipo_safe_read(frame, pair, sizeof pair) || pair[0] <= frame)
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

static bool find_frame_address(const struct ipo_cursor *cursor, const struct ipo_row *row, uint64_t *cfa)
{
    if (row->cfa.rule == IPO_RULE_VAL_EXPRESSION)
        return ipo_expression(cursor, (uint64_t)row->cfa.value, row->cfa.length, NULL, cfa);
    if (row->cfa_register >= IPO_REGS || !(cursor->known >> row->cfa_register & 1))
        return false;
    *cfa = cursor->reg[row->cfa_register] + (uint64_t)row->cfa.value;
    return true;
}

static bool restore_register(const struct ipo_cursor *cursor, const struct ipo_where *where, uint64_t cfa, unsigned reg,
                             uint64_t *out)
{
    uint64_t at;
    switch (where->rule) {
    case IPO_RULE_SAME:
        *out = cursor->reg[reg];
        return cursor->known >> reg & 1;
    case IPO_RULE_OFFSET:
        return ipo_safe_read(cfa + (uint64_t)where->value, out, 8);
    case IPO_RULE_VAL_OFFSET:
        *out = cfa + (uint64_t)where->value;
        return true;
    case IPO_RULE_REGISTER:
        if (where->value < 0 || where->value >= IPO_REGS)
            return false;
        *out = cursor->reg[where->value];
        return cursor->known >> where->value & 1;
    case IPO_RULE_EXPRESSION:
        return ipo_expression(cursor, (uint64_t)where->value, where->length, &cfa, &at) && ipo_safe_read(at, out, 8);
    case IPO_RULE_VAL_EXPRESSION:
        return ipo_expression(cursor, (uint64_t)where->value, where->length, &cfa, out);
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
        return guess_caller(cursor, 0);
    if (row.reg[row.return_register].rule == IPO_RULE_UNDEFINED) {
        *ended = true; /* the thread's first function has no caller */
        return false;
    }
    if (!find_frame_address(cursor, &row, &cfa))
        return guess_caller(cursor, row.function);
    struct ipo_cursor caller = {.guessed = cursor->guessed};
    for (unsigned reg = 0; reg < IPO_REGS; reg++) {
        uint64_t value;
        if (restore_register(cursor, &row.reg[reg], cfa, reg, &value))
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
