#include "interpose/unwind/libunwind.h"
#include "interpose/base/safe_read.h"
#include "interpose/load/modules.h"

#include <dlfcn.h>
#include <string.h>

/* ---- the library's types and functions, where all of its versions agree ------------------------------------------ */

typedef uint64_t word;
typedef struct space *space;

enum { BAD_REGISTER = -3, INVALID = -8, NO_INFO = -10 }; /* enum unw_error_t */
enum { REMOTE_TABLE = 2 };                               /* unw_dyn_info_t.format: .eh_frame_hdr's */
enum { HEADER = 12 };                                    /* bytes of .eh_frame_hdr before its table */

struct accessors {
    int (*find_proc_info)(space, word ip, void *out, int need, void *cursor);
    void (*put_unwind_info)(space, void *info, void *cursor);
    int (*get_dyn_info_list)(space, word *list, void *cursor);
    int (*access_mem)(space, word address, word *value, int write, void *cursor);
    int (*access_reg)(space, int reg, word *value, int write, void *cursor);
    int (*access_fpreg)(space, int reg, void *value, int write, void *cursor);
    int (*resume)(space, void *unwound, void *cursor);
    void *more[25]; /* newer versions have some */
};

/* unw_dyn_info_t: releases 1.6 to 1.8 have a word more than others before the last part. */
struct table {
    word next, prev, start, end, gp;
    int32_t format, pad;
    word last[5];
};
enum { BASE = 1, LENGTH, ENTRIES }; /* words of table.last */

static struct {
    space (*create_addr_space)(struct accessors *, int order);
    int (*set_caching_policy)(space, int policy);
    int (*init_remote)(void *unwound, space, void *cursor);
    int (*step)(void *unwound);
    int (*get_reg)(void *unwound, int reg, word *value);
    int (*is_signal_frame)(void *unwound);
    int (*search_table)(space, word ip, struct table *, void *out, int need, void *cursor);
} library;
static space ours;         /* NULL: not loaded */
static word unwound[8192]; /* unw_cursor_t has fewer in all versions */

/* ---- accessors --------------------------------------------------------------------------------------------------- */

static bool has_table; /* the last address asked for is in a table */

static int find_proc_info(space of, word ip, void *out, int need, void *cursor)
{
    const struct ipo_module *module = ipo_module_of(ip);
    int result = NO_INFO;
    for (unsigned more = 1; module && module->table && result < 0 && more < 2; more--) {
        struct table table = {.start = module->code_begin, .end = module->code_end, .format = REMOTE_TABLE};
        table.last[more + BASE] = module->table_base;
        table.last[more + LENGTH] = module->table_count * 8ull / sizeof(word);
        table.last[more + ENTRIES] = module->table_base + HEADER;
        result = library.search_table(of, ip, &table, out, need, cursor);
    }
    has_table = result >= 0;
    return result;
}

static void put_unwind_info(space of, void *info, void *cursor)
{
    (void)of, (void)info, (void)cursor;
}

static int get_dyn_info_list(space of, word *list, void *cursor)
{
    (void)of, (void)list, (void)cursor;
    return NO_INFO;
}

static int access_mem(space of, word address, word *value, int write, void *cursor)
{
    (void)of, (void)cursor;
    return !write && ipo_safe_read(address, value, sizeof *value) ? 0 : INVALID;
}

static int access_reg(space of, int reg, word *value, int write, void *context)
{
    const struct ipo_cursor *cursor = context;
    const unsigned here = reg < 0 ? IPO_REGS : IPO_REGISTER((unsigned)reg);
    (void)of;
    if (write || here == IPO_REGS || (here != IPO_REG_PC && !(cursor->known >> here & 1)))
        return BAD_REGISTER;
    *value = here == IPO_REG_PC ? cursor->pc : cursor->reg[here];
    return 0;
}

static int access_fpreg(space of, int reg, void *value, int write, void *cursor)
{
    (void)of, (void)reg, (void)value, (void)write, (void)cursor;
    return BAD_REGISTER;
}

static int resume(space of, void *at, void *cursor)
{
    (void)of, (void)at, (void)cursor;
    return INVALID;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

bool ipo_libunwind_start(const char *wanted)
{
    static struct accessors accessors = {
        find_proc_info, put_unwind_info, get_dyn_info_list, access_mem, access_reg, access_fpreg, resume, {0}};
    if (ours || strcmp(wanted, *wanted || !IPO_PREFERS_LIBUNWIND ? "libunwind" : "") != 0)
        return ours != NULL;
    void *loaded = dlopen("libunwind-" IPO_LIBUNWIND ".so.8", RTLD_NOW | RTLD_LOCAL);
#define FIND(member, name)                                                                                             \
    (library.member = (__typeof__(library.member))(uintptr_t)dlsym(loaded, "_U" IPO_LIBUNWIND "_" name))
    if (loaded && FIND(create_addr_space, "create_addr_space") && FIND(set_caching_policy, "set_caching_policy") &&
        FIND(init_remote, "init_remote") && FIND(step, "step") && FIND(get_reg, "get_reg") &&
        FIND(is_signal_frame, "is_signal_frame") && FIND(search_table, "dwarf_search_unwind_table"))
        ours = library.create_addr_space(&accessors, 0);
#undef FIND
    if (ours)
        library.set_caching_policy(ours, 0);
    return ours != NULL;
}

static bool begin_at(const struct ipo_cursor *cursor)
{
    return library.init_remote(unwound, ours, (void *)cursor) >= 0;
}

/* The library knows a signal's frame by its code; on x86-64 only after the step from it. */
static bool was_signal(bool before, const struct ipo_cursor *caller)
{
    return before ||
           (library.is_signal_frame(unwound) > 0 && !(begin_at(caller) && library.is_signal_frame(unwound) > 0));
}

bool ipo_libunwind_step(const struct ipo_cursor *cursor, struct ipo_cursor *caller)
{
    struct ipo_cursor from = *cursor;
    if (!ours || trc_must_not_ask() || !begin_at(&from))
        return false;
    const bool signal = library.is_signal_frame(unwound) > 0;
    from.pc -= !from.exact && !signal; /* a return address may be behind the last instruction of its function */
    has_table = false;
    const int moved = begin_at(&from) ? library.step(unwound) : INVALID;
    if (moved < 0 || !(has_table || signal)) /* libunwind guesses without tables, and does not mark the guess */
        return false;
    for (unsigned reg = 0; moved && reg < IPO_FOREIGN_REGS; reg++) {
        word value;
        const unsigned here = IPO_REGISTER(reg);
        if (here != IPO_REGS && library.get_reg(unwound, (int)reg, &value) >= 0)
            ipo_cursor_set(caller, here, value);
    }
    /* The pc of a caller is the saved link register on aarch64, except behind the frame of a signal. */
    caller->pc = moved ? caller->reg[signal ? IPO_REG_PC : IPO_REG_RA] & IPO_ADDRESS_BITS : 0;
    caller->exact = was_signal(signal, caller);
    return true;
}
