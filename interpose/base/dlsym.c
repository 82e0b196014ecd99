/* Finds dlsym in the next object that defines it, as RTLD_NEXT would.  Not by dlvsym: it allocates when it fails,
 * and for one of two versions it always fails (glibc 2.34 moved dlsym into libc); other libcs lack it. */
#include "interpose/base/dlsym.h"
#include "interpose/base/elf.h"

#include <link.h>

ipo_lookup ipo_dlsym_found;

static void *find_nothing(void *restrict handle, const char *restrict name)
{
    (void)handle, (void)name;
    return NULL;
}

struct search {
    bool passed_us;
    ipo_lookup found;
};

static bool find_in_object(const struct link_map *map, struct search *search)
{
    struct ipo_elf elf;
    if (!search->passed_us || ipo_elf_is_ours(map)) {
        search->passed_us |= ipo_elf_is_ours(map);
        return false;
    }
    ipo_elf_of(map, &elf);
    const ElfW(Sym) *symbol = ipo_elf_find(&elf, "dlsym", 0);
    if (symbol)
        search->found = (ipo_lookup)(elf.base + symbol->st_value);
    return symbol != NULL;
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *search)
{
    (void)size;
    struct link_map map = {.l_addr = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            map.l_ld = (ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return map.l_ld && find_in_object(&map, search);
}

/* Reads the loader's list without a call: dl_iterate_phdr may be the program's own, which asks for the real one by
 * dlsym and so would come back here. */
__attribute__((cold)) ipo_lookup ipo_dlsym_find(void)
{
    struct search search = {false, find_nothing};
    const struct link_map *map = ipo_elf_first();
    if (!map)
        dl_iterate_phdr(look_at_object, &search);
    while (map && !find_in_object(map, &search))
        map = map->l_next;
    __atomic_store_n(&ipo_dlsym_found, search.found, __ATOMIC_RELEASE);
    return search.found;
}

/* Runs while there is only one thread: nothing protects the loader's list from changes by others. */
__attribute__((constructor)) static void find_early(void)
{
    ipo_system_dlsym();
}

void *ipo_dlsym(void *restrict handle, const char *restrict name)
{
    return ipo_system_dlsym()(handle, name);
}
