/* The OTF2 library, looked for when it is asked for: hpctop neither needs nor contains it. */
#include "trace/export/otf2_impl.h"
#include <dlfcn.h>

bool ana_otf2_load(struct ana_exporting *x, struct otf2_library *lib)
{
    /* Names used by the project and by Debian.  Another version has other arguments. */
    static const char *const names[] = {"libotf2.so.10", "libopen-trace-format2.so.10"};
    for (size_t i = 0; !lib->handle && i < sizeof names / sizeof *names; i++)
        lib->handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!lib->handle) {
        ana_export_fail(x, "the OTF2 library, version 3, is not here (%s; Debian: libotf2-trace-dev)", names[0]);
        return false;
    }
#define OTF2(result, name, arguments)                                                                                  \
    if (!(*(void **)&lib->name = dlsym(lib->handle, "OTF2_" #name)))                                                   \
        ana_export_fail(x, "the OTF2 library lacks OTF2_" #name);
#include "trace/export/otf2_library.def"
    return !x->error[0];
}
