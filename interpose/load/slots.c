/* GOT patching: how calls that only some MPIs have are reached (ipo_patch_slots). */
#include "interpose/base/oldglibc.h"
#include "interpose/cuda/cupti.h"
#include "interpose/fortran/fortran.h"
#include "interpose/stacks/guard.h"
#include "interpose/nccl/nccl.h"
#include "interpose/nccl/windows.h"
#include "interpose/mpi/resolve.h"
#include "interpose/mpi/several.h"
#include "interpose/load/loader.h"
#include "interpose/mpi/memo.h"

#include <dlfcn.h>
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

struct object {
    uintptr_t base;
    const char *strings;
    const ElfW(Sym) * symbols;
    uintptr_t relro, relro_end;
    const void *start; /* of its first segment */
    bool is_tool;
    bool has_nccl; /* it is an NCCL whose calls have wrappers */
    bool opened;   /* what is read-only in it can be written now */
    size_t patched;
};

/* Objects in front of us that define MPI calls of their own: another tool, or a program with wrappers in it.  What they
 * pass on goes to PMPI, past us, unless their slots of those names lead here. */
#define MAX_TOOLS 8
static const void *tools[MAX_TOOLS];
static unsigned tools_n;

static void find_tools(void)
{
    const void *mpi = ipo_object_base((const void *)(uintptr_t)ipo_resolve_name("PMPI_Init"));
    for (int i = 0; i < IPO_CALLS && tools_n < MAX_TOOLS; i++) {
        const void *front = ipo_calls[i].exported ? dlsym(RTLD_DEFAULT, ipo_calls[i].name) : NULL;
        if (!front || front == (const void *)(uintptr_t)ipo_wrapper[i])
            continue;
        const void *base = ipo_object_base(front);
        bool known = !base || base == mpi;
        for (unsigned t = 0; t < tools_n; t++)
            known |= tools[t] == base;
        if (!known)
            tools[tools_n++] = base;
    }
}

static bool is_tool(uintptr_t base)
{
    for (unsigned t = 0; t < tools_n; t++)
        if ((uintptr_t)tools[t] == base)
            return true;
    return false;
}

/* The wrapper a name leads to, NULL if it is none of ours to lead. */
static ipo_function wrapper_of(const char *name, const struct object *object, const void *bound)
{
    bool in_tool = object->is_tool;
    if (strcmp(name, "getenv") == 0)
        return object->has_nccl || ipo_nccl_may_be_hidden() ? (ipo_function)ipo_nccl_getenv : NULL;
    if (object->has_nccl)
        return NULL;
    ipo_function guard = ipo_guard_wrapper_of(name);
    if (guard)
        return guard;
    if (strncmp(name, "nccl", 4) == 0)
        return ipo_nccl_wrapper_of(name, object->start, bound);
    if (strncmp(name, "cupti", 5) == 0)
        return ipo_cupti_wrapper_of(name);
    if (!*ipo_mpi_object())
        return NULL;
    if (!in_tool && strcmp(name, "PMPI_Type_free") == 0)
        return ipo_own[IPO_Type_free] ? (ipo_function)ipo_type_free_unseen : NULL;
    bool profiling = in_tool && strncmp(name, "PMPI_", 5) == 0;
    if (!profiling && strncmp(name, "MPI_", 4) != 0)
        return ipo_fortran_wrapper_of(name);
    int row = ipo_call_named(name + profiling);
    if (row < 0)
        return profiling ? NULL : ipo_fortran_wrapper_of(name);
    return (profiling || !ipo_calls[row].exported) && ipo_real[row] ? ipo_wrapper[row] : NULL;
}

/* What the loader has made read-only after it relocated the object. */
static bool protect(const struct object *object, int protection)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = object->relro & ~(page - 1);
    uintptr_t end = object->relro_end & ~(page - 1);
    return start >= end || mprotect((void *)start, end - start, protection) == 0;
}

static void patch_slot(struct object *object, uintptr_t *slot, ipo_function wrapper)
{
    bool protected = (uintptr_t)slot >= object->relro && (uintptr_t)slot < object->relro_end;
    if (protected && !object->opened)
        object->opened = protect(object, PROT_READ | PROT_WRITE);
    if (protected && !object->opened)
        return;
    __atomic_store_n(slot, (uintptr_t)wrapper, __ATOMIC_RELEASE);
    object->patched++;
}

static void patch_table(struct object *object, const ElfW(Rela) * table, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *table; i++) {
        if (!SLOT_RELOCATION(ELF64_R_TYPE(table[i].r_info)))
            continue;
        const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(table[i].r_info)];
        if (symbol->st_shndx != SHN_UNDEF)
            continue;
        uintptr_t *slot = (uintptr_t *)(object->base + table[i].r_offset);
        ipo_function wrapper = wrapper_of(object->strings + symbol->st_name, object, (const void *)*slot);
        /* An empty slot is a weak name that the program tests: it stays empty. */
        if (wrapper && *slot && *slot != (uintptr_t)wrapper && !ipo_is_foreign(object->base, *slot))
            patch_slot(object, slot, wrapper);
    }
}

