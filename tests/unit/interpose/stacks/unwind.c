/* Input of the unwinder: memory that is not there, tables that are cut off or say random things, and a stack of this
 * very program whose callers are known. */
#include "interpose/base/safe_read.h"
#include "interpose/unwind/cfi.h"
#include "interpose/unwind/expression.h"
#include "interpose/unwind/libunwind.h"
#include "interpose/stacks/stacks_impl.h"
#include "interpose/unwind/unwind.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096 };
/* Number of registers with equal numbers in DWARF. */
enum { SAME = (int)IPO_FOREIGN_REGS == (int)IPO_REGS ? (int)IPO_REGS : 32 };

/* Three pages, the middle one a hole; and behind them a function with tables only. */
static char *pages;
static uint64_t function;

static bool can_be_read(uint64_t address, size_t size)
{
    uint64_t from = address - (uint64_t)(uintptr_t)pages;
    return from + size <= PAGE || (from >= 2 * PAGE && from + size <= 3 * PAGE);
}

static void make_pages(void)
{
    pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < 3 * PAGE; i++)
        pages[i] = (char)(i * 7 + i / 256);
    function = (uint64_t)(uintptr_t)pages + 0x10000;
    mprotect(pages + PAGE, PAGE, PROT_NONE);
}

static void check_reads(void)
{
    static char out[2 * PAGE];
    uint64_t state = 51;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t from = draw(&state, 2) ? PAGE - 64 + draw(&state, 128) : draw(&state, 3 * PAGE);
        uint64_t size = 1 + draw(&state, draw(&state, 4) ? 64 : PAGE), at = (uint64_t)(uintptr_t)pages + from;
        if (from + size > 3 * PAGE)
            continue;
        errno = 77;
        bool good = ipo_safe_read(at, out, size);
        CHECK(good == can_be_read(at, size) && errno == 77, "%lu bytes at %lu: %d", (unsigned long)size,
              (unsigned long)from, good);
        CHECK(!good || !memcmp(out, pages + from, size), "%lu bytes at %lu differ", (unsigned long)size,
              (unsigned long)from);
        uint64_t some = ipo_safe_read_some(at, out, size), there = from < PAGE       ? PAGE - from
                                                                   : from < 2 * PAGE ? 0
                                                                                     : size;
        CHECK(some == (there < size ? there : size), "%lu of %lu bytes at %lu", (unsigned long)some,
              (unsigned long)size, (unsigned long)from);
    }
    static const uint64_t nowhere[] = {0, 8, UINT64_MAX - 3, 1ull << 47, 0xffff800000000000u};
    for (unsigned i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        CHECK(!ipo_safe_read(nowhere[i], out, 8), "there is nothing at %#lx", (unsigned long)nowhere[i]);
}

/* ---- tables: a module whose one function has instructions that the test has drawn */

struct bytes {
    uint8_t at[2000];
    unsigned n;
};

static void put(struct bytes *to, const void *from, unsigned n)
{
    memcpy(to->at + to->n, from, n);
    to->n += n;
}
static void put_byte(struct bytes *to, unsigned value)
{
    to->at[to->n++] = (uint8_t)value;
}
static void put_word(struct bytes *to, uint32_t value)
{
    put(to, &value, sizeof value);
}
static void put_uleb(struct bytes *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put_byte(to, (unsigned)value | 0x80);
    put_byte(to, (unsigned)value);
}
static void put_sleb(struct bytes *to, int64_t value)
{
    for (; value < -64 || value > 63; value >>= 7)
        put_byte(to, ((unsigned)value & 0x7f) | 0x80);
    put_byte(to, (unsigned)value & 0x7f);
}

