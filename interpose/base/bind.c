#include "interpose/base/bind.h"
#include "interpose/arch/arch.h"
#include "interpose/base/elf.h"

#include <elf.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* Code that a sanitizer has compiled must call the sanitizer's functions. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WANTED 0
#else
#define WANTED 1
#endif

/* Whether a name is one of the loader's functions: a program's own may call dlsym and so come back here.  Replacements
 * of other functions (files, clocks, host names) are meant for the recorder, too. */
static bool is_of_loader(const char *name)
{
    static const char *const names[] = {"dl_iterate_phdr", "dladdr", "dlclose", "dlerror", "dlopen", "getauxval"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ipo_same_text(name, names[i]))
            return true;
    return false;
}

static bool is_system(const struct ipo_elf *elf)
{
    static const char *const names[] = {"libc.so.6", "libdl.so.2"};
    for (size_t i = 0; elf->soname && i < sizeof names / sizeof *names; i++)
        if (ipo_same_text(elf->soname, names[i]))
            return true;
    return false;
}

/* Hash of the version that one of our symbols asks for; 0: none. */
static uint32_t version_of(const struct ipo_elf *ours, uint32_t index)
{
    const ElfW(Verneed) *need = ours->versions ? ours->needed : NULL;
    for (; need; need = need->vn_next ? (const void *)((const char *)need + need->vn_next) : NULL) {
        const ElfW(Vernaux) *aux = (const void *)((const char *)need + need->vn_aux);
        for (unsigned i = 0; i < need->vn_cnt; i++, aux = (const void *)((const char *)aux + aux->vna_next))
            if (aux->vna_other == (ours->versions[index] & 0x7fff))
                return aux->vna_hash;
    }
    return 0;
}

/* Plain functions only.  A variable may have been copied into the program; of an indirect function (memcpy, strlen) the
 * loader chooses the version for this processor. */
static uintptr_t find_in_system(const struct ipo_elf *system, unsigned n, const char *name, uint32_t version)
{
    for (unsigned i = 0; i < n; i++) {
        const ElfW(Sym) *found = ipo_elf_find(&system[i], name, version);
        if (found)
            return ELF64_ST_TYPE(found->st_info) == STT_FUNC ? system[i].base + found->st_value : 0;
    }
    return 0;
}

static void bind_table(const struct ipo_elf *ours, const ElfW(Rela) * table, size_t entries,
                       const struct ipo_elf *system, unsigned n)
{
    for (size_t i = 0; table && i < entries; i++) {
        uint32_t index = (uint32_t)ELF64_R_SYM(table[i].r_info);
        const char *name = ours->strings + ours->symbols[index].st_name;
        uint32_t version = IPO_RELOCATES_SLOT(ELF64_R_TYPE(table[i].r_info)) ? version_of(ours, index) : 0;
        uintptr_t *slot = (uintptr_t *)(ours->base + table[i].r_offset);
        uintptr_t function = version && is_of_loader(name) ? find_in_system(system, n, name, version) : 0;
        if (function && *slot && *slot != function)
            __atomic_store_n(slot, function, __ATOMIC_RELEASE);
    }
}

/* Changes the protection of the slots, which the loader has made read-only. */
static bool open_slots(uintptr_t base, int protection)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)((uintptr_t)&__ehdr_start + __ehdr_start.e_phoff);
    for (unsigned i = 0; i < __ehdr_start.e_phnum; i++)
        if (headers[i].p_type == PT_GNU_RELRO) {
            uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
            uintptr_t begin = (base + headers[i].p_vaddr) & ~(page - 1);
            uintptr_t end = (base + headers[i].p_vaddr + headers[i].p_memsz) & ~(page - 1);
            return mprotect((void *)begin, end - begin, protection) == 0;
        }
    return true;
}

void ipo_bind(void)
{
    static atomic_flag done = ATOMIC_FLAG_INIT;
    if (!WANTED || atomic_flag_test_and_set(&done))
        return;
    struct ipo_elf ours = {0}, system[4];
    unsigned n = 0;
    for (const struct link_map *map = ipo_elf_first(); map && n < 4; map = map->l_next) {
        ipo_elf_of(map, &system[n]);
        if (ipo_elf_is_ours(map))
            ours = system[n];
        else if (is_system(&system[n]))
            n++;
    }
    if (!ours.symbols || !n || !open_slots(ours.base, PROT_READ | PROT_WRITE))
        return;
    bind_table(&ours, ours.plt, ours.plt_n, system, n);
    bind_table(&ours, ours.rela, ours.rela_n, system, n);
    open_slots(ours.base, PROT_READ);
}