/* The libraries themselves are left alone, NCCL but for its getenv. */
static bool is_nccl(const char *path)
{
    bool found = false;
    for (unsigned i = 0; *path && i < ipo_nccl_copies_n(); i++)
        found |= strcmp(path, ipo_nccl_copies[i].object) == 0;
    return found;
}
/* The program has no name, nor has a library that was not found. */
static bool is_alone(const char *path)
{
    return *path &&
           (strcmp(path, ipo_mpi_object()) == 0 || strcmp(path, ipo_cupti_object()) == 0 || strstr(path, "linux-vdso"));
}

static const void *own_base;

static int patch_object(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    if (is_alone(info->dlpi_name))
        return 0;
    struct object object = {.base = info->dlpi_addr, .has_nccl = is_nccl(info->dlpi_name)};
    uintptr_t start = 0;
    const ElfW(Dyn) *dynamic = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + header->p_vaddr);
        if (header->p_type == PT_LOAD && !start)
            start = (info->dlpi_addr + header->p_vaddr) & ~(uintptr_t)4095;
        if (header->p_type == PT_GNU_RELRO) {
            object.relro = info->dlpi_addr + header->p_vaddr;
            object.relro_end = object.relro + header->p_memsz;
        }
    }
    object.start = (const void *)start;
    if (object.start == own_base)
        return 0;
    object.is_tool = is_tool(start);
    const ElfW(Rela) *plt = NULL, *rela = NULL;
    size_t plt_bytes = 0, rela_bytes = 0;
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++)
        switch (dynamic->d_tag) {
        case DT_STRTAB:
            object.strings = (const char *)dynamic->d_un.d_ptr;
            break;
        case DT_SYMTAB:
            object.symbols = (const ElfW(Sym) *)dynamic->d_un.d_ptr;
            break;
        case DT_JMPREL:
            plt = (const ElfW(Rela) *)dynamic->d_un.d_ptr;
            break;
        case DT_PLTRELSZ:
            plt_bytes = dynamic->d_un.d_val;
            break;
        case DT_RELA:
            rela = (const ElfW(Rela) *)dynamic->d_un.d_ptr;
            break;
        case DT_RELASZ:
            rela_bytes = dynamic->d_un.d_val;
            break;
        default:
            break;
        }
    if (object.strings && object.symbols) {
        patch_table(&object, plt, plt ? plt_bytes : 0);
        patch_table(&object, rela, rela ? rela_bytes : 0);
    }
    if (object.opened)
        protect(&object, PROT_READ);
    *(size_t *)out += object.patched;
    return 0;
}

static int count_loads(struct dl_phdr_info *info, size_t size, void *out)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof info->dlpi_adds)
        *(unsigned long long *)out = info->dlpi_adds;
    return 1;
}

/* What the last walk has seen: how often objects were loaded, and which libraries have slots to lead. */
struct seen {
    unsigned long long loads;
    unsigned copies;
    bool cupti;
};

static struct seen look_around(void)
{
    struct seen now = {.copies = ipo_nccl_copies_n() + 100u * ipo_nccl_may_be_hidden(),
                       .cupti = *ipo_cupti_object() != 0};
    ipo_loader_walk(count_loads, &now.loads);
    return now;
}

static struct seen last; /* written under the loader's lock; read by all, who may be wrong for a moment */
static bool is_new(const struct seen *now)
{
    return !now->loads || now->loads != __atomic_load_n(&last.loads, __ATOMIC_ACQUIRE) || now->copies != last.copies ||
           now->cupti != last.cupti;
}

struct walk {
    bool anyway, came;
    size_t patched;
};

/* Under the loader's lock: all objects are relocated then, and none goes away. */
static void patch_all(void *at)
{
    static atomic_flag busy = ATOMIC_FLAG_INIT; /* where there is no such lock */
    struct walk *walk = at;
    struct seen now = look_around();
    walk->came = is_new(&now);
    if ((!walk->came && !walk->anyway) || atomic_flag_test_and_set(&busy))
        return;
    last.copies = now.copies;
    last.cupti = now.cupti;
    __atomic_store_n(&last.loads, now.loads, __ATOMIC_RELEASE);
    if (!tools_n && *ipo_mpi_object())
        find_tools();
    ipo_foreign_list();
    own_base = ipo_object_base((const void *)(uintptr_t)&ipo_patch_slots);
    ipo_loader_walk(patch_object, &walk->patched);
    if (*ipo_mpi_object() && ipo_fortran_resolve()) /* names that were met now have functions */
        ipo_loader_walk(patch_object, &walk->patched);
    atomic_flag_clear(&busy);
}

static struct walk patch(bool anyway)
{
    struct walk done = {.anyway = anyway};
    struct seen now = look_around();
    if (anyway || is_new(&now))
        ipo_loader_run(patch_all, &done);
    return done;
}

size_t ipo_patch_slots(void)
{
    return patch(false).patched;
}

bool ipo_patch_new(bool anyway)
{
    return patch(anyway).came;
}
