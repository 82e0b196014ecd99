#include "interpose/cuda/cuda.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* cuda.h renames revised functions by macros: cuCtxPushCurrent compiles as cuCtxPushCurrent_v2.  Where a driver has
 * both, the plain name is the old function, with another kind of context. */
static void *find_function(void *library, const char *name)
{
    char later[64];
    size_t n = strlen(name);
    bool revised = strncmp(name, "cuCtxP", 6) == 0;
    memcpy(later, name, n);
    memcpy(later + n, "_v2", 4);
    void *found = revised ? dlsym(library, later) : dlsym(library, name);
    return found ? found : dlsym(library, revised ? name : later);
}

static bool fill_functions(struct ipo_cuda *cuda, void *library)
{
    bool all = true;
    static const struct {
        const char *name;
        size_t at;
        bool optional;
    } calls[] = {
#define CALL(name, ...)     {#name, offsetof(struct ipo_cuda, name), false},
#define OPTIONAL(name, ...) {#name, offsetof(struct ipo_cuda, name), true},
        IPO_CUDA_CALLS(CALL, OPTIONAL)
#undef CALL
#undef OPTIONAL
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *found = find_function(library, calls[i].name);
        memcpy((char *)cuda + calls[i].at, &found, sizeof found);
        all &= found || calls[i].optional;
    }
    return all;
}

const struct ipo_cuda *ipo_cuda(void)
{
    static struct ipo_cuda cuda;
    static atomic_int state; /* 0 not found, 1 a thread is searching, 2 found, 3 a function is missing */
    int fresh = 0;
    if (!atomic_compare_exchange_strong(&state, &fresh, 1))
        return fresh == 2 ? &cuda : NULL;
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library) {
        atomic_store(&state, 0);
        return NULL;
    }
    bool good = fill_functions(&cuda, library);
    atomic_store(&state, good ? 2 : 3);
    return good ? &cuda : NULL;
}
