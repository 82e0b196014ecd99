/* Finds the functions of Gloo and PyTorch.  Python loads them with RTLD_LOCAL, and several objects may have a Gloo of
 * their own: so the caller's object decides. */
#include "interpose/gloo/gloo.h"
#include "interpose/load/objects.h"

#include <dlfcn.h>
#include <errno.h>

#define OBJECTS 8u /* callers of Gloo; calls from further ones are searched each time */

static const char *const symbols[IPO_GLOO_CALLS] = {
#define GLOO(name, symbol, ...) [IPO_GLOO_##name] = #symbol,
#define MESSAGE                 GLOO
#define HOOK                    GLOO
#include "interpose/gloo/gloo_calls.def"
#undef GLOO
#undef HOOK
};

static struct object {
    uintptr_t base;
    _Atomic uintptr_t size; /* 0: not filled in yet */
    _Atomic(ipo_function) real[IPO_GLOO_CALLS];
} objects[OBJECTS];
static atomic_uint objects_n;

static void do_nothing(void) {}

static ipo_function search(enum ipo_gloo_id id, const void *caller)
{
    void *found = ipo_symbol_in(RTLD_NEXT, symbols[id]);
    if (!found)
        found = ipo_symbol_in(ipo_object_open(caller), symbols[id]);
    if (!found)
        found = ipo_symbol_in(ipo_scope_with(symbols[id]), symbols[id]);
    dlerror(); /* the program must not see errors of our own searches */
    return found ? (ipo_function)(uintptr_t)found : do_nothing;
}

/* Adds the caller's object; NULL: there are too many. */
static struct object *add_object(const void *caller)
{
    unsigned at = atomic_load(&objects_n) < OBJECTS ? atomic_fetch_add(&objects_n, 1) : OBJECTS;
    if (at >= OBJECTS)
        return NULL;
    struct ipo_range range = ipo_object_range((uintptr_t)caller);
    objects[at].base = range.base;
    atomic_store_explicit(&objects[at].size, range.size, memory_order_release);
    return &objects[at];
}

ipo_function ipo_gloo_real(enum ipo_gloo_id id, const void *caller)
{
    struct object *object = NULL;
    for (unsigned i = 0; i < OBJECTS && !object; i++) {
        uintptr_t size = atomic_load_explicit(&objects[i].size, memory_order_acquire);
        if ((uintptr_t)caller - objects[i].base < size)
            object = &objects[i];
    }
    ipo_function real = object ? atomic_load(&object->real[id]) : NULL;
    if (__builtin_expect(real != NULL, 1))
        return real;
    int kept = errno;
    object = object ? object : add_object(caller);
    real = search(id, caller);
    if (object)
        atomic_store(&object->real[id], real);
    errno = kept;
    return real;
}
