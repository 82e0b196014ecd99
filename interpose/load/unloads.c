#include "interpose/load/unloads.h"
#include "interpose/core/source.h"
#include "interpose/core/state.h"
#include "interpose/load/names.h"
#include "interpose/load/objects.h"

#include <dlfcn.h>
#include <errno.h>

void ipo_unloads_note(unsigned long long unloads)
{
    static unsigned long long noted;
    if (__atomic_exchange_n(&noted, unloads, __ATOMIC_ACQ_REL) != unloads)
        IPO_ASK_SOURCES(unloaded);
}

/* The program's dlclose.  Sources are asked before the addresses can mean anything else. */
static int close_library(void *handle)
{
    unsigned long long unloads = 0;
    if (!*ipo_armed)
        return dlclose(handle);
    int kept = errno;
    IPO_ASK_SOURCES(unloading);
    errno = kept;
    int result = dlclose(handle);
    kept = errno;
    if (ipo_object_loads(&unloads))
        ipo_unloads_note(unloads);
    else /* a libc that does not count */
        IPO_ASK_SOURCES(unloaded);
    errno = kept;
    return result;
}

static ipo_function find_wrapper(const struct ipo_name *name, const struct ipo_object *object, const void *bound)
{
    (void)object, (void)bound;
    return name->table == IPO_NAMES_LIBC && name->row == IPO_LIBC_dlclose ? (ipo_function)close_library : NULL;
}

static const struct ipo_source unloads_source = {.name = "unloads", .wrapper_of = find_wrapper};
IPO_SOURCE(unloads_source);
