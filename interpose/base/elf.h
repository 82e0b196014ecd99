/* The loader's list of objects and their symbols, read without a call of the loader.  dlsym.c may make no such call; a
 * call of bind.c would reach the program's own function.  The caller sees to it that the list does not change. */
#pragma once

#include "interpose/base/ours.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* The tables of a loaded object; NULL or 0 where it has none.  They belong to the object. */
struct ipo_elf {
    uintptr_t base; /* added to the file's addresses */
    const char *strings, *soname;
    const ElfW(Sym) * symbols;
    const uint32_t *gnu, *sysv;
    const ElfW(Half) * versions; /* a version a symbol */
    const ElfW(Verdef) * defined;
    const ElfW(Verneed) * needed;
    const ElfW(Rela) * rela, *plt; /* relative relocations, the first ones, left out */
    size_t rela_n, plt_n;
};

/* The first object of the loader's list; NULL where the list cannot be found. */
const struct link_map *ipo_elf_first(void);
/* Fills `out` from the dynamic section of an object. */
void ipo_elf_of(const struct link_map *map, struct ipo_elf *out);
/* Whether the object is libtrace.so. */
bool ipo_elf_is_ours(const struct link_map *map);

/* The first byte of libtrace.so, and the byte behind its last one; the linker defines both. */
extern IPO_OURS const ElfW(Ehdr) __ehdr_start;
extern IPO_OURS const char _end[];
/* Whether an address lies in libtrace.so. */
static inline bool ipo_is_ours(const void *address)
{
    uintptr_t begin = (uintptr_t)&__ehdr_start;
    return (uintptr_t)address - begin < (uintptr_t)_end - begin;
}

/* Whether two strings are equal.  Calls nothing, so it may run before libtrace.so is relocated. */
bool ipo_same_text(const char *a, const char *b);
/* The symbol of this name that the object defines, NULL if there is none; it belongs to the object.  `version`: hash of
 * the name of the wanted version, 0 for any. */
const ElfW(Sym) * ipo_elf_find(const struct ipo_elf *elf, const char *name, uint32_t version);
