/* The dlsym that libtrace.so exports, by which calls of programs that search NCCL or MPI by name are seen (JAX,
 * TensorFlow, XGBoost, CuPy, MPI.jl, ctypes).
 *
 * Only names of a source on a real handle are answered here; all others are passed on by a jump, since the return
 * address decides what RTLD_NEXT and RTLD_DEFAULT mean.  An allocator may call it before our constructor.  So there is
 * no allocation, no lock, and no call but the jump once the real dlsym is known. */
#undef dlsym /* defined by oldglibc.h */
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
        if (begins_with(name, (*source)->sign))
            (*source)->sign_seen();
        if (real && begins_with(name, (*source)->names))
            return (*source)->looked_up(handle, name, __builtin_return_address(0));
    }
    if (__builtin_expect(real && *ipo_armed, 0))
        ipo_loads_check();
    return IPO_JUMP(system, handle, name);
}
