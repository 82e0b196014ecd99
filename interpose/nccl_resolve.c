/* Finding NCCL.  Where it is in the global scope, what the program would have called without us is what RTLD_NEXT
 * finds. Else (a Python module and what it needs are loaded with RTLD_LOCAL) the caller's scope tells, or the one
 * object that defines it.  Several copies in a process are possible, of which a communicator of one must never reach
 * another: then the caller's own is called and nothing is recorded. */
#include "interpose/oldglibc.h"
#include "interpose/nccl.h"
#include "interpose/resolve.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#define FIRST       "ncclCommInitRank"
#define MAX_OBJECTS 512
#define MAX_NAME    256

ipo_function ipo_nccl_real[IPO_NCCL_CALLS];

const struct ipo_nccl_call ipo_nccl_calls[IPO_NCCL_CALLS] = {
#define EXPORT true
#define PATCH  false
#define NCCL(arity_, name_, how_, opclass_, moves_, roles_)                                                            \
    {.name = "nccl" #name_,                                                                                            \
     .roles = roles_,                                                                                                  \
     .opclass = TRC_OP_##opclass_,                                                                                     \
     .moves = IPO_MOVES_##moves_,                                                                                      \
     .arity = arity_,                                                                                                  \
     .exported = how_},
#define NCCL_ID NCCL
#include "interpose/nccl_calls.def"
#undef NCCL
#undef NCCL_ID
};

#define NCCL(arity, name, how, opclass, moves, roles)                                                                  \
    _Static_assert(sizeof(roles) - 1 == (arity), "nccl" #name ": one role an argument");
#define NCCL_ID NCCL
#include "interpose/nccl_calls.def"
#undef NCCL
#undef NCCL_ID

static char library_name[1024];
static atomic_int state; /* 0 not found, 1 at it, 2 found, 3 several copies */

static bool is_ours(const void *address)
{
    return ipo_object_base(address) == ipo_object_base((const void *)(uintptr_t)&ipo_nccl_resolve);
}

static void *known(void *handle, const char *name)
{
    void *found = handle ? dlsym(handle, name) : NULL;
    return found && !is_ours(found) ? found : NULL;
}

/* The loaded object at an address, by whose scope names are asked for; NULL for ours. */
static void *object_of(const void *address)
{
    Dl_info info;
    if (!address || is_ours(address) || !dladdr(address, &info) || !info.dli_fname)
        return NULL;
    void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return handle ? handle : dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD); /* the program itself has no name */
}

static char (*names)[MAX_NAME];
static unsigned names_n;
static int collect(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    size_t n = strlen(info->dlpi_name);
    if (n > 0 && n < MAX_NAME && names_n < MAX_OBJECTS)
        memcpy(names[names_n++], info->dlpi_name, n + 1);
    return 0;
}

/* A handle on the one object that defines NCCL; NULL if there is none, or (`copies` > 1) more than one. */
static void *only_one(unsigned *copies)
{
    static char room[MAX_OBJECTS][MAX_NAME];
    const void *base = NULL;
    void *only = NULL;
    names = room;
    names_n = 0;
    *copies = 0;
    dl_iterate_phdr(collect, NULL);
    for (unsigned i = 0; i < names_n; i++) {
        void *handle = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD), *found = known(handle, FIRST);
        const void *at = found ? ipo_object_base(found) : NULL;
        if (at && at != base) {
            *copies += 1;
            base = at;
            only = handle;
        } else if (handle) {
            dlclose(handle);
        }
    }
    return *copies == 1 ? only : NULL;
}

bool ipo_nccl_resolve(const void *caller)
{
    int fresh = 0;
    if (atomic_load(&state) >= 2)
        return atomic_load(&state) == 2;
    if (!atomic_compare_exchange_strong(&state, &fresh, 1))
        return false; /* another thread is at it: this call is passed on unseen */
    unsigned copies = 0;
    void *scope = RTLD_NEXT;
    if (!known(RTLD_NEXT, FIRST)) {
        scope = caller ? only_one(&copies) : NULL;
        if (!scope) {
            atomic_store(&state, copies > 1 ? 3 : 0);
            return false;
        }
    }
    for (int i = 0; i < IPO_NCCL_CALLS; i++)
        ipo_nccl_real[i] = (ipo_function)(uintptr_t)known(scope, ipo_nccl_calls[i].name);
    Dl_info info;
    if (dladdr((const void *)(uintptr_t)ipo_nccl_real[IPO_NCCL_CommInitRank], &info) && info.dli_fname)
        strncpy(library_name, info.dli_fname, sizeof library_name - 1);
    atomic_store(&state, 2);
    return true;
}

static int absent(void)
{
    return IPO_NCCL_SYSTEM_ERROR;
}

ipo_function ipo_nccl_pass(enum ipo_nccl_id id, const void *caller)
{
    if (ipo_nccl_real[id])
        return ipo_nccl_real[id];
    const char *name = ipo_nccl_calls[id].name;
    unsigned copies;
    void *found = known(RTLD_NEXT, name);
    if (!found)
        found = known(object_of(caller), name);
    if (!found)
        found = known(only_one(&copies), name);
    return found ? (ipo_function)(uintptr_t)found : (ipo_function)absent;
}

const char *ipo_nccl_object(void)
{
    return library_name;
}

ipo_function ipo_nccl_wrapper_of(const char *name)
{
    for (int i = 0; atomic_load(&state) == 2 && i < IPO_NCCL_CALLS; i++)
        if (strcmp(ipo_nccl_calls[i].name, name) == 0)
            return ipo_nccl_calls[i].exported || !ipo_nccl_real[i] ? NULL : ipo_nccl_wrapper[i];
    return NULL;
}
