#include "interpose/base/oldglibc.h"
#include "interpose/stacks/cfi.h"
#include "interpose/base/peek.h"

#include <string.h>

#define ENTRY_MAX 4096u /* bytes of one CIE or FDE that are looked at */
#define DEPTH     8u    /* of remembered states */

/* Bytes of one entry; running off the end sets `bad` and gives zeros. */
struct bytes {
    const uint8_t *at, *end;
    const uint8_t *base; /* lies at `address` in the process */
    uint64_t address;
    bool bad;
};

static uint64_t fixed(struct bytes *b, unsigned size)
{
    uint64_t value = 0;
    if ((size_t)(b->end - b->at) < size) {
        b->bad = true;
        b->at = b->end;
        return 0;
    }
    memcpy(&value, b->at, size);
    b->at += size;
    return value;
}
static uint64_t uleb(struct bytes *b)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = fixed(b, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}
static int64_t sleb(struct bytes *b)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;
    do {
        byte = fixed(b, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if ((byte & 0x40) && shift < 64)
        value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

/* A pointer in one of the encodings of DW_EH_PE; indirect ones (personality routines) are only stepped over. */
static uint64_t encoded(struct bytes *b, uint8_t encoding)
{
    uint64_t here = b->address + (uint64_t)(b->at - b->base), value;
    if (encoding == 0xff)
        return 0;
    switch (encoding & 0x0f) {
    case 0x01:
        value = uleb(b);
        break;
    case 0x02:
        value = fixed(b, 2);
        break;
    case 0x03:
        value = fixed(b, 4);
        break;
    case 0x09:
        value = (uint64_t)sleb(b);
        break;
    case 0x0a:
        value = (uint64_t)(int64_t)(int16_t)fixed(b, 2);
        break;
    case 0x0b:
        value = (uint64_t)(int64_t)(int32_t)fixed(b, 4);
        break;
    default:
        value = fixed(b, 8);
        break;
    }
    if ((encoding & 0x70) == 0x10)
        value += here;
    return value;
}

struct cie {
    uint64_t code_align;
    int64_t data_align;
    unsigned return_register;
    uint8_t encoding;
    bool augmented, signal_frame;
    uint64_t program; /* initial instructions */
    uint64_t program_size;
};

/* Reads the entry at `address` into `buffer`: its bytes behind the length. */
static bool entry(uint64_t address, uint8_t *buffer, struct bytes *out)
{
    uint32_t length;
    if (!ipo_peek(address, &length, sizeof length) || length == 0 || length == 0xffffffffu)
        return false;
    size_t wanted = length < ENTRY_MAX ? length : ENTRY_MAX;
    if (!ipo_peek(address + 4, buffer, wanted))
        return false;
    *out = (struct bytes){.at = buffer, .end = buffer + wanted, .base = buffer, .address = address + 4};
    return true;
}

static bool read_cie(uint64_t address, uint8_t *buffer, struct bytes *rest, struct cie *cie)
{
    struct bytes b;
    if (!entry(address, buffer, &b) || fixed(&b, 4) != 0)
        return false;
    *cie = (struct cie){0};
    uint64_t version = fixed(&b, 1);
    char augmentation[9] = "";
    for (unsigned i = 0; !b.bad; i++) {
        char c = (char)fixed(&b, 1);
        if (!c)
            break;
        if (i < sizeof augmentation - 1)
            augmentation[i] = c;
    }
    cie->code_align = uleb(&b);
    cie->data_align = sleb(&b);
    cie->return_register = (unsigned)(version == 1 ? fixed(&b, 1) : uleb(&b));
    cie->augmented = augmentation[0] == 'z';
    if (cie->augmented) {
        uint64_t size = uleb(&b);
        const uint8_t *end = size <= (uint64_t)(b.end - b.at) ? b.at + size : b.end;
        for (const char *letter = augmentation + 1; *letter; letter++) {
            if (*letter == 'R')
                cie->encoding = (uint8_t)fixed(&b, 1);
            else if (*letter == 'L')
                fixed(&b, 1);
            else if (*letter == 'P')
                encoded(&b, (uint8_t)fixed(&b, 1));
            else if (*letter == 'S')
                cie->signal_frame = true;
            else if (*letter != 'B')
                break; /* what follows is not known, but its size is */
        }
        b.at = end;
    } else if (augmentation[0]) {
        return false;
    }
    *rest = b;
    return !b.bad;
}

static void set(struct ipo_row *row, uint64_t reg, enum ipo_rule rule, int64_t value, uint64_t length)
{
    if (reg < IPO_REGS)
        row->reg[reg] = (struct ipo_where){rule, value, length};
}

/* An expression's place in the process and its length; steps over it. */
static void block(struct bytes *b, int64_t *address, uint64_t *length)
{
    *length = uleb(b);
    *address = (int64_t)(b->address + (uint64_t)(b->at - b->base));
    if (*length > (uint64_t)(b->end - b->at)) {
        b->bad = true;
        b->at = b->end;
    } else {
        b->at += *length;
    }
}

/* Runs instructions until the place is past `pc`.  `initial`: the row of the CIE, for DW_CFA_restore. */
static bool run(struct bytes *b, const struct cie *cie, uint64_t pc, uint64_t place, const struct ipo_row *initial,
                struct ipo_row *row)
{
    struct ipo_row kept[DEPTH];
    unsigned depth = 0;
    while (b->at < b->end && !b->bad) {
        uint8_t code = (uint8_t)fixed(b, 1), low = code & 0x3f;
        uint64_t a, advance = 0, length;
        int64_t where;
        switch (code & 0xc0) {
        case 0x40:
            advance = low;
            break;
        case 0x80:
            set(row, low, IPO_RULE_OFFSET, (int64_t)uleb(b) * cie->data_align, 0);
            continue;
        case 0xc0:
            if (initial && low < IPO_REGS)
                row->reg[low] = initial->reg[low];
            continue;
        default:
            switch (code) {
            case 0x00: /* nop */
                continue;
            case 0x01: /* set_loc */
                place = encoded(b, cie->encoding);
                if (place > pc)
                    return true;
                continue;
            case 0x02: /* advance_loc1, 2, 4 */
                advance = fixed(b, 1);
                break;
            case 0x03:
                advance = fixed(b, 2);
                break;
            case 0x04:
                advance = fixed(b, 4);
                break;
            case 0x05: /* offset_extended */
                a = uleb(b);
                set(row, a, IPO_RULE_OFFSET, (int64_t)uleb(b) * cie->data_align, 0);
                continue;
            case 0x06: /* restore_extended */
                a = uleb(b);
                if (initial && a < IPO_REGS)
                    row->reg[a] = initial->reg[a];
                continue;
            case 0x07: /* undefined */
                set(row, uleb(b), IPO_RULE_UNDEFINED, 0, 0);
                continue;
            case 0x08: /* same_value */
                set(row, uleb(b), IPO_RULE_SAME, 0, 0);
                continue;
            case 0x09: /* register */
                a = uleb(b);
                set(row, a, IPO_RULE_REGISTER, (int64_t)uleb(b), 0);
                continue;
            case 0x0a: /* remember_state */
                if (depth == DEPTH)
                    return false;
                kept[depth++] = *row;
                continue;
            case 0x0b: /* restore_state */
                if (!depth)
                    return false;
                *row = kept[--depth];
                continue;
            case 0x0c: /* def_cfa, and with a signed factored offset */
            case 0x12:
                row->cfa_register = (unsigned)uleb(b);
                row->cfa = (struct ipo_where){IPO_RULE_VAL_OFFSET,
                                              code == 0x0c ? (int64_t)uleb(b) : sleb(b) * cie->data_align, 0};
                continue;
            case 0x0d: /* def_cfa_register */
                row->cfa_register = (unsigned)uleb(b);
                row->cfa.rule = IPO_RULE_VAL_OFFSET;
                continue;
            case 0x0e: /* def_cfa_offset */
            case 0x13:
                row->cfa.value = code == 0x0e ? (int64_t)uleb(b) : sleb(b) * cie->data_align;
                continue;
            case 0x0f: /* def_cfa_expression */
                block(b, &where, &length);
                row->cfa = (struct ipo_where){IPO_RULE_VAL_EXPRESSION, where, length};
                continue;
            case 0x10: /* expression, val_expression */
            case 0x16:
                a = uleb(b);
                block(b, &where, &length);
                set(row, a, code == 0x10 ? IPO_RULE_EXPRESSION : IPO_RULE_VAL_EXPRESSION, where, length);
                continue;
            case 0x11: /* offset_extended_sf */
                a = uleb(b);
                set(row, a, IPO_RULE_OFFSET, sleb(b) * cie->data_align, 0);
                continue;
            case 0x14: /* val_offset, val_offset_sf */
            case 0x15:
                a = uleb(b);
                set(row, a, IPO_RULE_VAL_OFFSET, (code == 0x14 ? (int64_t)uleb(b) : sleb(b)) * cie->data_align, 0);
                continue;
            case 0x2d: /* aarch64: the return address is signed from here on; its bits are cut off in any case */
                continue;
            case 0x2e: /* GNU_args_size */
                uleb(b);
                continue;
            default:
                return false;
            }
        }
        place += advance * cie->code_align;
        if (place > pc)
            return true;
    }
    return !b->bad;
}

/* The FDE of the last function that begins at or before `pc`. */
static uint64_t find(const struct ipo_module *module, uint64_t pc)
{
    int32_t pair[2];
    uint32_t low = 0, high = module->table_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (!ipo_peek(module->table + 8ull * middle, pair, sizeof pair))
            return 0;
        if (module->table_base + (uint64_t)(int64_t)pair[0] <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || !ipo_peek(module->table + 8ull * (low - 1), pair, sizeof pair))
        return 0;
    return module->table_base + (uint64_t)(int64_t)pair[1];
}

bool ipo_cfi_row(const struct ipo_module *module, uint64_t pc, struct ipo_row *row)
{
    static uint8_t fde_bytes[ENTRY_MAX], cie_bytes[ENTRY_MAX]; /* one user at a time */
    struct bytes fde, initial_program;
    struct cie cie;
    uint64_t address = module->table ? find(module, pc) : 0;
    if (!address || !entry(address, fde_bytes, &fde))
        return false;
    uint64_t back = fixed(&fde, 4);
    if (!back || !read_cie(address + 4 - back, cie_bytes, &initial_program, &cie))
        return false;
    uint64_t begin = encoded(&fde, cie.encoding), size = encoded(&fde, cie.encoding & 0x0f);
    if (pc < begin || pc - begin >= size)
        return false;
    if (cie.augmented) {
        uint64_t skip = uleb(&fde);
        fde.at = skip <= (uint64_t)(fde.end - fde.at) ? fde.at + skip : fde.end;
    }
    memset(row, 0, sizeof *row);
    row->return_register = cie.return_register < IPO_REGS ? cie.return_register : IPO_REG_RA;
    row->function = begin;
    row->signal_frame = cie.signal_frame;
    struct ipo_row initial;
    if (!run(&initial_program, &cie, UINT64_MAX, 0, NULL, row))
        return false;
    initial = *row;
    return run(&fde, &cie, pc, begin, &initial, row);
}
