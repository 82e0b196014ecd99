/* dlsym, which libtrace.so exports: how calls of programs that load NCCL themselves are seen (JAX, TensorFlow, XGBoost,
 * CuPy, ctypes).
 *
 * Everything but names of NCCL on a real handle goes on by a jump: what RTLD_NEXT and RTLD_DEFAULT mean is decided by
 * the return address, which must stay the caller's.  It may be called before our constructor, by an allocator that is
 * itself not ready: so no allocation, no lock and no call but the jump, once the real one is known. */
#include "interpose/load/dlsym.h"
#include "interpose/cuda/cupti.h"
#include "interpose/nccl/nccl.h"
#include "interpose/nccl/windows.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>

typedef void *(*lookup)(void *restrict handle, const char *restrict name);
static _Atomic(lookup) real;

/* ---- the real one: what the next object that defines the name has, as RTLD_NEXT would say.  Not by dlvsym: it
 * allocates where it fails, as one of the two versions always does (2.34 moved dlsym into libc), and other libcs lack
 * it. */

struct object {
    uintptr_t base;
    const char *strings;
    const ElfW(Sym) * symbols;
    const uint32_t *gnu, *sysv;
};

/* glibc has relocated the addresses of a dynamic section, others leave them as they are in the file. */
static const void *address(const struct object *object, uintptr_t value)
{
    return (const void *)(value < object->base ? object->base + value : value);
}

static bool is_dlsym(const struct object *object, uint32_t index)
{
    static const char name[] = "dlsym";
    const ElfW(Sym) *symbol = &object->symbols[index];
    const char *at = object->strings + symbol->st_name;
    for (unsigned i = 0; i < sizeof name; i++)
        if (at[i] != name[i])
            return false;
    return symbol->st_shndx != SHN_UNDEF;
}

static uint32_t by_gnu_hash(const struct object *object)
{
    uint32_t hash = 5381;
    for (const char *at = "dlsym"; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    const uint32_t *table = object->gnu, buckets = table[0], first = table[1];
    const uint32_t *bucket = table + 4 + table[2] * (sizeof(ElfW(Addr)) / 4), *chain = bucket + buckets;
    uint32_t index = buckets ? bucket[hash % buckets] : 0;
    if (index < first || !index)
        return 0;
    for (;; index++) {
        if ((chain[index - first] | 1) == (hash | 1) && is_dlsym(object, index))
            return index;
        if (chain[index - first] & 1)
            return 0;
    }
}

static uint32_t by_sysv_hash(const struct object *object)
{
    for (uint32_t index = 1; index < object->sysv[1]; index++)
        if (is_dlsym(object, index))
            return index;
    return 0;
}

/* In the object of this dynamic section; NULL: it has none of that name. */
static lookup in_object(uintptr_t base, const ElfW(Dyn) * dynamic)
{
    struct object object = {.base = base};
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        const void *at = address(&object, dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_STRTAB)
            object.strings = at;
        else if (dynamic->d_tag == DT_SYMTAB)
            object.symbols = at;
        else if (dynamic->d_tag == DT_GNU_HASH)
            object.gnu = at;
        else if (dynamic->d_tag == DT_HASH)
            object.sysv = at;
    }
    uint32_t index = 0;
    if (object.strings && object.symbols)
        index = object.gnu ? by_gnu_hash(&object) : object.sysv ? by_sysv_hash(&object) : 0;
    return index ? (lookup)(object.base + object.symbols[index].st_value) : NULL;
}

static void *nothing(void *restrict handle, const char *restrict name)
{
    (void)handle, (void)name;
    return NULL;
}

struct search {
    bool passed_us;
    lookup found;
};

static bool look(struct search *search, uintptr_t base, const ElfW(Dyn) * dynamic)
{
    if (search->passed_us && dynamic)
        search->found = in_object(base, dynamic);
    search->passed_us |= dynamic == _DYNAMIC;
    return search->found != NULL;
}

static int look_at_headers(struct dl_phdr_info *info, size_t size, void *search)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return look(search, info->dlpi_addr, (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr));
    return 0;
}

#pragma weak _r_debug /* other libcs lack it; and libtrace.so is not to need ld-linux.so by its name */

/* By the loader's list: dl_iterate_phdr may be the program's own, which may come back here, or a sanitizer's, which
 * does not work yet. */
static __attribute__((noinline, cold)) lookup find(void)
{
    struct search search = {false, NULL};
    const struct link_map *at = &_r_debug ? _r_debug.r_map : NULL;
    if (!at)
        dl_iterate_phdr(look_at_headers, &search);
    for (; at && !look(&search, at->l_addr, at->l_ld); at = at->l_next)
        ;
    search.found = search.found ? search.found : nothing;
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
    return known(handle, name);
}
