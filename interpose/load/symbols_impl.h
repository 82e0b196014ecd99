/* A mapped file of machine code that is not trusted: every range is checked before it is read. */
#pragma once

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ipo_image {
    const char *bytes; /* NULL: it cannot be read */
    size_t size;
};

/* Maps a file; munmap ends it. */
struct ipo_image ipo_image_map(const char *path);

/* The bytes of a range; NULL: the file does not have them all. */
static inline const void *ipo_image_range(const struct ipo_image *image, uint64_t offset, uint64_t size)
{
    return offset <= image->size && size <= image->size - offset ? image->bytes + offset : NULL;
}

/* The header of a 64-bit ELF file; NULL: it is none. */
const ElfW(Ehdr) * ipo_image_elf(const struct ipo_image *image);

/* Address of the first loaded segment: offsets in memory count from there. */
uint64_t ipo_image_base(const struct ipo_image *image, const ElfW(Ehdr) * elf);

/* Finds the function that holds `address` in the table of symbols of this type; without one and with `nearest` the
 * last that begins before it.  `names` receives the names that its st_name counts in. */
const ElfW(Sym) * ipo_image_function(const struct ipo_image *image, uint32_t type, uint64_t address, bool nearest,
                                     struct ipo_image *names);
