/* The loader's list as the recorder reads it, without its lock: new objects are found, also at the address of an object
 * that was unloaded.  And whose library CUDA_INJECTION64_PATH names. */
#include "interpose/base/oldglibc.h"
#include "interpose/cuda/cupti_find.c" /* not in a library that tests link */
#include "interpose/load/loads.c"
#include "tests/support/check.h"

const uint32_t *ipo_armed;
atomic_int ipo_own_runs;
bool ipo_own_thread(const char *name, void *(*run)(void *), void *argument)
{
    (void)name, (void)run, (void)argument;
    return false;
}
void ipo_loader_run(void (*what)(void *), void *with)
{
    what(with);
}
int ipo_loader_walk(int (*look)(struct dl_phdr_info *, size_t, void *), void *with)
{
    return dl_iterate_phdr(look, with);
}
void ipo_loader_start(void) {}
bool ipo_patch_new(bool anyway)
{
    return anyway;
}
struct ipo_process ipo_process;

static bool came;
static void note(void)
{
    came = true;
}
static const struct ipo_source watcher = {.name = "watcher", .library = "libcuda.so", .on_library = note};
IPO_SOURCE(watcher);

bool ipo_safe_read(uint64_t address, void *out, size_t size)
{
    if (!address)
        return false;
    memcpy(out, (const void *)(uintptr_t)address, size);
    return true;
}
size_t ipo_safe_read_some(uint64_t address, void *out, size_t size)
{
    ipo_copy(out, size, (const char *)(uintptr_t)address);
    return strlen(out);
}
static void *injection; /* stands for InitializeInjection of the named library */
void *ipo_dlsym(void *restrict handle, const char *restrict name)
{
    (void)handle;
    return strcmp(name, "InitializeInjection") == 0 ? injection : NULL;
}
const void *ipo_object_base(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* The list: names in order, each at an address of its own. */
static struct map objects[8];
static void list(const char *const *names)
{
    for (size_t i = 0; names[i]; i++)
        objects[i] = (struct map){.name = (uint64_t)(uintptr_t)names[i],
                                  .next = names[i + 1] ? (uint64_t)(uintptr_t)&objects[i + 1] : 0,
                                  .previous = i ? (uint64_t)(uintptr_t)&objects[i - 1] : 0};
}

static unsigned looks_until_found(void)
{
    came = false;
    for (unsigned i = 1; i <= 2 * WHOLE; i++) {
        announce_new();
        if (came)
            return i;
    }
    return 0;
}

int main(void)
{
    static const char *const plain[] = {"", "/lib/libc.so.6", "/lib/libm.so.6", "/lib/libcudart.so.12", NULL};
    static const char *const behind[] = {
        "", "/lib/libc.so.6", "/lib/libm.so.6", "/lib/libcudart.so.12", "/lib/libcuda.so.1", NULL};
    static const char *const instead[] = {"", "/lib/libc.so.6", "/lib/libm.so.6", "/lib/libcuda.so.1", NULL};
    static const char *const within[] = {"", "/lib/libc.so.6", "/lib/libcuda.so.1", "/lib/libz.so.1", NULL};
    static const char *const fewer[] = {"", "/lib/libc.so.6", NULL};
    static const char *const fewer_with[] = {"", "/lib/libc.so.6", "/lib/libcuda.so.1", NULL};
    static const struct {
        const char *what;
        const char *const *names;
        unsigned most;
    } cases[] = {{"at the end", behind, 1},
                 {"in the place of the last one", instead, 1},
                 {"in the place of another, the last one, too, being another", within, WHOLE}};
    list(plain);
    front = (uint64_t)(uintptr_t)&objects[0];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        list(plain);
        CHECK(!looks_until_found(), "%s: it was there before it came", cases[i].what);
        list(cases[i].names);
        unsigned looks = looks_until_found();
        CHECK(looks && looks <= cases[i].most, "%s: after %u looks", cases[i].what, looks);
    }
    list(plain);
    CHECK(!looks_until_found(), "what was unloaded is not there");
    list(fewer); /* the last one known is gone: its neighbour does not lead to it */
    CHECK(!looks_until_found(), "nothing came");
    list(fewer_with);
    CHECK(looks_until_found() == 1, "it came after others had gone");

    setenv("CUDA_INJECTION64_PATH", "libc.so.6", 1);
    CHECK(!ipo_cupti_is_injected(), "a library without it");
    injection = stdout; /* somewhere in another object */
    CHECK(!ipo_cupti_is_injected(), "another tool's");
    injection = objects; /* defined in this object; its name may lead to another tool's */
    CHECK(ipo_cupti_is_injected(), "ours");
    return check_result();
}
