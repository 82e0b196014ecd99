/* dlsym, which libtrace.so exports: how calls of programs that look NCCL up by name are seen (JAX, TensorFlow, XGBoost,
 * CuPy, ctypes).
 *
 * Everything but the names of a source on a real handle goes on by a jump: what RTLD_NEXT and RTLD_DEFAULT mean is
 * decided by the return address, which must stay the caller's.  It may be called before our constructor, even before
 * our own relocations, by an allocator that is itself not ready: so no allocation, no lock and no call but the jump,
 * once the real one is known. */
#include "interpose/base/dlsym.h"
#include "interpose/core/source.h"
#include "interpose/core/state.h"
#include "interpose/load/loads.h"

#include <dlfcn.h>

static inline bool begins_with(const char *name, const char *with)
{
    if (!with)
        return false;
    while (*with && *name == *with)
        with++, name++;
    return !*with;
}

__attribute__((visibility("default"))) void *dlsym(void *restrict handle, const char *restrict name)
{
    ipo_lookup system = ipo_system_dlsym();
    bool real = handle != RTLD_DEFAULT && handle != RTLD_NEXT;
    for (IPO_EACH_SOURCE(source)) {
        if (!*source)
            continue; /* not relocated yet */
        if (begins_with(name, (*source)->sign))
            (*source)->sign_seen();
        if (real && begins_with(name, (*source)->names))
            return (*source)->looked_up(handle, name);
    }
    if (__builtin_expect(real && ipo_armed && *ipo_armed, 0))
        ipo_loads_check();
    return system(handle, name);
}
