/* Arguments of the MPI call that a thread is inside.  They were in registers when the call began.  The function's
 * first instructions store them in a register that callees save, or on the stack.  Values found there are compared with
 * MPI's own data: handles of communicators, sizes, requests. */
#include "tui/sources/outside_impl.h"
#include "tui/sources/sentences_impl.h"
#include "tui/sources/running.h"
#include "trace/util/numfmt.h"
#include "trace/util/text.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *calls, *roles;
} known_calls[] = {
#define CALLS(names, roles) {names, roles},
#include "tui/sources/outside_calls.def"
};

static const char *find_roles(const char *function)
{
    char call[120], word[124];
    tui_outside_call_name(function, call, sizeof call);
    snprintf(word, sizeof word, " %s ", strncmp(call, "MPI_", 4) == 0 ? call + 4 : "");
    for (size_t i = 0; i < sizeof known_calls / sizeof *known_calls; i++)
        if (strstr(known_calls[i].calls, word))
            return known_calls[i].roles;
    return NULL;
}

#if defined(__x86_64__)

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* A call: the frame of its function, and where that has its arguments. */
struct call {
    const struct tui_outside *process;
    size_t frame;
    struct tui_outside_entry entry;
    const uint8_t *code;
    size_t size;
};

/* Reads the argument with that number; `surely`: from a register or copy only where the function writes that once. */
static bool read_argument(const struct call *c, int number, bool surely, uint64_t *out)
{
    static const struct {
        int processor, dwarf;
    } saved[] = {{3, 3}, {5, 6}, {12, 12}, {13, 13}, {14, 14}, {15, 15}};
    const struct tui_outside_saved *own = &c->process->saved[c->frame], *caller = own + 1;
    const bool has_stack = caller->known >> TUI_OUTSIDE_SP & 1;
    const uint64_t above = caller->reg[TUI_OUTSIDE_SP]; /* the address behind the return address */
    if (number >= TUI_OUTSIDE_IN_REGISTERS)
        return has_stack &&
               tui_outside_memory(c->process, above + 8 * (uint64_t)(number - TUI_OUTSIDE_IN_REGISTERS), out, 8);
    for (size_t i = 0; i < sizeof saved / sizeof *saved; i++)
        if (c->entry.holds[saved[i].processor] == number && own->known >> saved[i].dwarf & 1 &&
            (!surely || tui_outside_keeps(c->code, c->size, saved[i].processor, 0))) {
            *out = own->reg[saved[i].dwarf];
            return true;
        }
    const int64_t slot = c->entry.slot[number];
    return has_stack && slot &&
           (!surely || tui_outside_keeps(c->code, c->size, TUI_OUTSIDE_ON_STACK, slot + c->entry.depth)) &&
           tui_outside_memory(c->process, above + (uint64_t)slot, out, 8);
}

static uint64_t word_at(const struct tui_outside *process, uint64_t address)
{
    uint64_t out = 0;
    return tui_outside_memory(process, address, &out, sizeof out) ? out : 0;
}

static int int_at(const struct tui_outside *process, uint64_t address)
{
    return (int)word_at(process, address);
}

/* ---- Open MPI: symbols and offsets ------------------------------------------------------------------------------- */

/* A symbol in a file, found once: all ranks have the same files. */
struct symbol {
    const char *name;
    uint64_t address;
};

