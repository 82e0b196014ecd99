#include "interpose/unwind/cfi.h"
#include "interpose/base/safe_read.h"
#include "interpose/unwind/bytes.h"

#include <dwarf.h>
#include <string.h>

#define ENTRY_MAX 4096u /* bytes of one CIE or FDE that are read */
#define DEPTH     8u    /* room for remembered states */

/* Parts of a DW_EH_PE_* encoding and of an instruction's first byte; <dwarf.h> names only their values. */
enum { ENCODING_FORMAT = 0x0f, ENCODING_BASE = 0x70, PRIMARY_CODE = 0xc0, PRIMARY_OPERAND = 0x3f };

/* ---- entries ----------------------------------------------------------------------------------------------------- */

/* A pointer.  DW_EH_PE_indirect is not followed: only personality routines have it, and they are skipped. */
static uint64_t read_encoded(struct ipo_bytes *b, uint8_t encoding)
{
    uint64_t here = ipo_bytes_here(b), value;
    if (encoding == DW_EH_PE_omit)
        return 0;
    switch (encoding & ENCODING_FORMAT) {
    case DW_EH_PE_uleb128:
        value = ipo_bytes_uleb(b);
        break;
    case DW_EH_PE_udata2:
        value = ipo_bytes_unsigned(b, 2);
        break;
    case DW_EH_PE_udata4:
        value = ipo_bytes_unsigned(b, 4);
        break;
    case DW_EH_PE_sleb128:
        value = (uint64_t)ipo_bytes_sleb(b);
        break;
    case DW_EH_PE_sdata2:
        value = (uint64_t)ipo_bytes_signed(b, 2);
        break;
    case DW_EH_PE_sdata4:
        value = (uint64_t)ipo_bytes_signed(b, 4);
        break;
    default: /* absptr, udata8, sdata8 */
        value = ipo_bytes_unsigned(b, 8);
        break;
    }
    return (encoding & ENCODING_BASE) == DW_EH_PE_pcrel ? value + here : value;
}

struct cie {
    uint64_t code_align;
    int64_t data_align;
    unsigned return_register;
    uint8_t encoding;
    bool augmented, signal_frame;
};

/* Reads memory of the module: without a copy in between where it cannot go away (module->pinned). */
static bool read_memory(const struct ipo_module *module, uint64_t address, void *out, size_t size)
{
    if (!module->pinned)
        return ipo_safe_read(address, out, size);
    memcpy(out, (const void *)(uintptr_t)address, size);
    return true;
}

/* Reads the entry at `address`, by way of `buffer` where it could go away: its bytes behind the length. */
static bool read_entry(const struct ipo_module *module, uint64_t address, uint8_t *buffer, struct ipo_bytes *out)
{
    uint32_t length;
    if (!read_memory(module, address, &length, sizeof length) || length == 0 || length == 0xffffffffu)
        return false;
    size_t wanted = length < ENTRY_MAX ? length : ENTRY_MAX;
    if (module->pinned)
        buffer = (uint8_t *)(uintptr_t)(address + 4);
    else if (!ipo_safe_read(address + 4, buffer, wanted))
        return false;
    *out = (struct ipo_bytes){.at = buffer, .end = buffer + wanted, .base = buffer, .address = address + 4};
    return true;
}

/* The end of a block that begins with its size: reading goes on there, whatever was read of it. */
static const uint8_t *find_block_end(struct ipo_bytes *b)
{
    uint64_t size = ipo_bytes_uleb(b);
    return size <= ipo_bytes_left(b) ? b->at + size : b->end;
}

/* The data that the letters of the augmentation announce; 'z', the first, says that they have a size. */
static void read_augmentation(const char *letters, struct ipo_bytes *b, struct cie *cie)
{
    const uint8_t *end = find_block_end(b);
    for (const char *letter = letters + 1; *letter; letter++) {
        if (*letter == 'R')
            cie->encoding = (uint8_t)ipo_bytes_unsigned(b, 1);
        else if (*letter == 'L')
            ipo_bytes_skip(b, 1);
        else if (*letter == 'P')
            read_encoded(b, (uint8_t)ipo_bytes_unsigned(b, 1));
        else if (*letter == 'S')
            cie->signal_frame = true;
        else if (*letter != 'B')
            break; /* an unknown letter: its data is inside the block, too */
    }
    b->at = end;
}