/* One instruction, into the bytes and into the row that the test expects. */
static void put_instruction(struct bytes *code, struct ipo_row *row, const struct ipo_row *first, uint64_t *state)
{
    unsigned reg = draw(state, SAME - 1);
    uint64_t value = draw(state, 300);
    switch (draw(state, 8)) {
    case 0:
        put_byte(code, DW_CFA_def_cfa);
        put_uleb(code, reg);
        put_uleb(code, value);
        row->cfa_register = reg;
        row->cfa.value = (int64_t)value;
        break;
    case 1:
        put_byte(code, DW_CFA_def_cfa_offset);
        put_uleb(code, value);
        row->cfa.value = (int64_t)value;
        break;
    case 2:
        put_byte(code, DW_CFA_def_cfa_register);
        put_uleb(code, reg);
        row->cfa_register = reg;
        break;
    case 3:
        put_byte(code, DW_CFA_offset | reg);
        put_uleb(code, value);
        row->reg[reg] = (struct ipo_where){.rule = IPO_RULE_OFFSET, .value = (int64_t)value * -8};
        break;
    case 4:
        put_byte(code, DW_CFA_val_offset_sf);
        put_uleb(code, reg);
        put_sleb(code, (int64_t)value - 150);
        row->reg[reg] = (struct ipo_where){.rule = IPO_RULE_VAL_OFFSET, .value = ((int64_t)value - 150) * -8};
        break;
    case 5:
        put_byte(code, DW_CFA_register);
        put_uleb(code, reg);
        put_uleb(code, value % SAME);
        row->reg[reg] = (struct ipo_where){.rule = IPO_RULE_REGISTER, .value = (int64_t)(value % SAME)};
        break;
    case 6:
        put_byte(code, DW_CFA_undefined);
        put_uleb(code, reg);
        row->reg[reg] = (struct ipo_where){.rule = IPO_RULE_UNDEFINED};
        break;
    default:
        put_byte(code, DW_CFA_restore | reg);
        row->reg[reg] = first->reg[reg];
        break;
    }
}

/* The function has 16 steps of 64 bytes; `rows`: what holds in each. */
enum { STEPS = 16, STEP = 64 };
struct table {
    struct bytes frame; /* the CIE, then the FDE */
    unsigned cie_bytes;
    struct ipo_row rows[STEPS];
    unsigned told[STEPS]; /* bytes of `frame` before the instruction that ends a row */
    bool ends[2000];      /* an instruction ends before this byte */
};

static void put_length(struct bytes *entry, unsigned at)
{
    uint32_t length = entry->n - at - 4;
    memcpy(entry->at + at, &length, sizeof length);
}

static void draw_table(struct table *table, uint64_t *state)
{
    static const uint8_t cie[] = {1, 'z', 'R', 0, 1, 0x78 /* -8 */, IPO_REG_RA, 1, DW_EH_PE_absptr};
    struct bytes *frame = &table->frame;
    struct ipo_row row = {.return_register = IPO_REG_RA, .function = function};
    memset(table, 0, sizeof *table);
    put_word(frame, 0);
    put_word(frame, 0); /* a CIE */
    put(frame, cie, sizeof cie);
    row.cfa.rule = IPO_RULE_VAL_OFFSET;
    put_byte(frame, DW_CFA_def_cfa);
    put_uleb(frame, IPO_REG_SP);
    put_uleb(frame, 8);
    row.cfa_register = IPO_REG_SP;
    row.cfa.value = 8;
    put_length(frame, 0);
    table->cie_bytes = frame->n;
    put_word(frame, 0);
    put_word(frame, frame->n); /* back to the CIE, from here */
    const uint64_t range[] = {function, STEPS * STEP};
    put(frame, range, sizeof range);
    put_uleb(frame, 0); /* no augmentation */
    const struct ipo_row first = row;
    struct ipo_row kept = row;
    bool is_kept = false;
    for (unsigned step = 0; step < STEPS; step++) {
        table->ends[frame->n] = true;
        for (unsigned n = draw(state, 4); n > 0; n--) {
            put_instruction(frame, &row, &first, state);
            table->ends[frame->n] = true;
        }
        if (draw(state, 4) == 0 && !is_kept) {
            put_byte(frame, DW_CFA_remember_state);
            kept = row;
            is_kept = true;
        } else if (is_kept && draw(state, 4) == 0) {
            put_byte(frame, DW_CFA_restore_state);
            row = kept;
            is_kept = false;
        }
        table->rows[step] = row;
        table->ends[frame->n] = true;
        table->told[step] = frame->n;
        put_byte(frame, DW_CFA_advance_loc1);
        put_byte(frame, STEP);
    }
    put_length(frame, table->cie_bytes);
}

static bool is_same(const struct ipo_where *a, const struct ipo_where *b)
{
    return a->rule == b->rule && (a->rule == IPO_RULE_SAME || a->rule == IPO_RULE_UNDEFINED || a->value == b->value);
}

static bool are_same(const struct ipo_row *a, const struct ipo_row *b)
{
    bool same = a->cfa_register == b->cfa_register && is_same(&a->cfa, &b->cfa) && a->function == b->function &&
                a->return_register == b->return_register;
    for (unsigned reg = 0; reg < IPO_REGS; reg++)
        same &= is_same(&a->reg[reg], &b->reg[reg]);
    return same;
}

