/* Finds CUPTI.  A container with CUDA's runtime alone does not have it. */
#include "interpose/cuda/cupti.h"
#include "interpose/load/objects.h"
#include "interpose/base/text.h"
#include "interpose/load/loader.h"

#include <dlfcn.h>
#include <stdlib.h>

struct search {
    const char *name; /* the file name must begin with this */
    char *path;       /* out */
    size_t size;
};

static int match_object(struct dl_phdr_info *info, size_t size, void *of)
{
    (void)size;
    struct search *search = of;
    const char *slash = strrchr(info->dlpi_name, '/'), *file = slash ? slash + 1 : info->dlpi_name;
    if (strncmp(file, search->name, strlen(search->name)) != 0)
        return 0;
    ipo_copy(search->path, search->size, info->dlpi_name);
    return 1;
}

static bool find_path(const char *name, char *path, size_t size)
{
    struct search search = {name, path, size};
    return ipo_loader_walk(match_object, &search) != 0;
}

void *ipo_loaded(const char *name)
{
    char path[1024];
    return find_path(name, path, sizeof path) ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

static void *try_folder(const char *folder, const char *name)
{
    struct ipo_text path = {0};
    if (folder) {
        ipo_text_add(&path, folder);
        ipo_text_add(&path, "/");
    }
    ipo_text_add(&path, name);
    return dlopen(path.text, RTLD_LAZY | RTLD_LOCAL);
}

/* Tries the folder of a loaded object without its last `up` parts, with `more` appended. */
static void *try_beside(const char *object, unsigned up, const char *more, const char *name)
{
    char path[1024];
    if (!find_path(object, path, sizeof path))
        return NULL;
    for (unsigned i = 0; i <= up; i++) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return NULL;
        *slash = 0;
    }
    struct ipo_text folder = {0};
    ipo_text_add(&folder, path);
    ipo_text_add(&folder, more);
    return try_folder(folder.text, name);
}

static void *try_home(const char *variable, const char *name)
{
    const char *home = getenv(variable);
    if (!home || !*home)
        return NULL;
    struct ipo_text folder = {0};
    ipo_text_add(&folder, home);
    ipo_text_add(&folder, "/extras/CUPTI/lib64");
    return try_folder(folder.text, name);
}

static void *find_named(const char *name)
{
    static const char *const beside[] = {"libcudart.so", "libnccl.so", "libcublas.so"};
    void *found = try_folder(NULL, name);
    for (size_t i = 0; !found && i < sizeof beside / sizeof *beside; i++) {
        found = try_beside(beside[i], 0, "", name);
        if (!found)
            found = try_beside(beside[i], 1, "/extras/CUPTI/lib64", name);
        if (!found) /* the wheels of PyPI: nvidia/nccl/lib, nvidia/cuda_cupti/lib, from 13 on nvidia/cu13/lib */
            found = try_beside(beside[i], 2, "/cuda_cupti/lib", name);
        if (!found)
            found = try_beside(beside[i], 2, "/cu13/lib", name);
    }
    if (!found)
        found = try_home("CUDA_HOME", name);
    if (!found)
        found = try_home("CUDA_PATH", name);
    if (!found)
        found = try_folder("/usr/local/cuda/extras/CUPTI/lib64", name);
    return found ? found : try_folder("/usr/local/cuda/lib64", name);
}

/* Major version of the driver's CUDA.  A CUPTI of this or an older version works with it. */
static int driver_major(void)
{
    void *driver = ipo_loaded("libcuda.so.1");
    int (*version)(int *) = driver ? (int (*)(int *))(uintptr_t)dlsym(driver, "cuDriverGetVersion") : NULL;
    int number = 0;
    return version && version(&number) == 0 ? number / 1000 : 0;
}

void *ipo_cupti_find(void)
{
    void *found = ipo_loaded("libcupti.so"); /* two copies in a process disturb each other */
    int major = driver_major();
    if (!found && major >= 13)
        found = find_named("libcupti.so.13");
    if (!found && major >= 12)
        found = find_named("libcupti.so.12");
    for (char minor = '8'; !found && major >= 11 && minor >= '0'; minor--) { /* till 12 its name had the minor, too */
        char name[] = "libcupti.so.11.x";
        name[sizeof name - 2] = minor;
        found = find_named(name);
    }
    return found;
}

bool ipo_cupti_is_injected(void)
{
    const char *named = getenv("CUDA_INJECTION64_PATH");
    void *library = named && *named ? dlopen(named, RTLD_LAZY | RTLD_NOLOAD) : NULL; /* finds it by any path */
    /* Compared by object, not by address: another preloaded tool may define the name, too. */
    const void *entry = library ? dlsym(library, "InitializeInjection") : NULL;
    bool is_ours = entry && ipo_object_base(entry) == ipo_object_base((const void *)(uintptr_t)&ipo_cupti_is_injected);
    if (library)
        dlclose(library);
    return is_ours;
}

const char *ipo_cupti_refusal(void)
{
    const char *injected = getenv("CUDA_INJECTION64_PATH");
    if (injected && *injected && !ipo_cupti_is_injected())
        return "CUDA_INJECTION64_PATH names another tool";
    if (getenv("NSYS_PROFILING_SESSION_ID"))
        return "Nsight Systems is there";
    if (getenv("NV_TPS_LAUNCH_TOKEN"))
        return "Nsight Compute is there";
    return NULL;
}
