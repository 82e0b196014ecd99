#include "interpose/load/symbols.h"
#include "interpose/load/symbols_impl.h"
#include "trace/writer/system.h"

#include <string.h>

#define NEAR_MOST 0x4000 /* most bytes from the nearest name: farther, it is as likely of something else */

struct ipo_image ipo_image_map(const char *path)
{
    struct ipo_image image = {0};
    int fd = trc_sys_open(path);
    if (fd < 0)
        return image;
    off_t size = lseek(fd, 0, SEEK_END); /* fstat has a newer symbol version than we may use */
    if (size > 0) {
        void *bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED)
            image = (struct ipo_image){.bytes = bytes, .size = (size_t)size};
    }
    trc_sys_close(fd);
    return image;
}

const ElfW(Ehdr) * ipo_image_elf(const struct ipo_image *image)
{
    const ElfW(Ehdr) *elf = image->bytes ? ipo_image_range(image, 0, sizeof *elf) : NULL;
    return elf && !memcmp(elf->e_ident, ELFMAG, SELFMAG) && elf->e_ident[EI_CLASS] == ELFCLASS64 ? elf : NULL;
}

/* Section of a type with its entries inside the file. */
static const ElfW(Shdr) * find_section(const struct ipo_image *image, const ElfW(Ehdr) * elf, uint32_t type)
{
    const ElfW(Shdr) *table = ipo_image_range(image, elf->e_shoff, (uint64_t)elf->e_shnum * sizeof *table);
    for (unsigned i = 0; table && i < elf->e_shnum; i++)
        if (table[i].sh_type == type && ipo_image_range(image, table[i].sh_offset, table[i].sh_size) &&
            table[i].sh_link < elf->e_shnum)
            return &table[i];
    return NULL;
}

uint64_t ipo_image_base(const struct ipo_image *image, const ElfW(Ehdr) * elf)
{
    const ElfW(Phdr) *headers = ipo_image_range(image, elf->e_phoff, (uint64_t)elf->e_phnum * sizeof *headers);
    for (unsigned i = 0; headers && i < elf->e_phnum; i++)
        if (headers[i].p_type == PT_LOAD)
            return headers[i].p_vaddr & ~(uint64_t)4095;
    return 0;
}

const ElfW(Sym) * ipo_image_function(const struct ipo_image *image, uint32_t type, uint64_t address, bool nearest,
                                     struct ipo_image *names)
{
    const ElfW(Ehdr) *elf = ipo_image_elf(image);
    const ElfW(Shdr) *symtab = elf ? find_section(image, elf, type) : NULL;
    if (!symtab)
        return NULL;
    const ElfW(Shdr) *strings = (const ElfW(Shdr) *)ipo_image_range(image, elf->e_shoff, 1) + symtab->sh_link;
    const ElfW(Sym) *symbols = ipo_image_range(image, symtab->sh_offset, symtab->sh_size), *below = NULL;
    *names = (struct ipo_image){ipo_image_range(image, strings->sh_offset, strings->sh_size), strings->sh_size};
    const ElfW(Sym) *best = NULL;
    for (size_t i = 0; names->bytes && i < symtab->sh_size / sizeof *symbols; i++) {
        const ElfW(Sym) *symbol = &symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || symbol->st_value > address ||
            symbol->st_name >= names->size)
            continue;
        if (address < symbol->st_value + symbol->st_size)
            best = symbol;
        else if (nearest && (!below || below->st_value < symbol->st_value))
            below = symbol;
    }
    return best ? best : below;
}

/* Finds the function that holds `offset`; without one and with `nearest` the last one that begins at most NEAR_MOST
 * bytes before it. */
static uint64_t search_table(const struct ipo_image *image, uint32_t type, uint64_t offset, char *out, size_t out_size,
                             bool nearest)
{
    const ElfW(Ehdr) *elf = ipo_image_elf(image);
    const uint64_t address = elf ? offset + ipo_image_base(image, elf) : 0;
    struct ipo_image names;
    const ElfW(Sym) *best = ipo_image_function(image, type, address, nearest, &names);
    if (!best || (nearest && address - best->st_value > NEAR_MOST))
        return UINT64_MAX;
    size_t n = strnlen(names.bytes + best->st_name, names.size - best->st_name);
    if (n >= out_size)
        n = out_size - 1;
    memcpy(out, names.bytes + best->st_name, n);
    out[n] = 0;
    return address - best->st_value;
}

uint64_t ipo_symbol_of(const char *module, uint64_t offset, char *out, size_t out_size, bool *near)
{
    struct ipo_image image = ipo_image_map(module);
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
    struct ipo_image image = ipo_image_map(module);
    const ElfW(Ehdr) *elf = ipo_image_elf(&image);
    const ElfW(Phdr) *headers =
        elf ? ipo_image_range(&image, elf->e_phoff, (uint64_t)elf->e_phnum * sizeof *headers) : NULL;
    const unsigned char *id = NULL;
    uint32_t n = 0;
    for (unsigned i = 0; headers && i < elf->e_phnum && !id; i++) {
        const char *notes = ipo_image_range(&image, headers[i].p_offset, headers[i].p_filesz);
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
