/* Finds NCCL.  In the global scope RTLD_NEXT finds what the program would call without us.  A Python module and its
 * libraries are loaded with RTLD_LOCAL: then the caller's scope has it.  If the program searches names itself, its
 * handle says which object is meant. */
#include "interpose/nccl/nccl.h"
#include "interpose/nccl/hooks.h"
#include "interpose/base/elf.h"
#include "interpose/load/objects.h"

#include <dlfcn.h>
#include <errno.h>

#define FIRST "ncclCommInitRank"

static atomic_flag busy = ATOMIC_FLAG_INIT; /* one thread searches; others pass calls on */

/* The copy that the code of an object calls by the public names. */
static struct scope {
    const void *object;
    struct ipo_nccl_copy *copy;
} scopes[IPO_MAX_OBJECTS];
static atomic_uint scopes_n;
static _Atomic(struct ipo_nccl_copy *) global; /* the copy of the global scope */

/* Returns the copy that defines the function found at an address; names come from `scope`, or (NULL) from that object
 * itself.  NULL: there are too many.  Needs `busy`. */
static struct ipo_nccl_copy *get_copy(const void *found, void *scope)
{
    Dl_info info;
    if (!found || !dladdr(found, &info) || !info.dli_fname)
        return NULL;
    struct ipo_nccl_copy *copy = ipo_nccl_copy_at(info.dli_fbase);
    unsigned n = ipo_nccl_copies_n();
    if (copy || n == IPO_NCCL_COPIES)
        return copy;
    copy = &ipo_nccl_copies[n];
    scope = scope ? scope : ipo_object_open(found); /* the handle keeps it loaded */
    for (int i = 0; i < IPO_NCCL_CALLS; i++)
        copy->real[i] = (ipo_function)(uintptr_t)ipo_symbol_in(scope, ipo_nccl_calls[i].name);
    struct ipo_range range = ipo_object_range((uintptr_t)found);
    copy->base = info.dli_fbase;
    copy->end = (const char *)(range.base + range.size);
    strncpy(copy->object, info.dli_fname, sizeof copy->object - 1);
    if (copy->real[IPO_NCCL_GetVersion])
        ((int (*)(int *))copy->real[IPO_NCCL_GetVersion])(&copy->version);
    ipo_nccl_copies_add();
    return copy;
}

/* ---- copies by the caller's scope */

/* Asks every loaded object for the NCCL in its scope. */
static void look_at_all(void)
{
    static struct ipo_object_names names;
    ipo_objects_list(&names, 0);
    unsigned n = 0;
    atomic_store(&scopes_n, 0);
    for (unsigned i = 0; i < names.n; i++) {
        struct link_map *handle = dlopen(names.name[i], RTLD_LAZY | RTLD_NOLOAD);
        struct ipo_nccl_copy *copy = get_copy(ipo_symbol_in(handle, FIRST), NULL);
        Dl_info info;
        if (copy && dladdr(handle->l_ld, &info))
            scopes[n++] = (struct scope){info.dli_fbase, copy};
        if (handle)
            dlclose(handle);
    }
    atomic_store(&scopes_n, n);
}

static struct ipo_nccl_copy *find_called(const void *base)
{
    struct ipo_nccl_copy *all = atomic_load(&global);
    for (unsigned i = 0; !all && base && i < atomic_load(&scopes_n); i++)
        if (scopes[i].object == base)
            return scopes[i].copy;
    return all;
}

struct ipo_nccl_copy *ipo_nccl_resolve(const void *caller)
{
    static unsigned long long looked_at;
    if (!atomic_load(&global) && !atomic_flag_test_and_set(&busy)) {
        void *found = ipo_symbol_in(RTLD_NEXT, FIRST);
        if (found)
            atomic_store(&global, get_copy(found, RTLD_NEXT));
        unsigned long long loads = ipo_object_loads(NULL);
        if (!found && caller && (!loads || loads != looked_at)) {
            looked_at = loads;
            look_at_all();
        }
        atomic_flag_clear(&busy);
    }
    return find_called(caller ? ipo_object_base(caller) : NULL);
}

static int return_absent(void)
{
    return IPO_NCCL_SYSTEM_ERROR;
}

ipo_function ipo_nccl_pass(const struct ipo_nccl_copy *copy, enum ipo_nccl_id id, const void *caller)
{
    if (copy && copy->real[id])
        return copy->real[id];
    const char *name = ipo_nccl_calls[id].name;
    void *found = ipo_symbol_in(RTLD_NEXT, name);
    if (!found)
        found = ipo_symbol_in(ipo_object_open(caller), name);
    for (unsigned i = 0; !found && i < ipo_nccl_copies_n(); i++)
        found = (void *)(uintptr_t)ipo_nccl_copies[i].real[id];
    return found ? (ipo_function)(uintptr_t)found : (ipo_function)return_absent;
}

/* A bound slot shows its copy; one that is not bound yet gets the copy of the object's scope.  No dladdr: this runs
 * inside a walk over the objects. */
ipo_function ipo_nccl_wrapper_of(int row, const void *base, const void *bound)
{
    if (ipo_nccl_calls[row].exported)
        return NULL;
    struct ipo_nccl_copy *copy = NULL;
    for (unsigned i = 0; i < ipo_nccl_copies_n(); i++)
        if (bound >= ipo_nccl_copies[i].base && bound < ipo_nccl_copies[i].end)
            copy = &ipo_nccl_copies[i];
    copy = copy ? copy : find_called(base);
    return copy && copy->real[row] ? ipo_nccl_wrapper[copy - ipo_nccl_copies][row] : NULL;
}

/* ---- by dlsym */

void *ipo_nccl_looked_up(void *handle, const char *name, const void *caller)
{
    (void)caller;
    void *found = dlsym(handle, name);
    if (found && ipo_is_ours(found) && strncmp(name, "ncclProfiler_", 13) == 0)
        return ipo_nccl_plugin_offered() ? found : ipo_symbol_in(RTLD_NEXT, name); /* the user's own plugin is meant */
    int kept = errno, row = found && !ipo_is_ours(found) ? ipo_nccl_row(name) : -1;
    if (row < 0 || !ipo_nccl_wrapper[0][row] || ipo_nccl_calls[row].opclass == TRC_OP_LOOK)
        return found;
    struct ipo_nccl_copy *copy = ipo_nccl_copy_at(ipo_object_base(found));
    if (!copy && !atomic_flag_test_and_set(&busy)) {
        copy = get_copy(found, NULL);
        atomic_flag_clear(&busy);
        dlerror(); /* the program must not see errors of our own searches */
    }
    errno = kept;
    if (copy)
        ipo_nccl_hook_live(IPO_HOOK_DLSYM, copy->base);
    bool same = copy && copy->real[row] == (ipo_function)(uintptr_t)found;
    return same ? (void *)(uintptr_t)ipo_nccl_wrapper[copy - ipo_nccl_copies][row] : found;
}
