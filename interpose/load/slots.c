/* Patching of GOT slots: how calls that are not exported are reached (of some MPIs, Fortran, NCCL, CUPTI). */
#include "interpose/base/oldglibc.h"
#include "interpose/load/slots.h"
#include "interpose/base/elf.h"
#include "interpose/base/bind.h"
#include "interpose/core/source.h"
#include "interpose/core/state.h"
#include "interpose/identity/identity.h"
#include "interpose/load/loader.h"
#include "interpose/load/objects.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define SLOT_RELOCATION(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT || (type) == R_X86_64_64)
#else
#define SLOT_RELOCATION(type)                                                                                          \
    ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT || (type) == R_AARCH64_ABS64)
#endif

struct patching {
    struct ipo_object object;
    struct ipo_elf elf;
    uintptr_t relro, relro_end; /* what the loader has made read-only after it relocated the object */
    bool opened;                /* that range is writable now */
    size_t patched;
};

static ipo_function find_wrapper(const char *name, const struct ipo_object *object, const void *bound)
{
    ipo_function found = NULL;
    for (IPO_EACH_SOURCE(source))
        if (!found && (*source)->wrapper_of && (!object->claimed || object->claimed == *source))
            found = (*source)->wrapper_of(name, object, bound);
    return found;
}

static bool is_foreign(const struct ipo_object *object, const void *bound)
{
    bool foreign = false;
    for (IPO_EACH_SOURCE(source))
        foreign |= (*source)->foreign && (*source)->foreign(object->base, bound);
    return foreign;
}

static bool protect_slots(const struct patching *at, int protection)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = at->relro & ~(page - 1);
    uintptr_t end = at->relro_end & ~(page - 1);
    return start >= end || mprotect((void *)start, end - start, protection) == 0;
}

static void patch_slot(struct patching *at, uintptr_t *slot, ipo_function wrapper)
{
    bool protected = (uintptr_t)slot >= at->relro && (uintptr_t)slot < at->relro_end;
    if (protected && !at->opened)
        at->opened = protect_slots(at, PROT_READ | PROT_WRITE);
    if (protected && !at->opened)
        return;
    __atomic_store_n(slot, (uintptr_t)wrapper, __ATOMIC_RELEASE);
    at->patched++;
}

static void patch_table(struct patching *at, const ElfW(Rela) * table, size_t n)
{
    for (size_t i = 0; table && i < n; i++) {
        if (!SLOT_RELOCATION(ELF64_R_TYPE(table[i].r_info)))
            continue;
        const ElfW(Sym) *symbol = &at->elf.symbols[ELF64_R_SYM(table[i].r_info)];
        if (symbol->st_shndx != SHN_UNDEF)
            continue;
        uintptr_t *slot = (uintptr_t *)(at->elf.base + table[i].r_offset);
        ipo_function wrapper = find_wrapper(at->elf.strings + symbol->st_name, &at->object, (const void *)*slot);
        /* An empty slot is a weak name that the program tests: it stays empty. */
        if (wrapper && *slot && *slot != (uintptr_t)wrapper && !is_foreign(&at->object, (const void *)*slot))
            patch_slot(at, slot, wrapper);
    }
}

/* Asks the sources whose an object is.  False: its slots stay as they are. */
static bool claim_object(struct ipo_object *object, const char *path)
{
    if (!*path) /* the program, or a library without a name */
        return true;
    enum ipo_claim claimed = strstr(path, "linux-vdso") ? IPO_LEFT_ALONE : IPO_UNCLAIMED;
    for (IPO_EACH_SOURCE(source))
        if (claimed == IPO_UNCLAIMED && (*source)->claim) {
            claimed = (*source)->claim(path);
            object->claimed = claimed == IPO_MINE ? *source : NULL;
        }
    return claimed != IPO_LEFT_ALONE;
}