static int find_symbol(Dwfl_Module *module, void **unused, const char *path, Dwarf_Addr start, void *symbol)
{
    static struct {
        char path[256];
        const char *name;
        uint64_t offset; /* 0: none */
    } found[8];
    static size_t next;
    struct symbol *wanted = symbol;
    const char *file = trc_base_name(path);
    size_t i = 0;
    (void)unused;
    if (strncmp(file, "libmpi.", 7) != 0 && strncmp(file, "mca_pml_ob1.", 12) != 0)
        return DWARF_CB_OK;
    while (i < 8 && (found[i].name != wanted->name || strcmp(found[i].path, path) != 0))
        i++;
    if (i == 8) {
        i = next++ % 8;
        found[i].name = wanted->name;
        found[i].offset = 0;
        snprintf(found[i].path, sizeof found[i].path, "%s", path);
        for (int k = 0, n = dwfl_module_getsymtab(module); k < n && !found[i].offset; k++) {
            GElf_Sym entry;
            GElf_Addr address = 0;
            const char *name = dwfl_module_getsym_info(module, k, &entry, &address, NULL, NULL, NULL);
            if (name && entry.st_shndx != SHN_UNDEF && strcmp(name, wanted->name) == 0)
                found[i].offset = address - start;
        }
    }
    wanted->address = found[i].offset ? start + found[i].offset : 0;
    return wanted->address ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static uint64_t symbol_address(const struct tui_outside *process, const char *name)
{
    struct symbol wanted = {name, 0};
    dwfl_getmodules(process->dwfl, find_symbol, &wanted, 0);
    return wanted.address;
}

/* Reads where a communicator has its group and that its size, as MPI_Comm_size loads them: mov GROUP(%r),%rax; mov
 * SIZE(%rax),%eax.  Returns the size that it has so; 0: not known. */
static int size_of(const struct tui_outside *process, uint64_t comm)
{
    uint8_t code[256];
    const uint64_t at = symbol_address(process, "PMPI_Comm_size");
    if (!at || !tui_outside_memory(process, at, code, sizeof code))
        return 0;
    for (const uint8_t *c = code; c < code + sizeof code - 10; c++) {
        int32_t group;
        memcpy(&group, c + 3, sizeof group);
        if ((c[0] & 0xfe) == 0x48 && c[1] == 0x8b && (c[2] & 0xf8) == 0x80 && c[7] == 0x8b && c[8] == 0x40)
            return int_at(process, word_at(process, comm + (uint64_t)group) + c[9]);
    }
    return 0;
}

/* Offsets in a request of its communicator (its two copies), partner and tag, as mca_pml_ob1_recv stores its arguments
 * there. */
struct request_offsets {
    int32_t comm[2], partner, tag;
};

static bool find_offsets(const struct tui_outside *process, struct request_offsets *out)
{
    uint8_t code[512];
    const uint64_t at = symbol_address(process, "mca_pml_ob1_recv");
    int comms = 0, partners = 0, tags = 0;
    if (!at || !tui_outside_memory(process, at, code, sizeof code))
        return false;
    for (const uint8_t *c = code; c < code + sizeof code - 7; c++) {
        int32_t offset;
        memcpy(&offset, c + 3, sizeof offset);
        if ((c[0] & 0xfe) == 0x4c && c[1] == 0x89 && (c[2] & 0xf8) == 0x88 && comms < 2) /* mov %r9,OFFSET(%r) */
            out->comm[comms++] = offset;
        if ((c[0] & 0xfe) == 0x44 && c[1] == 0x89 && (c[2] & 0xf8) == 0x80 && !tags++) /* mov %r8d,OFFSET(%r) */
            out->tag = offset;
        memcpy(&offset, c + 2, sizeof offset);
        if (c > code && (c[-1] & 0xf0) != 0x40 && c[0] == 0x89 && (c[1] & 0xf8) == 0x88 && !partners++)
            out->partner = offset; /* mov %ecx,OFFSET(%r) */
    }
    return comms == 2 && tags && partners && out->tag == out->partner + 4;
}

/* Whether a request's two copies of its communicator are that one. */
static bool is_request(const struct tui_outside *process, const struct request_offsets *has, uint64_t at, uint64_t comm)
{
    return at && !(at & 7) && word_at(process, at + (uint64_t)has->comm[0]) == comm &&
           word_at(process, at + (uint64_t)has->comm[1]) == comm;
}

/* Finds the request of a blocking call: in a register of a function that it has called, or on the stack. */
static uint64_t find_request(const struct call *c, const struct request_offsets *has, uint64_t comm)
{
    const struct tui_outside *process = c->process;
    for (size_t i = 0; i <= c->frame; i++)
        for (int reg = 0; reg < 16; reg++)
            if (reg != TUI_OUTSIDE_SP && process->saved[i].known >> reg & 1 &&
                is_request(process, has, process->saved[i].reg[reg], comm))
                return process->saved[i].reg[reg];
    const uint64_t end =
        process->saved[c->frame].known >> TUI_OUTSIDE_SP & 1 ? process->saved[c->frame].reg[TUI_OUTSIDE_SP] : 0;
    for (uint64_t at = (process->stack + 7) & ~(uint64_t)7; at < end && at < process->stack + process->copied; at += 8)
        if (is_request(process, has, at, comm))
            return at;
    return 0;
}

/* ---- values of a call ----------------------------------------------------------------------------------------- */

static int find_role(const char *roles, const char *which)
{
    return roles[strcspn(roles, which)] ? (int)strcspn(roles, which) : -1;
}

static void read_open_mpi(const struct call *c, const char *roles, struct tui_outside_arguments *out)
{
    const struct tui_outside *process = c->process;
    const uint64_t world = word_at(process, symbol_address(process, "ompi_mpi_comm_world_addr"));
    const int waits = find_role(roles, "Q"), comm_at = find_role(roles, "c");
    const bool has_request = waits >= 0 || find_role(roles, "sp") >= 0;
    struct request_offsets has;
    uint64_t comm = 0, request = 0;
    const bool has_offsets = has_request && find_offsets(process, &has);
    if (waits >= 0 && has_offsets && read_argument(c, waits, false, &request)) {
        request = word_at(process, request);
        comm = word_at(process, request + (uint64_t)has.comm[1]);
        request = is_request(process, &has, request, comm) ? request : 0;
    } else if (comm_at >= 0 && read_argument(c, comm_at, false, &comm) && has_offsets) {
        request = find_request(c, &has, comm);
    }
    if (!world || !comm || word_at(process, comm) != word_at(process, world)) /* both begin with their class */
        return;
    out->is_world = comm == world;
    out->ranks = size_of(process, world) == tui_running_world(process->pid) ? size_of(process, comm) : 0;
    if (!request)
        return;
    out->partner_role = waits >= 0 ? 'Q' : roles[find_role(roles, "sp")];
    out->partner = int_at(process, request + (uint64_t)has.partner);
    out->tag = int_at(process, request + (uint64_t)has.tag);
    out->has_tag = true;
}

/* A handle shows that it is one of a communicator; other arguments are known where the function keeps them to its end:
 * MPICH names all arguments when it reports an error. */
static void read_mpich(const struct call *c, const char *roles, struct tui_outside_arguments *out)
{
    enum { WORLD = 0x44000000, ANY_SOURCE = -2, NULL_PARTNER = -1 };
    const int comm_at = find_role(roles, "c"), partner_at = find_role(roles, "spr"), tag_at = find_role(roles, "t");
    uint64_t comm, partner, tag;
    if (comm_at < 0 || !read_argument(c, comm_at, false, &comm) || ((uint32_t)comm >> 26 & 15) != 1 ||
        !((uint32_t)comm >> 30))
        return;
    out->is_world = (uint32_t)comm == WORLD;
    out->ranks = out->is_world ? tui_running_world(c->process->pid) : 0;
    if (partner_at >= 0 && read_argument(c, partner_at, true, &partner)) {
        out->partner_role = roles[partner_at];
        out->partner = (int)partner == ANY_SOURCE     ? TUI_OUTSIDE_ANY
                       : (int)partner == NULL_PARTNER ? TUI_OUTSIDE_NOBODY
                                                      : (int)partner;
    }
    if (tag_at >= 0 && read_argument(c, tag_at, true, &tag)) {
        out->has_tag = true;
        out->tag = (int)tag;
    }
}

extern int dwfl_frame_reg(Dwfl_Frame *state, unsigned regno, Dwarf_Word *val)
    __attribute__((weak)); /* elfutils 0.188 */

void tui_outside_save(struct tui_outside *process, Dwfl_Frame *state, size_t frame)
{
    enum { RBX = 3 };
    static const unsigned char saved[] = {RBX, 6, TUI_OUTSIDE_SP, 12, 13, 14, 15};
    struct tui_outside_saved *out = &process->saved[frame];
    const struct tui_outside_saved *callee = frame ? out - 1 : out;
    out->known = 0;
    for (size_t i = 0; dwfl_frame_reg && i < sizeof saved; i++)
        if (dwfl_frame_reg(state, saved[i], &out->reg[saved[i]]) == 0)
            out->known |= 1u << saved[i];
    /* libdw (0.188) drops rbx where a function leaves it alone: its table of the ABI names rax in its place. */
    if (!(out->known >> RBX & 1) && callee != out && callee->known == (callee->known & (out->known | 1u << RBX))) {
        out->known |= callee->known & 1u << RBX;
        out->reg[RBX] = callee->reg[RBX];
    }
}

void tui_outside_read_arguments(const struct tui_outside *process, struct tui_outside_stack *stack)
{
    struct tui_outside_arguments *out = &stack->call;
    size_t frame = tui_outside_call(stack);
    const char *roles = frame + 1 < stack->count ? find_roles(stack->frame[frame].function) : NULL;
    GElf_Off offset;
    GElf_Sym symbol;
    static uint8_t code[TUI_OUTSIDE_CODE + 16];
    while (roles && frame && find_roles(stack->frame[frame - 1].function) == roles)
        frame--; /* Fortran's function calls C's */
    Dwfl_Module *module = roles ? dwfl_addrmodule(process->dwfl, stack->frame[frame].address) : NULL;
    const char *path = module ? dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL) : NULL;
    if (!path || !dwfl_module_addrinfo(module, stack->frame[frame].address, &offset, &symbol, NULL, NULL, NULL) ||
        strncmp(trc_base_name(path), "libmpi", 6) != 0 || symbol.st_size > TUI_OUTSIDE_CODE ||
        !tui_outside_memory(process, stack->frame[frame].address - offset, code, symbol.st_size + 16))
        return;
    const struct call call = {process, frame, tui_outside_decode_entry(code, symbol.st_size), code, symbol.st_size};
    (strncmp(trc_base_name(path), "libmpich", 8) == 0 ? read_mpich : read_open_mpi)(&call, roles, out);
    if ((out->partner_role && out->partner < TUI_OUTSIDE_NOBODY) || (out->ranks && out->partner >= out->ranks) ||
        (out->has_tag && out->tag < TUI_OUTSIDE_ANY) || out->ranks < 0)
        *out = (struct tui_outside_arguments){0};
}

