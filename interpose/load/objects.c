#include "interpose/load/objects.h"
#include "interpose/base/elf.h"
#include "interpose/load/loader.h"

#include <dlfcn.h>
#include <string.h>

const void *ipo_object_base(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fbase : NULL;
}

struct search {
    uintptr_t address;
    struct ipo_range range;
};

static int match_address(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    struct search *search = out;
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD)
            continue;
        low = start < low ? start : low;
        high = start + header->p_memsz > high ? start + header->p_memsz : high;
    }
    if (search->address < low || search->address >= high)
        return 0;
    search->range = (struct ipo_range){low, high - low};
    return 1;
}

struct ipo_range ipo_object_range(uintptr_t address)
{
    struct search search = {.address = address, .range = {address & ~(uintptr_t)4095, 4096}};
    ipo_loader_walk(match_address, &search);
    return search.range;
}

static int count_loads(struct dl_phdr_info *info, size_t size, void *out)
{
    unsigned long long *counts = out;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        counts[0] = info->dlpi_adds;
        counts[1] = info->dlpi_subs;
    }
    return 1;
}

unsigned long long ipo_object_loads(unsigned long long *unloads)
{
    unsigned long long counts[2] = {0};
    ipo_loader_walk(count_loads, counts);
    if (unloads)
        *unloads = counts[1];
    return counts[0];
}

struct list {
    struct ipo_object_names *names;
    unsigned first, index;
};

static int collect_name(struct dl_phdr_info *info, size_t size, void *to)
{
    (void)size;
    struct list *list = to;
    struct ipo_object_names *names = list->names;
    bool wanted = list->index++ >= list->first && names->n < IPO_MAX_OBJECTS && !ipo_is_ours((void *)info->dlpi_phdr);
    size_t n = wanted ? strlen(info->dlpi_name) : 0;
    if (n > 0 && n < sizeof names->name[0])
        memcpy(names->name[names->n++], info->dlpi_name, n + 1);
    return 0;
}

void ipo_objects_list(struct ipo_object_names *names, unsigned first)
{
    struct list list = {.names = names, .first = first};
    names->n = 0;
    ipo_loader_walk(collect_name, &list);
}

void *ipo_symbol_in(void *handle, const char *name)
{
    void *found = handle ? dlsym(handle, name) : NULL;
    return found && !ipo_is_ours(found) ? found : NULL;
}

void *ipo_object_open(const void *address)
{
    Dl_info info;
    if (!address || ipo_is_ours(address) || !dladdr(address, &info) || !info.dli_fname)
        return NULL;
    void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return handle ? handle : dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD); /* the program itself has no name */
}

void *ipo_scope_with(const char *name)
{
    static struct ipo_object_names names;
    ipo_objects_list(&names, 0);
    for (unsigned i = 0; i < names.n; i++) {
        void *handle = dlopen(names.name[i], RTLD_LAZY | RTLD_NOLOAD);
        if (ipo_symbol_in(handle, name))
            return handle;
        if (handle)
            dlclose(handle);
    }
    return NULL;
}
