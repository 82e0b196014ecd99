#include "interpose/base/elf.h"

#include <elf.h>
#include <stddef.h>
#include <sys/auxv.h>

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

/* The loader's interface for debuggers.  glibc exports it by this name; else the program's dynamic section has its
 * address. */
extern struct r_debug _r_debug __attribute__((weak));

const struct link_map *ipo_elf_first(void)
{
    if (&_r_debug && _r_debug.r_map)
        return _r_debug.r_map;
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR), *dynamic = NULL;
    uintptr_t base = 0;
    for (unsigned long i = 0; headers && i < getauxval(AT_PHNUM); i++) {
        if (headers[i].p_type == PT_PHDR)
            base = (uintptr_t)headers - headers[i].p_vaddr;
        if (headers[i].p_type == PT_DYNAMIC)
            dynamic = &headers[i];
    }
    const ElfW(Dyn) *at = dynamic ? (const ElfW(Dyn) *)(base + dynamic->p_vaddr) : NULL;
    for (; at && at->d_tag != DT_NULL; at++)
        if (at->d_tag == DT_DEBUG && at->d_un.d_ptr)
            return ((const struct r_debug *)at->d_un.d_ptr)->r_map;
    return NULL;
}

bool ipo_elf_is_ours(const struct link_map *map)
{
    return map->l_ld == _DYNAMIC;
}

/* glibc has relocated the addresses of a dynamic section, others leave them as they are in the file. */
static const void *relocate(const struct ipo_elf *elf, uintptr_t value)
{
    return (const void *)(value < elf->base ? elf->base + value : value);
}

void ipo_elf_of(const struct link_map *map, struct ipo_elf *out)
{
    *out = (struct ipo_elf){.base = map->l_addr};
    const void **to[DT_NUM] = {[DT_STRTAB] = (const void **)&out->strings,
                               [DT_SYMTAB] = (const void **)&out->symbols,
                               [DT_HASH] = (const void **)&out->sysv,
                               [DT_RELA] = (const void **)&out->rela,
                               [DT_JMPREL] = (const void **)&out->plt};
    size_t soname = 0, relative = 0;
    for (const ElfW(Dyn) *dynamic = map->l_ld; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        const void *at = relocate(out, dynamic->d_un.d_ptr);
        if (dynamic->d_tag >= 0 && dynamic->d_tag < DT_NUM && to[dynamic->d_tag])
            *to[dynamic->d_tag] = at;
        else if (dynamic->d_tag == DT_GNU_HASH)
            out->gnu = at;
        else if (dynamic->d_tag == DT_VERSYM)
            out->versions = at;
        else if (dynamic->d_tag == DT_VERDEF)
            out->defined = at;
        else if (dynamic->d_tag == DT_VERNEED)
            out->needed = at;
        else if (dynamic->d_tag == DT_SONAME)
            soname = dynamic->d_un.d_val;
        else if (dynamic->d_tag == DT_RELASZ)
            out->rela_n = dynamic->d_un.d_val / sizeof *out->rela;
        else if (dynamic->d_tag == DT_RELACOUNT)
            relative = dynamic->d_un.d_val;
        else if (dynamic->d_tag == DT_PLTRELSZ)
            out->plt_n = dynamic->d_un.d_val / sizeof *out->plt;
    }
    if (out->rela && relative <= out->rela_n) {
        out->rela += relative;
        out->rela_n -= relative;
    }
    out->soname = out->strings ? out->strings + soname : "";
}

bool ipo_same_text(const char *a, const char *b)
{
    for (; *a && *a == *b; a++, b++)
        ;
    return *a == *b;
}

static bool has_version(const struct ipo_elf *elf, uint32_t index, uint32_t version)
{
    if (!version || !elf->versions || !elf->defined)
        return true;
    const ElfW(Verdef) *at = elf->defined;
    for (;; at = (const ElfW(Verdef) *)(const void *)((const char *)at + at->vd_next)) {
        if (at->vd_ndx == (elf->versions[index] & 0x7fff))
            return at->vd_hash == version;
        if (!at->vd_next)
            return false;
    }
}

static bool is_match(const struct ipo_elf *elf, uint32_t index, const char *name, uint32_t version)
{
    const ElfW(Sym) *symbol = &elf->symbols[index];
    return symbol->st_shndx != SHN_UNDEF && ipo_same_text(elf->strings + symbol->st_name, name) &&
           has_version(elf, index, version);
}

static uint32_t find_by_gnu_hash(const struct ipo_elf *elf, const char *name, uint32_t version)
{
    uint32_t hash = 5381;
    for (const char *at = name; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    const uint32_t *table = elf->gnu, buckets = table[0], first = table[1];
    const uint32_t *bucket = table + 4 + table[2] * (sizeof(ElfW(Addr)) / 4), *chain = bucket + buckets;
    uint32_t index = buckets ? bucket[hash % buckets] : 0;
    if (index < first || !index)
        return 0;
    for (;; index++) {
        if ((chain[index - first] | 1) == (hash | 1) && is_match(elf, index, name, version))
            return index;
        if (chain[index - first] & 1)
            return 0;
    }
}

static uint32_t find_by_sysv_hash(const struct ipo_elf *elf, const char *name, uint32_t version)
{
    for (uint32_t index = 1; index < elf->sysv[1]; index++)
        if (is_match(elf, index, name, version))
            return index;
    return 0;
}

const ElfW(Sym) * ipo_elf_find(const struct ipo_elf *elf, const char *name, uint32_t version)
{
    if (!elf->strings || !elf->symbols || (!elf->gnu && !elf->sysv))
        return NULL;
    uint32_t index = elf->gnu ? find_by_gnu_hash(elf, name, version) : find_by_sysv_hash(elf, name, version);
    return index ? &elf->symbols[index] : NULL;
}
