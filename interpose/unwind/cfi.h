/* Call frame information of one place in a module: DWARF 5 section 6.4, and the Linux Standard Base's .eh_frame. */
#pragma once

#include "interpose/load/modules.h"
#include "interpose/unwind/unwind.h"

/* Rules by which a register of the caller is found.  CFA: the canonical frame address. */
enum ipo_rule {
    IPO_RULE_SAME, /* the caller's value is still in the register */
    IPO_RULE_UNDEFINED,
    IPO_RULE_OFFSET,     /* saved at CFA + value */
    IPO_RULE_VAL_OFFSET, /* is CFA + value */
    IPO_RULE_REGISTER,   /* is in register `value` */
    IPO_RULE_EXPRESSION, /* saved at the address that the expression gives */
    IPO_RULE_VAL_EXPRESSION
};

/* A rule and its operand. */
struct ipo_where {
    enum ipo_rule rule;
    int64_t value;   /* value, or the expression's address */
    uint64_t length; /* the expression's */
};

/* All rules for one place in a function. */
struct ipo_row {
    struct ipo_where cfa; /* VAL_OFFSET to register cfa_register, or VAL_EXPRESSION */
    unsigned cfa_register;
    struct ipo_where reg[IPO_REGS];
    unsigned return_register;
    uint64_t function; /* first address of the function */
    bool signal_frame;
};

/* Fills `row` for the place `pc` of a module whose table is filled in.  False: the module says nothing about it.
 * Our own thread, one at a time; of a pinned module any thread. */
bool ipo_cfi_row(const struct ipo_module *module, uint64_t pc, struct ipo_row *row);
