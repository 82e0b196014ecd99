/* Whether a function does nothing but call MPI, by its machine code. */
#include "interpose/arch/code.h"
#include "interpose/load/names.h"
#include "interpose/load/symbols.h"
#include "interpose/load/symbols_impl.h"

#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#define MOST_BYTES   1024u /* a larger function is no wrapper */
#define MOST_CALLERS 2u    /* calls of a wrapper, at least */

struct code {
    const struct ipo_image *image;
    const ElfW(Ehdr) * elf;
    const ElfW(Phdr) * segments;
};

/* Code from an address to the end of its segment; NULL: there is none. */
static const uint8_t *find_code(const struct code *c, uint64_t address, size_t *left)
{
    for (unsigned i = 0; i < c->elf->e_phnum; i++) {
        const ElfW(Phdr) *segment = &c->segments[i];
        uint64_t into = address - segment->p_vaddr;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || into >= segment->p_filesz)
            continue;
        *left = segment->p_filesz - into;
        return ipo_image_range(c->image, segment->p_offset + into, *left);
    }
    return NULL;
}

/* Name of the function whose address the loader writes to a slot; NULL: none. */
static const char *name_slot(const struct code *c, uint64_t slot)
{
    const ElfW(Shdr) *table = ipo_image_range(c->image, c->elf->e_shoff, (uint64_t)c->elf->e_shnum * sizeof *table);
    for (unsigned i = 0; table && i < c->elf->e_shnum; i++) {
        const ElfW(Rela) *rela = ipo_image_range(c->image, table[i].sh_offset, table[i].sh_size);
        if (table[i].sh_type != SHT_RELA || !rela || table[i].sh_link >= c->elf->e_shnum)
            continue;
        const ElfW(Shdr) *symtab = &table[table[i].sh_link];
        const ElfW(Sym) *symbols = ipo_image_range(c->image, symtab->sh_offset, symtab->sh_size);
        for (size_t r = 0; symbols && r < table[i].sh_size / sizeof *rela; r++) {
            const uint64_t symbol = ELF64_R_SYM(rela[r].r_info);
            if (rela[r].r_offset != slot || !symbol || symbol >= symtab->sh_size / sizeof *symbols ||
                symtab->sh_link >= c->elf->e_shnum)
                continue;
            const ElfW(Shdr) *strings = &table[symtab->sh_link];
            const char *names = ipo_image_range(c->image, strings->sh_offset, strings->sh_size);
            const uint32_t at = symbols[symbol].st_name;
            return names && at < strings->sh_size && memchr(names + at, 0, strings->sh_size - at) ? names + at : NULL;
        }
    }
    return NULL;
}

/* Calls that ask for a number beside the one that the wrapper is for. */
static bool is_question(const char *name)
{
    static const char *const questions[] = {"Get_count", "Get_elements", "Comm_rank",
                                            "Comm_size", "Type_size",    "Wtime"};
    name += (*name | 32) == 'p' ? sizeof "PMPI_" - 1 : sizeof "MPI_" - 1;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (strncasecmp(name, questions[i], strlen(questions[i])) == 0)
            return true;
    return false;
}

/* Counts a call of the named function.  False: it is none of MPI. */
static bool count_call(const char *name, unsigned *calls)
{
    if (!name || (ipo_name_of(name).table != IPO_NAMES_MPI && strcmp(name, "__stack_chk_fail") != 0))
        return false;
    *calls += *name != '_' && !is_question(name);
    return true;
}

/* Whether the code of a function has no loop, and one call of MPI and no other call. */
static bool is_one_call(const struct code *c, uint64_t begin, uint64_t end)
{
    unsigned calls = 0;
    size_t left, stub_left;
    const uint8_t *at = find_code(c, begin, &left);
    for (uint64_t address = begin; at && address < end;) {
        const struct ipo_step step = ipo_code_step(at, left, address);
        const bool inside = step.target > address && step.target < end;
        if (step.kind == IPO_STEP_UNKNOWN)
            return false;
        if (step.kind == IPO_STEP_CALL || step.kind == IPO_STEP_SLOT || (step.kind == IPO_STEP_JUMP && !inside)) {
            const uint8_t *stub = step.kind == IPO_STEP_SLOT ? NULL : find_code(c, step.target, &stub_left);
            uint64_t slot = stub ? ipo_code_plt_slot(stub, stub_left, step.target) : step.target;
            if (!count_call(name_slot(c, slot), &calls))
                return false;
        }
        at += step.length;
        left -= step.length;
        address += step.length;
    }
    return at && calls == 1;
}

static unsigned count_callers(const struct code *c, uint64_t target)
{
    unsigned callers = 0;
    for (unsigned i = 0; i < c->elf->e_phnum && callers < MOST_CALLERS; i++) {
        const ElfW(Phdr) *segment = &c->segments[i];
        const uint8_t *code = ipo_image_range(c->image, segment->p_offset, segment->p_filesz);
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && code)
            callers += ipo_code_callers(code, segment->p_filesz, segment->p_vaddr, target, MOST_CALLERS - callers);
    }
    return callers;
}

bool ipo_symbol_forwards(const char *module, uint64_t offset)
{
    const struct ipo_image image = ipo_image_map(module);
    struct code c = {&image, ipo_image_elf(&image), NULL};
    struct ipo_image names;
    const ElfW(Sym) *function = NULL;
    if (c.elf)
        c.segments = ipo_image_range(&image, c.elf->e_phoff, (uint64_t)c.elf->e_phnum * sizeof *c.segments);
    const uint64_t address = c.segments ? offset + ipo_image_base(&image, c.elf) : 0;
    if (c.segments && !(function = ipo_image_function(&image, SHT_SYMTAB, address, false, &names)))
        function = ipo_image_function(&image, SHT_DYNSYM, address, false, &names);
    bool forwards = function && function->st_size <= MOST_BYTES &&
                    is_one_call(&c, function->st_value, function->st_value + function->st_size) &&
                    count_callers(&c, function->st_value) == MOST_CALLERS;
    if (image.bytes)
        munmap((void *)(uintptr_t)image.bytes, image.size);
    return forwards;
}