static int patch_object(struct dl_phdr_info *info, size_t size, void *patched)
{
    (void)size;
    struct link_map map = {.l_addr = info->dlpi_addr};
    struct patching at = {.object.base = info->dlpi_addr};
    if (!claim_object(&at.object, info->dlpi_name))
        return 0;
    uintptr_t start = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t address = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_DYNAMIC)
            map.l_ld = (ElfW(Dyn) *)address;
        if (header->p_type == PT_LOAD && !start)
            start = address & ~(uintptr_t)4095;
        if (header->p_type == PT_GNU_RELRO) {
            at.relro = address;
            at.relro_end = address + header->p_memsz;
        }
    }
    if (!map.l_ld || ipo_elf_is_ours(&map))
        return 0;
    at.object.start = (const void *)start;
    ipo_elf_of(&map, &at.elf);
    if (at.elf.strings && at.elf.symbols) {
        patch_table(&at, at.elf.plt, at.elf.plt_n);
        patch_table(&at, at.elf.rela, at.elf.rela_n);
    }
    if (at.opened)
        protect_slots(&at, PROT_READ);
    *(size_t *)patched += at.patched;
    return 0;
}

/* The state at the last walk: how many objects were loaded, and what the sources had found. */
struct seen {
    unsigned long long loads;
    unsigned found;
};

static struct seen read_seen(void)
{
    struct seen now = {.loads = ipo_object_loads()};
    for (IPO_EACH_SOURCE(source))
        if ((*source)->found_n)
            now.found = now.found * 256 + (*source)->found_n();
    return now;
}

static struct seen last; /* written under the loader's lock; other readers may get an old value */
static bool is_new(const struct seen *now)
{
    return !now->loads || now->loads != __atomic_load_n(&last.loads, __ATOMIC_ACQUIRE) || now->found != last.found;
}

struct walk {
    bool anyway, came;
    size_t patched;
};

/* Under the loader's lock: all objects are relocated then, and none goes away. */
static void patch_all(void *with)
{
    static atomic_flag busy = ATOMIC_FLAG_INIT; /* where there is no such lock */
    struct walk *walk = with;
    struct seen now = read_seen();
    walk->came = is_new(&now);
    if ((!walk->came && !walk->anyway) || atomic_flag_test_and_set(&busy))
        return;
    last.found = now.found;
    __atomic_store_n(&last.loads, now.loads, __ATOMIC_RELEASE);
    IPO_ASK_SOURCES(before_walk);
    ipo_loader_walk(patch_object, &walk->patched);
    bool more = false;
    for (IPO_EACH_SOURCE(source))
        more |= (*source)->after_walk && (*source)->after_walk();
    if (more)
        ipo_loader_walk(patch_object, &walk->patched);
    atomic_flag_clear(&busy);
}

static struct walk patch_new(bool anyway)
{
    struct walk done = {.anyway = anyway};
    struct seen now = read_seen();
    if (anyway || is_new(&now))
        ipo_loader_run(patch_all, &done);
    return done;
}

size_t ipo_patch_slots(void)
{
    return patch_new(false).patched;
}

bool ipo_patch_new(bool anyway)
{
    return patch_new(anyway).came;
}

/* Before main, sets slots in a process that is linked with MPI or NCCL: for calls that are not exported, such as
 * MPI_Session_init, and for those of a tool in front of us.  In other processes it does nothing, not even call dlsym:
 * one that fails allocates, and the program's malloc may not be ready. */
__attribute__((constructor)) static void patch_early(void)
{
    bool linked = false, found = false;
    for (IPO_EACH_SOURCE(source))
        linked |= (*source)->linked && (*source)->linked();
    if (!linked || ipo_is_privileged())
        return;
    ipo_bind();
    ipo_options_read(&ipo_process.options);
    if (ipo_process.options.disable)
        return;
    for (IPO_EACH_SOURCE(source))
        found |= (*source)->linked && (*source)->linked() && (*source)->find(NULL);
    if (found)
        ipo_process.patched = ipo_patch_slots();
}
