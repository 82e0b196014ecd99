/* Patching of GOT slots: how calls that are not exported are reached (of some MPIs, Fortran, NCCL, CUPTI). */
#include "interpose/load/slots.h"
#include "interpose/base/elf.h"
#include "interpose/base/bind.h"
#include "interpose/base/safe_read.h"
#include "interpose/core/filter.h"
#include "interpose/core/source.h"
#include "interpose/core/state.h"
#include "interpose/identity/identity.h"
#include "interpose/load/loader.h"
#include "interpose/load/names.h"
#include "interpose/load/objects.h"
#include "interpose/load/unloads.h"

#include <sys/mman.h>
#include <unistd.h>

struct patching {
    struct ipo_object object;
    struct ipo_elf elf;
    uintptr_t relro, relro_end; /* read-only since the loader has relocated the object */
    bool opened;                /* writable now */
    size_t patched;
};

static ipo_function find_wrapper(const char *text, const struct ipo_object *object, const void *bound)
{
    struct ipo_name name = ipo_name_of(text);
    ipo_function found = NULL;
    for (IPO_EACH_SOURCE(source))
        if (name.table != IPO_NO_NAMES && !found && (*source)->wrapper_of &&
            (!object->claimed || object->claimed == *source))
            found = (*source)->wrapper_of(&name, object, bound);
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

static void patch_slot(void *with, uintptr_t *slot, ipo_function wrapper)
{
    struct patching *at = with;
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
        const uint32_t type = ELF64_R_TYPE(table[i].r_info);
        if (!IPO_RELOCATES_SLOT(type) && !IPO_RELOCATES_DATA(type))
            continue;
        const ElfW(Sym) *symbol = &at->elf.symbols[ELF64_R_SYM(table[i].r_info)];
        const char *name = at->elf.strings + symbol->st_name;
        if (symbol->st_shndx != SHN_UNDEF || !ipo_name_begins(name))
            continue;
        uintptr_t *slot = (uintptr_t *)(at->elf.base + table[i].r_offset);
        ipo_function wrapper = find_wrapper(name, &at->object, (const void *)*slot);
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

struct walk {
    bool anyway, came;
    unsigned first, index;  /* objects before number `first` are skipped */
    const ElfW(Dyn) * only; /* the one that has this dynamic section; NULL: all others */
    size_t patched;
};

static void patch_object(const struct dl_phdr_info *info, struct walk *walk)
{
    struct link_map map = {.l_addr = info->dlpi_addr};
    struct patching at = {.object.base = info->dlpi_addr};
    if (!claim_object(&at.object, info->dlpi_name))
        return;
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
        return;
    at.object.start = (const void *)start;
    ipo_elf_of(&map, &at.elf);
    if (at.elf.strings && at.elf.symbols) {
        patch_table(&at, at.elf.plt, at.elf.plt_n);
        patch_table(&at, at.elf.rela, at.elf.rela_n);
        IPO_ASK_SOURCES(tables, &at.elf, patch_slot, &at);
    }
    if (at.opened)
        protect_slots(&at, PROT_READ);
    walk->patched += at.patched;
}

static bool has_dynamic(const struct dl_phdr_info *info, const ElfW(Dyn) * dynamic)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return info->dlpi_addr + info->dlpi_phdr[i].p_vaddr == (uintptr_t)dynamic;
    return false;
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *with)
{
    struct walk *walk = with;
    bool wanted = walk->only ? has_dynamic(info, walk->only) : walk->index++ >= walk->first;
    (void)size;
    if (wanted)
        patch_object(info, walk);
    return walk->only && wanted;
}

/* An object of the loader's list.  Its program headers mostly follow the file's header, at the beginning of its memory;
 * else dl_iterate_phdr has them, at the cost of a walk. */
static void patch_map(const struct link_map *map, struct walk *walk)
{
    struct {
        ElfW(Ehdr) elf;
        ElfW(Phdr) headers[16];
    } begin;
    struct dl_phdr_info info = {.dlpi_addr = map->l_addr, .dlpi_name = map->l_name, .dlpi_phdr = begin.headers};
    if (!ipo_filter_is_there() && ipo_safe_read(map->l_addr, &begin, sizeof begin) &&
        memcmp(begin.elf.e_ident, ELFMAG, SELFMAG) == 0 && begin.elf.e_phoff == sizeof begin.elf &&
        begin.elf.e_phnum <= sizeof begin.headers / sizeof *begin.headers)
        info.dlpi_phnum = begin.elf.e_phnum;
    if (has_dynamic(&info, map->l_ld)) {
        patch_object(&info, walk);
        return;
    }
    walk->only = map->l_ld;
    ipo_loader_walk(look_at_object, walk);
    walk->only = NULL;
}

/* The state at the last walk: how many objects were loaded and unloaded, and what the sources had found. */
struct seen {
    unsigned long long loads, unloads;
    unsigned found;
};

static struct seen read_seen(void)
{
    struct seen now = {0};
    now.loads = ipo_object_loads(&now.unloads);
    for (IPO_EACH_SOURCE(source))
        if ((*source)->found_n)
            now.found = now.found * 256 + (*source)->found_n();
    return now;
}

static struct seen last; /* written under the loader's lock; other readers may get an old value */
static unsigned read_n;  /* number of objects that the last walk met; under the lock */
static bool is_new(const struct seen *now)
{
    return !now->loads || now->loads != __atomic_load_n(&last.loads, __ATOMIC_ACQUIRE) || now->found != last.found;
}

/* Number of the first object that the last walk has not read.  The loader appends objects to its list.  So the read
 * objects are its first ones, as many as the walk met, less the ones unloaded since; also where another one has an
 * unloaded one's address. */
static unsigned find_first(const struct walk *walk, const struct seen *now)
{
    unsigned long long gone = now->unloads - last.unloads;
    bool all = walk->anyway || !now->loads || now->found != last.found || gone > read_n;
    return all ? 0 : read_n - (unsigned)gone;
}

static void read_objects(struct walk *walk, unsigned first)
{
    const struct link_map *map = ipo_elf_first();
    walk->first = first;
    walk->index = 0;
    IPO_ASK_SOURCES(before_walk, first);
    if (!map)
        ipo_loader_walk(look_at_object, walk);
    for (; map; map = map->l_next)
        if (walk->index++ >= first)
            patch_map(map, walk);
    read_n = walk->index;
}

/* Under the loader's lock: all objects are relocated then, and none goes away. */
static void patch_all(void *with)
{
    static atomic_flag busy = ATOMIC_FLAG_INIT; /* a libc without such a lock */
    struct walk *walk = with;
    struct seen now = read_seen();
    walk->came = is_new(&now);
    if ((!walk->came && !walk->anyway) || atomic_flag_test_and_set(&busy))
        return;
    ipo_unloads_note(now.unloads); /* before a function of a new object can be called */
    read_objects(walk, find_first(walk, &now));
    bool more = false;
    for (IPO_EACH_SOURCE(source))
        more |= (*source)->after_walk && (*source)->after_walk();
    if (more)
        read_objects(walk, 0);
    last.found = now.found;
    last.unloads = now.unloads;
    /* Last: until now another thread that finds nothing new may call a function that it has just loaded. */
    __atomic_store_n(&last.loads, now.loads, __ATOMIC_RELEASE);
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
 * MPI_Session_init, and for the calls of a tool in front of us.  In other processes it does nothing, not even call
 * dlsym: one that fails allocates, and the program's malloc may not be ready. */
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
