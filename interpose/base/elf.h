/* The loader's list of objects and their symbols, read without a call: where none may be made (dlsym.c), or where the
 * program's own function would be reached by it (bind.c).  The list must not change meanwhile. */
#ifndef IPO_ELF_H
#define IPO_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct ipo_elf {
    uintptr_t base;
    const char *strings, *soname;
    const ElfW(Sym) * symbols;
    const uint32_t *gnu, *sysv;
    const ElfW(Half) * versions; /* of each symbol */
    const ElfW(Verdef) * defined;
    const ElfW(Verneed) * needed;
    const ElfW(Rela) * rela, *plt;
    size_t rela_n, plt_n;
};

/* First of the list, NULL where that is not known. */
const struct link_map *ipo_elf_first(void);
void ipo_elf_of(const struct link_map *map, struct ipo_elf *out);
bool ipo_elf_is_ours(const struct link_map *map);

bool ipo_same_text(const char *a, const char *b);
/* A symbol that this object defines, NULL if it does not.  `version`: the hash of its version's name; 0: any. */
const ElfW(Sym) * ipo_elf_find(const struct ipo_elf *elf, const char *name, uint32_t version);

#endif