/* Looks up a row where `there` bytes of the table can be read, before the hole; the third page has the search table. */
static bool row_at(const struct table *table, unsigned there, uint64_t pc, struct ipo_row *row)
{
    char *at = pages + PAGE - there;
    const uint64_t base = (uint64_t)(uintptr_t)at;
    const int32_t pair[2] = {(int32_t)(function - base), (int32_t)table->cie_bytes};
    memcpy(at, table->frame.at, there);
    memcpy(pages + 2 * PAGE, pair, sizeof pair);
    struct ipo_module module = {.table = (uint64_t)(uintptr_t)pages + 2 * PAGE, .table_base = base, .table_count = 1};
    return ipo_cfi_row(&module, pc, row);
}

/* Every row as it was drawn; none of a table that is cut off. */
static void check_tables(void)
{
    uint64_t state = 61;
    static struct table table;
    struct ipo_row row;
    for (unsigned round = 0; round < 300; round++) {
        draw_table(&table, &state);
        for (unsigned step = 0; step < STEPS; step++)
            for (unsigned offset = 0; offset < STEP; offset += STEP - 1)
                CHECK(row_at(&table, table.frame.n, function + step * STEP + offset, &row) &&
                          are_same(&row, &table.rows[step]),
                      "round %u, step %u", round, step);
        CHECK(!row_at(&table, table.frame.n, function + STEPS * STEP, &row), "behind the function");
        CHECK(!row_at(&table, table.frame.n, function - 1, &row), "before the function");
        unsigned cut = 1 + draw(&state, table.frame.n - 1), step = draw(&state, STEPS);
        CHECK(!row_at(&table, table.frame.n - cut, function + step * STEP, &row), "the last %u bytes are not there",
              cut);
        /* An entry that claims to be shorter than it is: its rest, or nothing, and no crash. */
        uint32_t length = draw(&state, table.frame.n - table.cie_bytes - 4);
        memcpy(table.frame.at + table.cie_bytes, &length, sizeof length);
        bool found = row_at(&table, table.frame.n, function + step * STEP, &row);
        unsigned end = table.cie_bytes + 4 + length;
        if (end >= table.told[step] + 2)
            CHECK(found && are_same(&row, &table.rows[step]), "round %u, step %u of a shorter entry", round, step);
        else if (!table.ends[end])
            CHECK(!found, "round %u, step %u: an instruction is cut off", round, step);
        /* Bytes at random: any row, or none. */
        for (unsigned i = 0; i < 20; i++) {
            table.frame.at[draw(&state, table.frame.n)] ^= (uint8_t)(1u << draw(&state, 8));
            row_at(&table, table.frame.n, function + step * STEP, &row);
        }
    }
    checks++; /* it is still alive */
}

/* ---- expressions against a stack machine of the test's */

static void check_expressions(void)
{
    uint64_t state = 71;
    for (unsigned round = 0; round < 5000; round++) {
        struct bytes code = {.n = 0};
        struct ipo_cursor cursor = {.pc = 0x1234};
        uint64_t stack[16], word = 0x1122334455667788;
        unsigned top = 0;
        ipo_cursor_set(&cursor, 3, draw(&state, 100000));
        ipo_cursor_set(&cursor, IPO_REG_SP, (uint64_t)(uintptr_t)&word);
        for (unsigned n = 2 + draw(&state, 10); n > 0; n--) {
            uint64_t value = draw(&state, 200);
            unsigned what = draw(&state, 8);
            if (what < 2 || top < 2) {
                if (top == 14)
                    break;
                put_byte(&code, what ? DW_OP_constu : DW_OP_breg3);
                what ? put_uleb(&code, value) : put_sleb(&code, (int64_t)value - 100);
                stack[top++] = what ? value : cursor.reg[3] + value - 100;
            } else if (what == 2 && top < 14) {
                put_byte(&code, DW_OP_breg0 + IPO_REG_SP);
                put_sleb(&code, 0);
                put_byte(&code, DW_OP_deref);
                stack[top++] = word;
            } else if (what == 3) {
                put_byte(&code, DW_OP_plus_uconst);
                put_uleb(&code, value);
                stack[top - 1] += value;
            } else {
                static const uint8_t ops[] = {DW_OP_plus, DW_OP_minus, DW_OP_and, DW_OP_mul};
                unsigned op = draw(&state, 4);
                uint64_t a = stack[top - 2], b = stack[top - 1];
                put_byte(&code, ops[op]);
                stack[--top - 1] = op == 0 ? a + b : op == 1 ? a - b : op == 2 ? (a & b) : a * b;
            }
        }
        char *at = pages + PAGE - code.n;
        uint64_t out = 0, address = (uint64_t)(uintptr_t)at;
        memcpy(at, code.at, code.n);
        CHECK(ipo_expression(&cursor, address, code.n, NULL, &out) && out == stack[top - 1], "round %u: %#lx, not %#lx",
              round, (unsigned long)out, (unsigned long)stack[top - 1]);
        CHECK(!ipo_expression(&cursor, address + 1, code.n, NULL, &out), "its last byte is not there");
        cursor.known = 0;
        if (memchr(code.at, DW_OP_breg3, 1))
            CHECK(!ipo_expression(&cursor, address, code.n, NULL, &out), "a register that is not known");
    }
    struct ipo_cursor cursor = {.pc = 0};
    uint64_t out, hole = (uint64_t)(uintptr_t)pages + PAGE;
    static const uint8_t deref[] = {DW_OP_deref}, empty[1], minus[] = {DW_OP_lit1, DW_OP_minus};
    CHECK(!ipo_expression(&cursor, (uint64_t)(uintptr_t)deref, 1, &hole, &out), "a value that is not there");
    CHECK(!ipo_expression(&cursor, (uint64_t)(uintptr_t)empty, 0, NULL, &out), "no value at all");
    CHECK(!ipo_expression(&cursor, (uint64_t)(uintptr_t)minus, 2, NULL, &out), "too few values");
}

