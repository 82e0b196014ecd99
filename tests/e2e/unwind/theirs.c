/* libunwind's remote interface over our accessors: safe reads, our list of modules, no cache, no lock of the loader. */
#include "theirs.h"
#include "interpose/base/safe_read.h"
#include "interpose/load/modules.h"

#include <libunwind.h>

/* libunwind exports this for users of its remote interface, and declares it nowhere. */
#define search_table UNW_OBJ(dwarf_search_unwind_table)
int search_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *table, unw_proc_info_t *out, int need_info,
                 void *cursor);

enum { HEADER = 12 }; /* bytes of .eh_frame_hdr before its table */

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *out, int need_info, void *cursor)
{
    const struct ipo_module *module = ipo_module_of(ip);
    if (!module || !module->table)
        return -UNW_ENOINFO;
    unw_dyn_info_t table = {.start_ip = module->code_begin,
                            .end_ip = module->code_end,
                            .format = UNW_INFO_FORMAT_REMOTE_TABLE,
                            .u.rti = {.segbase = module->table_base,
                                      .table_data = module->table_base + HEADER,
                                      .table_len = module->table_count * 8ull / sizeof(unw_word_t)}};
    return search_table(space, ip, &table, out, need_info, cursor);
}
static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *cursor)
{
    (void)space;
    (void)info;
    (void)cursor;
}
static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *list, void *cursor)
{
    (void)space;
    (void)list;
    (void)cursor;
    return -UNW_ENOINFO;
}
static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write, void *cursor)
{
    (void)space;
    (void)cursor;
    return !write && ipo_safe_read(address, value, sizeof *value) ? 0 : -UNW_EINVAL;
}
static int access_reg(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write, void *context)
{
    const struct ipo_cursor *cursor = context;
    (void)space;
    /* DWARF's numbers on both machines. */
    bool is_pc = reg == UNW_REG_IP, known = is_pc || (reg >= 0 && reg < IPO_REGS && (cursor->known >> reg & 1));
    if (write || !known)
        return -UNW_EBADREG;
    *value = is_pc ? cursor->pc : cursor->reg[reg];
    return 0;
}
static int access_fpreg(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write, void *cursor)
{
    (void)space;
    (void)reg;
    (void)value;
    (void)write;
    (void)cursor;
    return -UNW_EBADREG;
}
static int resume(unw_addr_space_t space, unw_cursor_t *at, void *cursor)
{
    (void)space;
    (void)at;
    (void)cursor;
    return -UNW_EINVAL;
}

static unw_addr_space_t space;

bool theirs_begin(void)
{
    static unw_accessors_t accessors = {.find_proc_info = find_proc_info,
                                        .put_unwind_info = put_unwind_info,
                                        .get_dyn_info_list_addr = get_dyn_info_list_addr,
                                        .access_mem = access_mem,
                                        .access_reg = access_reg,
                                        .access_fpreg = access_fpreg,
                                        .resume = resume};
    space = unw_create_addr_space(&accessors, 0);
    return space && unw_set_caching_policy(space, UNW_CACHE_NONE) == 0;
}

unsigned theirs_walk(const struct ipo_cursor *from, uint64_t *pc, unsigned max, bool *ended)
{
    unw_cursor_t cursor;
    unsigned count = 0;
    int moved = 1;
    *ended = false;
    if (unw_init_remote(&cursor, space, (void *)from) < 0)
        return 0;
    while (count < max && moved > 0) {
        unw_word_t ip = 0;
        moved = unw_get_reg(&cursor, UNW_REG_IP, &ip) < 0 ? -1 : ip != 0;
        if (moved <= 0)
            break;
        pc[count++] = ip;
        moved = unw_step(&cursor);
    }
    *ended = moved == 0;
    return count;
}
