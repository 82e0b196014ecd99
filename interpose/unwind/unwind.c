#include "interpose/unwind/unwind.h"
#include "interpose/unwind/cfi.h"
#include "interpose/unwind/expression.h"
#include "interpose/unwind/libunwind.h"
#include "interpose/base/safe_read.h"

#define GUESS_WORDS 4096u /* words of stack that are searched for a return address */

/* ---- guessing ---------------------------------------------------------------------------------------------------- */

/* Whether a call instruction before `to` calls `function` (0: any). */
static bool is_call_to(uint64_t to, uint64_t function)
{
    uint8_t code[IPO_CALL_BYTES], entry[IPO_JUMP_BYTES];
    uint64_t target, slot;
    if (!ipo_module_of(to) || !ipo_safe_read(to - sizeof code, code, sizeof code) ||
        !ipo_decode_call(to, code, &target, &slot))
        return false;
    if (target) {
        if (target == function)
            return true;
        if (!ipo_module_of(target) || !ipo_safe_read(target, entry, sizeof entry))
            return false;
        slot = ipo_decode_jump(target, entry);
    }
    return !function || (slot && ipo_safe_read_word(slot) == function);
}

/* Searches the stack for a return address behind a call of the function, else behind any call. */
static bool search_caller(struct ipo_cursor *cursor, uint64_t function)
{
    static uint64_t words[GUESS_WORDS];
    uint64_t sp = cursor->reg[IPO_REG_SP];
    size_t count = ipo_safe_read_some(sp, words, sizeof words) / 8;
    for (int sure = 1; sure >= 0; sure--)
        for (size_t i = 1; i < count; i++)
            if (words[i] > 4096 && is_call_to(words[i], sure ? function : 0)) {
                cursor->known = 0;
                ipo_cursor_set(cursor, IPO_REG_SP, sp + 8 * (i + 1));
                uint64_t frame = words[i - 1]; /* address where the function saved its caller's, if it did */
                if (frame > sp + 8 * i && frame - sp < (8u << 20))
                    ipo_cursor_set(cursor, IPO_REG_FP, frame);
                cursor->pc = words[i];
                return true;
            }
    return false;
}

/* Follows the chain of frames. */
static bool follow_frame(struct ipo_cursor *cursor)
{
    const unsigned chain = IPO_HAS_BACK_CHAIN ? IPO_REG_SP : IPO_REG_FP;
    uint64_t word[IPO_FRAME_WORDS], at = cursor->reg[chain];
    const uint64_t frame = IPO_HAS_BACK_CHAIN ? ipo_safe_read_word(at) : at;
    if (!(cursor->known >> chain & 1) || !ipo_safe_read(frame, word, sizeof word) || word[IPO_FRAME_CALLER] <= frame)
        return false;
    *cursor = ipo_cursor_above(frame, word);
    if (IPO_FRAME_TO_STACK < 0)
        ipo_cursor_set(cursor, IPO_REG_SP, frame + sizeof word);
    return cursor->pc != 0;
}

/* The function's frame depends on a register that is not known: a thread blocked in the kernel shows only its stack
 * pointer. */
static bool guess_caller(struct ipo_cursor *cursor, uint64_t function)
{
    if (!(IPO_HAS_FRAME_CHAIN ? follow_frame(cursor) : search_caller(cursor, function)))
        return false;
    cursor->exact = false;
    cursor->guessed = true;
    return true;
}

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

/* Moves to a caller, unless the steps would not end.  *ended: there is none. */
static bool move_to(struct ipo_cursor *cursor, const struct ipo_cursor *caller, bool *ended)
{
    *ended = caller->pc == 0;
    bool moved = !*ended && (caller->reg[IPO_REG_SP] > cursor->reg[IPO_REG_SP] || caller->exact ||
                             (cursor->exact && caller->reg[IPO_REG_SP] == cursor->reg[IPO_REG_SP]));
    if (!*ended)
        *cursor = *caller;
    return moved;
}

bool ipo_unwind_by_tables(struct ipo_cursor *cursor, bool *ended)
{
    *ended = false;
    uint64_t pc = cursor->exact ? cursor->pc : cursor->pc - 1, cfa;
    struct ipo_cursor caller = {.guessed = cursor->guessed};
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
    for (unsigned reg = 0; reg < IPO_REGS; reg++) {
        uint64_t value;
        if (restore_register(cursor, &row.reg[reg], cfa, reg, &value))
            ipo_cursor_set(&caller, reg, value);
    }
    if (!(caller.known >> row.return_register & 1))
        return guess_caller(cursor, row.function);
    caller.pc = caller.reg[row.return_register] & IPO_ADDRESS_BITS;
    if (row.reg[IPO_REG_SP].rule == IPO_RULE_SAME)
        ipo_cursor_set(&caller, IPO_REG_SP, cfa);
    caller.exact = row.signal_frame;
    return move_to(cursor, &caller, ended);
}

bool ipo_unwind_step(struct ipo_cursor *cursor, bool *ended)
{
    struct ipo_cursor caller = {.guessed = cursor->guessed};
    return ipo_libunwind_step(cursor, &caller) ? move_to(cursor, &caller, ended) : ipo_unwind_by_tables(cursor, ended);
}