/* Reads the CIE at `address`; *rest: its initial instructions. */
static bool read_cie(const struct ipo_module *module, uint64_t address, uint8_t *buffer, struct ipo_bytes *rest,
                     struct cie *cie)
{
    struct ipo_bytes b;
    if (!read_entry(module, address, buffer, &b) || ipo_bytes_unsigned(&b, 4) != 0)
        return false;
    *cie = (struct cie){0};
    uint64_t version = ipo_bytes_unsigned(&b, 1);
    char letters[9] = "", c;
    for (unsigned i = 0; (c = (char)ipo_bytes_unsigned(&b, 1)) && !b.bad; i++)
        if (i < sizeof letters - 1)
            letters[i] = c;
    cie->code_align = ipo_bytes_uleb(&b);
    cie->data_align = ipo_bytes_sleb(&b);
    cie->return_register = (unsigned)(version == 1 ? ipo_bytes_unsigned(&b, 1) : ipo_bytes_uleb(&b));
    cie->augmented = letters[0] == 'z';
    if (cie->augmented)
        read_augmentation(letters, &b, cie);
    else if (letters[0])
        return false;
    *rest = b;
    return !b.bad;
}

/* ---- instructions ------------------------------------------------------------------------------------------------ */

/* State that instructions run with.  `initial`: the row of the CIE, for DW_CFA_restore; NULL while that is made. */
struct run {
    struct ipo_bytes code;
    const struct cie *cie;
    const struct ipo_row *initial;
    struct ipo_row *row;
    uint64_t place; /* address where the row holds */
};

/* An instruction that says where the following ones begin to hold.  False: it is another one. */
static bool move_place(uint8_t op, struct run *run)
{
    uint64_t advance;
    switch (op & PRIMARY_CODE ? op & PRIMARY_CODE : op) {
    case DW_CFA_set_loc:
        run->place = read_encoded(&run->code, run->cie->encoding);
        return true;
    case DW_CFA_advance_loc:
        advance = op & PRIMARY_OPERAND;
        break;
    case DW_CFA_advance_loc1:
        advance = ipo_bytes_unsigned(&run->code, 1);
        break;
    case DW_CFA_advance_loc2:
        advance = ipo_bytes_unsigned(&run->code, 2);
        break;
    case DW_CFA_advance_loc4:
        advance = ipo_bytes_unsigned(&run->code, 4);
        break;
    default:
        return false;
    }
    run->place += advance * run->cie->code_align;
    return true;
}

/* An expression is evaluated later: its place in the process and its length are kept. */
static struct ipo_where read_expression(struct ipo_bytes *b, enum ipo_rule rule)
{
    uint64_t length = ipo_bytes_uleb(b);
    struct ipo_where where = {rule, (int64_t)ipo_bytes_here(b), length};
    ipo_bytes_skip(b, length);
    return where;
}

static unsigned read_register(struct ipo_bytes *b)
{
    uint64_t foreign = ipo_bytes_uleb(b);
    return (unsigned)IPO_REGISTER(foreign);
}

static struct ipo_where make_offset(enum ipo_rule rule, int64_t value)
{
    return (struct ipo_where){rule, value, 0};
}

/* An instruction that defines the canonical frame address.  False: it is another one. */
static bool define_cfa(uint8_t op, struct run *run)
{
    struct ipo_row *row = run->row;
    struct ipo_bytes *b = &run->code;
    switch (op) {
    case DW_CFA_def_cfa:
        row->cfa_register = read_register(b);
        row->cfa = make_offset(IPO_RULE_VAL_OFFSET, (int64_t)ipo_bytes_uleb(b));
        return true;
    case DW_CFA_def_cfa_sf:
        row->cfa_register = read_register(b);
        row->cfa = make_offset(IPO_RULE_VAL_OFFSET, ipo_bytes_sleb(b) * run->cie->data_align);
        return true;
    case DW_CFA_def_cfa_register:
        row->cfa_register = read_register(b);
        row->cfa.rule = IPO_RULE_VAL_OFFSET;
        return true;
    case DW_CFA_def_cfa_offset:
        row->cfa.value = (int64_t)ipo_bytes_uleb(b);
        return true;
    case DW_CFA_def_cfa_offset_sf:
        row->cfa.value = ipo_bytes_sleb(b) * run->cie->data_align;
        return true;
    case DW_CFA_def_cfa_expression:
        row->cfa = read_expression(b, IPO_RULE_VAL_EXPRESSION);
        return true;
    default:
        return false;
    }
}

