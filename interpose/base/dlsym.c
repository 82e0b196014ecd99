/* dlsym, which libtrace.so exports: how calls of programs that load NCCL themselves are seen (JAX, TensorFlow, XGBoost,
 * CuPy, ctypes).
 *
 * Everything but names of NCCL on a real handle goes on by a jump: what RTLD_NEXT and RTLD_DEFAULT mean is decided by
 * the return address, which must stay the caller's.  It may be called before our constructor, by an allocator that is
 * itself not ready: so no allocation, no lock and no call but the jump, once the real one is known. */
#include "interpose/base/dlsym.h"
#include "interpose/cuda/cupti.h"
#include "interpose/nccl/nccl.h"
#include "interpose/nccl/windows.h"
#include "interpose/base/elf.h"
#include "interpose/load/loads.h"
#include "interpose/mpi/several.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>

typedef void *(*lookup)(void *restrict handle, const char *restrict name);
static _Atomic(lookup) real;

/* ---- the real one: what the next object that defines the name has, as RTLD_NEXT would say.  Not by dlvsym: it
 * allocates where it fails, as one of the two versions always does (2.34 moved dlsym into libc), and other libcs lack
 * it. */

static void *nothing(void *restrict handle, const char *restrict name)
{
    (void)handle, (void)name;
    return NULL;
}

struct search {
    bool passed_us;
    lookup found;
};

static bool look_at(const struct link_map *map, struct search *search)
{
    struct ipo_elf elf;
    if (!search->passed_us || ipo_elf_is_ours(map)) {
        search->passed_us |= ipo_elf_is_ours(map);
        return false;
    }
    ipo_elf_of(map, &elf);
    const ElfW(Sym) *symbol = ipo_elf_find(&elf, "dlsym", 0);
    if (symbol)
        search->found = (lookup)(elf.base + symbol->st_value);
    return symbol != NULL;
}

static int look(struct dl_phdr_info *info, size_t size, void *search)
{
    (void)size;
    struct link_map map = {.l_addr = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            map.l_ld = (ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return map.l_ld && look_at(&map, search);
}

/* By the loader's list, read without a call: dl_iterate_phdr may be the program's own, which asks for the real one by
 * dlsym and so would come back here. */
static __attribute__((noinline, cold)) lookup find(void)
{
    struct search search = {false, nothing};
    const struct link_map *map = ipo_elf_first();
    if (!map)
        dl_iterate_phdr(look, &search);
    while (map && !look_at(map, &search))
        map = map->l_next;
    atomic_store_explicit(&real, search.found, memory_order_release);
    return search.found;
}

static inline lookup system_dlsym(void)
{
    lookup known = atomic_load_explicit(&real, memory_order_acquire);
    return __builtin_expect(known != NULL, 1) ? known : find();
}

/* While there is one thread: nothing holds the loader's list still. */
__attribute__((constructor)) static void find_early(void)
{
    system_dlsym();
}

/* ---- ours */

void *ipo_dlsym(void *restrict handle, const char *restrict name)
{
    return system_dlsym()(handle, name);
}

/* What every copy of the CUDA runtime asks the driver's library for first. */
static inline bool is_of_driver(const char *name)
{
    const char *wanted = "cuGetProcAddress"; /* or with _v2 */
    while (*wanted && *name == *wanted)
        wanted++, name++;
    return !*wanted;
}

/* The program's. */
__attribute__((visibility("default"))) void *dlsym(void *restrict handle, const char *restrict name)
{
    lookup known = system_dlsym();
    if (__builtin_expect(name[0] == 'n' && name[1] == 'c' && name[2] == 'c' && name[3] == 'l', 0) &&
        handle != RTLD_DEFAULT && handle != RTLD_NEXT)
        return ipo_nccl_looked_up(handle, name);
    if (__builtin_expect(name[0] == 'c' && name[1] == 'u', 0)) {
        if (is_of_driver(name))
            ipo_cuda_coming();
        if (name[2] == 'p' && name[3] == 't' && name[4] == 'i' && handle != RTLD_DEFAULT && handle != RTLD_NEXT)
            return ipo_cupti_looked_up(handle, name);
    }
    if (__builtin_expect(ipo_mpi_home != NULL, 0) && handle != RTLD_DEFAULT && handle != RTLD_NEXT)
        ipo_loads_look();
    return known(handle, name);
}
