/* Facts: which libraries that carry a job are loaded, and from where. */
#include "interpose/base/procfs.h"
#include "interpose/base/text.h"
#include "interpose/core/facts.h"
#include "interpose/core/source.h"
#include "interpose/load/modules.h"

static const char *const wanted[] = {"libmpi",      "libopen-pal", "libucp",  "libuct",     "libpmix",  "libprrte",
                                     "libnccl",     "libfabric",   "libpsm2", "libcudart.", "libcuda.", "libmpich",
                                     "libgloo",     "mca_btl_",    "mca_pml", "mca_osc",    "mca_coll", "librccl",
                                     "libpython3.", "mpi_lib",     NULL};

static bool is_wanted(const char *file)
{
    for (const char *const *at = wanted; *at; at++)
        if (!strncmp(file, *at, strlen(*at)))
            return true;
    return false;
}

static void add_file_fact(const char *file, const char *path)
{
    struct ipo_text key = {0};
    ipo_text_add(&key, "file.");
    ipo_text_add(&key, file);
    ipo_fact(key.text, path);
}

/* "horovod-0.28.1.dist-info" beside the package says its version. */
static void add_package(void *context, const char *name)
{
    char version[32];
    const char *begin = name + 8;
    size_t n = strncmp(name, "horovod-", 8) == 0 ? strspn(begin, "0123456789.") : 0;
    if (n == 0 || n >= sizeof version)
        return;
    memcpy(version, begin, n);
    while (n > 0 && version[n - 1] == '.')
        n--;
    version[n] = 0;
    if (!*(bool *)context)
        ipo_fact("horovod", version);
    *(bool *)context = true;
}

static void add_file_facts(void)
{
    ipo_modules_read();
    const struct ipo_module *module;
    bool known = false;
    for (unsigned i = 0; (module = ipo_module(i)); i++) {
        const char *slash = strrchr(module->path, '/'), *horovod = strstr(module->path, "/horovod/");
        if (slash && is_wanted(slash + 1))
            add_file_fact(slash + 1, module->path);
        if (horovod && !known) {
            char folder[sizeof module->path];
            size_t n = (size_t)(horovod - module->path);
            memcpy(folder, module->path, n);
            folder[n] = 0;
            ipo_directory(folder, add_package, &known);
        }
    }
}

static const struct ipo_source files_source = {.name = "files", .add_facts = add_file_facts};
IPO_SOURCE(files_source);