/* ---- a stack whose callers are known */

enum { DEPTH = 12 };
static void *returns[DEPTH];
static bool (*step)(struct ipo_cursor *cursor, bool *ended);
static const char *by;

static bool step_by_libunwind(struct ipo_cursor *cursor, bool *ended)
{
    struct ipo_cursor caller = {.guessed = cursor->guessed};
    const bool found = ipo_libunwind_step(cursor, &caller);
    *ended = found && !caller.pc;
    if (found)
        *cursor = caller;
    return found && !*ended;
}

static __attribute__((noinline)) void look(unsigned depth)
{
    ucontext_t here;
    struct ipo_cursor cursor;
    bool ended;
    getcontext(&here);
    ipo_modules_read();
    ipo_registers_of(&here, &cursor);
    cursor.exact = false;
    returns[depth] = __builtin_return_address(0);
    for (unsigned i = depth + 1; i-- > 0;) {
        bool moved = step(&cursor, &ended);
        CHECK(moved && cursor.pc == (uint64_t)(uintptr_t)returns[i] && !cursor.guessed, "%s: caller %u: %#lx, not %p",
              by, i, (unsigned long)cursor.pc, returns[i]);
        if (!moved)
            break;
    }
    for (unsigned i = 0; i < 100 && step(&cursor, &ended); i++)
        ;
    CHECK(ended, "%s: the stack has a first function", by);
}

/* Frames of different sizes, kept by different registers. */
static __attribute__((noinline)) unsigned descend(unsigned depth, unsigned most)
{
    volatile char room[16 + depth * 40];
    room[0] = (char)depth;
    returns[depth] = __builtin_return_address(0);
    if (depth + 1 == most) {
        look(most);
    } else {
        descend(depth + 1, most);
    }
    return (unsigned)room[0] + depth; /* no tail call */
}

static void check_stacks(const char *name, bool (*with)(struct ipo_cursor *cursor, bool *ended))
{
    step = with;
    by = name;
    for (unsigned most = 1; most < DEPTH - 1; most++)
        descend(0, most);
}

int main(void)
{
    make_pages();
    char byte;
    struct iovec here = {&byte, 1}, there = {&byte, 1};
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1) {
        check_reads();
        check_tables();
        check_expressions();
    } else { /* an emulator: the substitute for reading does not notice holes */
        printf("no process_vm_readv here: only stacks are checked\n");
    }
    check_stacks("by tables", ipo_unwind_by_tables);
    struct ipo_cursor none = {.exact = true}, caller = {0};
    ipo_libunwind_start("own");
    CHECK(!ipo_libunwind_step(&none, &caller), "libunwind was loaded, which was not asked for");
    ipo_libunwind_start("libunwind");
    ipo_modules_read();
    unsigned at = 0;
    while (ipo_module(at) && !strstr(ipo_module(at)->path, "/libunwind-"))
        at++;
    if (ipo_module(at))
        check_stacks("by libunwind", step_by_libunwind);
    else
        printf("libunwind is not installed\n");
    CHECK(!ipo_libunwind_step(&none, &caller), "a caller of nothing");
    check_stacks("by default", ipo_unwind_step);
    return check_result();
}
