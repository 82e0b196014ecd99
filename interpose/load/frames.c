#include "interpose/load/frames.h"
#include "interpose/load/loader.h"

#include <stdatomic.h>

#define OBJECTS 1024u

/* Two lists: one is read while the other is written.  The version says which, and that a reader was too slow. */
static struct {
    unsigned count;
    struct ipo_library object[OBJECTS];
} list[2];
static atomic_uint version;

static int add_object(struct dl_phdr_info *info, size_t size, void *to)
{
    (void)size;
    unsigned *count = to;
    struct ipo_library found = {.begin = UINT64_MAX, .name = info->dlpi_name};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_GNU_EH_FRAME)
            found.header = start;
        if (header->p_type != PT_LOAD)
            continue;
        found.begin = start < found.begin ? start : found.begin;
        found.end = start + header->p_memsz > found.end ? start + header->p_memsz : found.end;
    }
    if (found.header && *count < OBJECTS)
        list[(atomic_load(&version) + 1) % 2].object[(*count)++] = found;
    return 0;
}

void ipo_frames_read(void)
{
    unsigned count = 0;
    ipo_loader_walk(add_object, &count);
    list[(atomic_load(&version) + 1) % 2].count = count;
    atomic_fetch_add(&version, 1);
}

bool ipo_frames_find(uint64_t address, struct ipo_library *out)
{
    unsigned read = atomic_load(&version);
    const struct ipo_library *object = list[read % 2].object;
    *out = (struct ipo_library){0};
    for (unsigned i = 0; i < list[read % 2].count && !out->header; i++)
        if (object[i].begin <= address && address < object[i].end)
            *out = object[i];
    return out->header && atomic_load(&version) == read;
}
