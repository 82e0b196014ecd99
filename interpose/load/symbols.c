#include "interpose/base/oldglibc.h"
#include "interpose/load/symbols.h"
#include "trace/writer/system.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A mapped file that is not trusted: every range is checked before it is read. */
struct image {
    const char *bytes;
    size_t size;
};

static const void *get_range(const struct image *image, uint64_t offset, uint64_t size)
{
    return offset <= image->size && size <= image->size - offset ? image->bytes + offset : NULL;
}

static struct image map_file(const char *path)
{
    struct image image = {0};
    int fd = trc_sys_open(path);
    if (fd < 0)
        return image;
    off_t size = lseek(fd, 0, SEEK_END); /* fstat has a newer symbol version than we may use */
    if (size > 0) {
        void *bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED)
            image = (struct image){.bytes = bytes, .size = (size_t)size};
    }
    trc_sys_close(fd);
    return image;
}

/* Section of a type with its entries inside the file. */
static const ElfW(Shdr) * find_section(const struct image *image, const ElfW(Ehdr) * elf, uint32_t type)
{
    const ElfW(Shdr) *table = get_range(image, elf->e_shoff, (uint64_t)elf->e_shnum * sizeof *table);
    for (unsigned i = 0; table && i < elf->e_shnum; i++)
        if (table[i].sh_type == type && get_range(image, table[i].sh_offset, table[i].sh_size) &&
            table[i].sh_link < elf->e_shnum)
            return &table[i];
    return NULL;
}

/* The first loaded segment's address: what offsets in memory are counted from. */
static uint64_t find_load_base(const struct image *image, const ElfW(Ehdr) * elf)
{
    const ElfW(Phdr) *headers = get_range(image, elf->e_phoff, (uint64_t)elf->e_phnum * sizeof *headers);
    for (unsigned i = 0; headers && i < elf->e_phnum; i++)
        if (headers[i].p_type == PT_LOAD)
            return headers[i].p_vaddr & ~(uint64_t)4095;
    return 0;
}

/* Finds the function that holds `offset`; without one and with `nearest` the last function that begins before it. */
static uint64_t search_table(const struct image *image, uint32_t type, uint64_t offset, char *out, size_t out_size,
                             bool nearest)
{
    const ElfW(Ehdr) *elf = get_range(image, 0, sizeof *elf);
    if (!elf || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_ident[EI_CLASS] != ELFCLASS64)
        return UINT64_MAX;
    const ElfW(Shdr) *symtab = find_section(image, elf, type);
    if (!symtab)
        return UINT64_MAX;
    const ElfW(Shdr) *strings = (const ElfW(Shdr) *)get_range(image, elf->e_shoff, 1) + symtab->sh_link;
    const char *names = get_range(image, strings->sh_offset, strings->sh_size);
    const ElfW(Sym) *symbols = get_range(image, symtab->sh_offset, symtab->sh_size), *best = NULL, *below = NULL;
    uint64_t address = offset + find_load_base(image, elf);
    for (size_t i = 0; names && i < symtab->sh_size / sizeof *symbols; i++) {
        const ElfW(Sym) *symbol = &symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || symbol->st_value > address ||
            symbol->st_name >= strings->sh_size)
            continue;
        if (address < symbol->st_value + symbol->st_size)
            best = symbol;
        else if (nearest && (!below || below->st_value < symbol->st_value))
            below = symbol;
    }
    best = best ? best : below;
    if (!best)
        return UINT64_MAX;
    size_t room = strings->sh_size - best->st_name, n = strnlen(names + best->st_name, room);
    if (n >= out_size)
        n = out_size - 1;
    memcpy(out, names + best->st_name, n);
    out[n] = 0;
    return address - best->st_value;
}

uint64_t ipo_symbol_of(const char *module, uint64_t offset, char *out, size_t out_size, bool *near)
{
    struct image image = map_file(module);
    bool unknown = false;
    if (!image.bytes)
        return UINT64_MAX;
    uint64_t into = search_table(&image, SHT_SYMTAB, offset, out, out_size, false);
    if (into == UINT64_MAX) /* stripped: exported functions still have names */
        into = search_table(&image, SHT_DYNSYM, offset, out, out_size, false);
    if (into == UINT64_MAX && near) {
        into = search_table(&image, SHT_DYNSYM, offset, out, out_size, true);
        unknown = into != UINT64_MAX;
    }
    if (near)
        *near = unknown;
    munmap((void *)(uintptr_t)image.bytes, image.size);
    return into;
}

/* The identity that the linker gave, out of the notes of a segment. */
static const unsigned char *find_id(const char *notes, size_t size, uint32_t *n)
{
    const ElfW(Nhdr) * note;
    for (size_t here = 0, all; size - here >= sizeof *note; here += all) {
        note = (const void *)(notes + here);
        uint64_t name = ((uint64_t)note->n_namesz + 3) & ~3ull, text = ((uint64_t)note->n_descsz + 3) & ~3ull;
        if (name + text > size - here - sizeof *note)
            return NULL;
        all = (size_t)(sizeof *note + name + text);
        const char *owner = (const char *)(note + 1);
        *n = note->n_descsz;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(owner, "GNU", 4))
            return (const unsigned char *)owner + name;
    }
    return NULL;
}

bool ipo_build_id_of(const char *module, char *out, size_t out_size)
{
    struct image image = map_file(module);
    const ElfW(Ehdr) *elf = image.bytes ? get_range(&image, 0, sizeof *elf) : NULL;
    bool ours = elf && !memcmp(elf->e_ident, ELFMAG, SELFMAG) && elf->e_ident[EI_CLASS] == ELFCLASS64;
    const ElfW(Phdr) *headers = ours ? get_range(&image, elf->e_phoff, (uint64_t)elf->e_phnum * sizeof *headers) : NULL;
    const unsigned char *id = NULL;
    uint32_t n = 0;
    for (unsigned i = 0; headers && i < elf->e_phnum && !id; i++) {
        const char *notes = get_range(&image, headers[i].p_offset, headers[i].p_filesz);
        if (headers[i].p_type == PT_NOTE && notes && headers[i].p_offset % 4 == 0)
            id = find_id(notes, headers[i].p_filesz, &n);
    }
    size_t used = 0;
    for (uint32_t i = 0; id && i < n && used + 3 <= out_size; i++) {
        out[used++] = "0123456789abcdef"[id[i] >> 4];
        out[used++] = "0123456789abcdef"[id[i] & 15];
    }
    out[used] = 0;
    if (image.bytes)
        munmap((void *)(uintptr_t)image.bytes, image.size);
    return used > 0;
}