#else
void tui_outside_save(struct tui_outside *process, Dwfl_Frame *state, size_t frame)
{
    (void)process;
    (void)state;
    (void)frame;
}
void tui_outside_read_arguments(const struct tui_outside *process, struct tui_outside_stack *stack)
{
    (void)process;
    (void)stack;
    (void)find_roles;
}
#endif

/* ---- words ------------------------------------------------------------------------------------------------------- */

void tui_outside_arguments_words(const struct tui_outside_arguments *call, char *out, size_t size)
{
    const char *before = call->partner_role == 's'   ? SAY_FROM
                         : call->partner_role == 'p' ? SAY_TO
                         : call->partner_role == 'r' ? SAY_ROOT
                                                     : SAY_WITH;
    size_t n = 0;
    *out = 0;
    if (call->partner_role && call->partner < 0)
        ana_append(out, size, &n, "%s%s", before, call->partner == TUI_OUTSIDE_ANY ? SAY_ANY_RANK : "MPI_PROC_NULL");
    else if (call->partner_role)
        ana_append(out, size, &n, "%s%d", before, call->partner);
    if (call->has_tag && call->tag == TUI_OUTSIDE_ANY)
        ana_append(out, size, &n, SAY_ANY_TAG);
    else if (call->has_tag)
        ana_append(out, size, &n, SAY_TAG, call->tag);
    if (call->is_world || call->ranks)
        ana_append(out, size, &n, SAY_ON, call->is_world ? "MPI_COMM_WORLD" : SAY_A_COMMUNICATOR);
    if (call->ranks)
        ana_append(out, size, &n, call->ranks == 1 ? SAY_OF_ONE_RANK : SAY_OF_RANKS, call->ranks);
}
