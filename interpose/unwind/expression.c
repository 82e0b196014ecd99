#include "interpose/unwind/expression.h"
#include "interpose/base/safe_read.h"
#include "interpose/unwind/bytes.h"

#include <dwarf.h>

#define EXPRESSION_MAX 256u /* bytes */
#define STACK          16u  /* values */

/* An operation that pushes a number of its own.  False: it is another one. */
static bool read_constant(uint8_t op, struct ipo_bytes *b, uint64_t *out)
{
    if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
        *out = op - (uint64_t)DW_OP_lit0;
        return true;
    }
    switch (op) {
    case DW_OP_const1u:
    case DW_OP_const2u:
    case DW_OP_const4u:
    case DW_OP_const8u: /* u and s alternate: 1u, 1s, 2u, 2s .. */
        *out = ipo_bytes_unsigned(b, 1u << (op - DW_OP_const1u) / 2);
        return true;
    case DW_OP_const1s:
    case DW_OP_const2s:
    case DW_OP_const4s:
    case DW_OP_const8s:
        *out = (uint64_t)ipo_bytes_signed(b, 1u << (op - DW_OP_const1s) / 2);
        return true;
    case DW_OP_constu:
        *out = ipo_bytes_uleb(b);
        return true;
    case DW_OP_consts:
        *out = (uint64_t)ipo_bytes_sleb(b);
        return true;
    default:
        return false;
    }
}

/* A register plus an offset.  The PLT's expression asks for the pc. */
static bool add_to_register(unsigned foreign, struct ipo_bytes *b, const struct ipo_cursor *cursor, uint64_t *out)
{
    const unsigned reg = IPO_REGISTER(foreign);
    uint64_t offset = (uint64_t)ipo_bytes_sleb(b);
    bool is_pc = reg == IPO_REG_PC;
    if (!is_pc && (reg >= IPO_REGS || !(cursor->known >> reg & 1)))
        return false;
    *out = (is_pc ? cursor->pc : cursor->reg[reg]) + offset;
    return true;
}

static bool combine_values(uint8_t op, uint64_t a, uint64_t b, uint64_t *out)
{
    switch (op) {
    case DW_OP_and:
        *out = a & b;
        return true;
    case DW_OP_or:
        *out = a | b;
        return true;
    case DW_OP_plus:
        *out = a + b;
        return true;
    case DW_OP_minus:
        *out = a - b;
        return true;
    case DW_OP_mul:
        *out = a * b;
        return true;
    case DW_OP_shl:
        *out = b < 64 ? a << b : 0;
        return true;
    case DW_OP_shr:
        *out = b < 64 ? a >> b : 0;
        return true;
    case DW_OP_eq:
        *out = a == b;
        return true;
    case DW_OP_ge:
        *out = (int64_t)a >= (int64_t)b;
        return true;
    case DW_OP_lt:
        *out = (int64_t)a < (int64_t)b;
        return true;
    default:
        return false;
    }
}

bool ipo_expression(const struct ipo_cursor *cursor, uint64_t address, uint64_t length, const uint64_t *first,
                    uint64_t *out)
{
    uint8_t code[EXPRESSION_MAX];
    uint64_t stack[STACK], value;
    unsigned top = 0;
    if (length > sizeof code || !ipo_safe_read(address, code, length))
        return false;
    struct ipo_bytes b = {.at = code, .end = code + length, .base = code, .address = address};
    if (first)
        stack[top++] = *first;
    while (ipo_bytes_left(&b) > 0 && top < STACK) {
        uint8_t op = (uint8_t)ipo_bytes_unsigned(&b, 1);
        if (read_constant(op, &b, &value)) {
            stack[top++] = value;
        } else if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
            if (!add_to_register(op - (unsigned)DW_OP_breg0, &b, cursor, &stack[top++]))
                return false;
        } else if (top == 0) {
            return false;
        } else if (op == DW_OP_dup) {
            stack[top] = stack[top - 1];
            top++;
        } else if (op == DW_OP_deref) {
            if (!ipo_safe_read(stack[top - 1], &stack[top - 1], 8))
                return false;
        } else if (op == DW_OP_plus_uconst) {
            stack[top - 1] += ipo_bytes_uleb(&b);
        } else {
            if (top < 2 || !combine_values(op, stack[top - 2], stack[top - 1], &stack[top - 2]))
                return false;
            top--;
        }
    }
    if (b.bad || top == 0 || top == STACK)
        return false;
    *out = stack[top - 1];
    return true;
}