/* An instruction that says where a register was saved.  False: it is another one. */
static bool define_register(uint8_t op, struct run *run)
{
    struct ipo_bytes *b = &run->code;
    int64_t align = run->cie->data_align;
    const unsigned low = op & PRIMARY_OPERAND, reg = op & PRIMARY_CODE ? IPO_REGISTER(low) : read_register(b);
    struct ipo_where where = {0};
    switch (op & PRIMARY_CODE ? op & PRIMARY_CODE : op) {
    case DW_CFA_offset:
    case DW_CFA_offset_extended:
        where = make_offset(IPO_RULE_OFFSET, (int64_t)ipo_bytes_uleb(b) * align);
        break;
    case DW_CFA_offset_extended_sf:
        where = make_offset(IPO_RULE_OFFSET, ipo_bytes_sleb(b) * align);
        break;
    case DW_CFA_val_offset:
        where = make_offset(IPO_RULE_VAL_OFFSET, (int64_t)ipo_bytes_uleb(b) * align);
        break;
    case DW_CFA_val_offset_sf:
        where = make_offset(IPO_RULE_VAL_OFFSET, ipo_bytes_sleb(b) * align);
        break;
    case DW_CFA_restore:
    case DW_CFA_restore_extended:
        if (!run->initial || reg >= IPO_REGS)
            return true;
        where = run->initial->reg[reg];
        break;
    case DW_CFA_undefined:
        where.rule = IPO_RULE_UNDEFINED;
        break;
    case DW_CFA_same_value:
        where.rule = IPO_RULE_SAME;
        break;
    case DW_CFA_register:
        where = make_offset(IPO_RULE_REGISTER, (int64_t)read_register(b));
        break;
    case DW_CFA_expression:
        where = read_expression(b, IPO_RULE_EXPRESSION);
        break;
    case DW_CFA_val_expression:
        where = read_expression(b, IPO_RULE_VAL_EXPRESSION);
        break;
    default:
        return false;
    }
    if (reg < IPO_REGS)
        run->row->reg[reg] = where;
    return true;
}

/* Runs instructions until the next one would hold behind `pc` only. */
static bool run_until(struct run *run, uint64_t pc)
{
    struct ipo_row kept[DEPTH];
    unsigned depth = 0;
    while (ipo_bytes_left(&run->code) > 0) {
        uint8_t op = (uint8_t)ipo_bytes_unsigned(&run->code, 1);
        switch (op) {
        case DW_CFA_nop:
        case DW_CFA_GNU_window_save: /* aarch64: the return address is signed; its signature is cut off later */
            break;
        case DW_CFA_GNU_args_size:
            ipo_bytes_uleb(&run->code);
            break;
        case DW_CFA_remember_state:
            if (depth == DEPTH)
                return false;
            kept[depth++] = *run->row;
            break;
        case DW_CFA_restore_state:
            if (depth == 0)
                return false;
            *run->row = kept[--depth];
            break;
        default:
            if (move_place(op, run)) {
                if (run->place > pc)
                    return true;
            } else if (!define_cfa(op, run) && !define_register(op, run)) {
                return false;
            }
        }
    }
    return !run->code.bad;
}

/* ---- a place ----------------------------------------------------------------------------------------------------- */

/* The FDE of the last function that begins at or before `pc`. */
static uint64_t find_fde(const struct ipo_module *module, uint64_t pc)
{
    int32_t pair[2];
    uint32_t low = 0, high = module->table_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (!read_memory(module, module->table + 8ull * middle, pair, sizeof pair))
            return 0;
        if (module->table_base + (uint64_t)(int64_t)pair[0] <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || !read_memory(module, module->table + 8ull * (low - 1), pair, sizeof pair))
        return 0;
    return module->table_base + (uint64_t)(int64_t)pair[1];
}

bool ipo_cfi_row(const struct ipo_module *module, uint64_t pc, struct ipo_row *row)
{
    static uint8_t fde_bytes[ENTRY_MAX], cie_bytes[ENTRY_MAX]; /* one user at a time */
    struct ipo_bytes fde, initial_code;
    struct cie cie;
    uint64_t address = module->table ? find_fde(module, pc) : 0;
    if (!address || !read_entry(module, address, fde_bytes, &fde))
        return false;
    uint64_t back = ipo_bytes_unsigned(&fde, 4); /* distance to its CIE */
    if (!back || !read_cie(module, address + 4 - back, cie_bytes, &initial_code, &cie))
        return false;
    uint64_t begin = read_encoded(&fde, cie.encoding), size = read_encoded(&fde, cie.encoding & ENCODING_FORMAT);
    if (pc < begin || pc - begin >= size)
        return false;
    if (cie.augmented)
        fde.at = find_block_end(&fde);
    memset(row, 0, sizeof *row);
    row->return_register = IPO_REGISTER(cie.return_register);
    if (row->return_register == IPO_REGS)
        row->return_register = IPO_REG_RA;
    row->function = begin;
    row->signal_frame = cie.signal_frame;
    struct run first = {.code = initial_code, .cie = &cie, .row = row};
    if (!run_until(&first, UINT64_MAX))
        return false;
    struct ipo_row initial = *row;
    struct run second = {.code = fde, .cie = &cie, .initial = &initial, .row = row, .place = begin};
    return run_until(&second, pc);
}
