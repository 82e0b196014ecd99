/* Slots of the global offset table: objects are compiled at run time, bound lazily or at once, with packed relative
 * relocations and with indirect functions.  Slots of the names that a source wants (here some of NCCL) lead to its
 * wrappers afterwards, all others where they led before, and what the loader had made read-only is so again. */
#include "interpose/base/elf.h"
#include "interpose/core/source.h"
#include "interpose/load/names.h"
#include "interpose/load/slots.h"
#include "tests/support/check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the source of this test: wrappers of some functions of NCCL, which the objects call */

static int wrap_one(void)
{
    return 101;
}
static int wrap_two(void)
{
    return 102;
}
static int wrap_weak(void)
{
    return 103;
}
static int wrap_own(void)
{
    return 104;
}

static unsigned walks, names_seen;
static const char *left_alone = "none";

static unsigned walk_first;
static void before_walk(unsigned first)
{
    walk_first = first;
    walks++;
}

static enum ipo_claim claim(const char *path)
{
    return strstr(path, left_alone) ? IPO_LEFT_ALONE : IPO_UNCLAIMED;
}

static ipo_function wrapper_of(const struct ipo_name *name, const struct ipo_object *object, const void *bound)
{
    static const struct {
        const char *name;
        int (*wrapper)(void);
    } wrappers[] = {{"ncclAllReduce", wrap_one},
                    {"ncclBroadcast", wrap_two},
                    {"ncclReduce", wrap_weak},
                    {"ncclAllGather", wrap_own}};
    (void)bound;
    for (unsigned i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (strcmp(name->text, wrappers[i].name) == 0) {
            Dl_info info;
            CHECK(dladdr(object->start, &info) && info.dli_fbase == object->start, "where the object begins");
            names_seen++;
            return (ipo_function)wrappers[i].wrapper;
        }
    return NULL;
}

static const struct ipo_source test_source = {
    .name = "test", .before_walk = before_walk, .claim = claim, .wrapper_of = wrapper_of};
IPO_SOURCE(test_source);

/* ---- objects */

static const char *const real_source = "int ncclAllReduce(void) { return 1; }\n"
                                       "int ncclBroadcast(void) { return 2; }\n"
                                       "int other(void) { return 3; }\n";

static const char *const user_source =
    "int ncclAllReduce(void), ncclBroadcast(void), other(void);\n"
    "int ncclReduce(void) __attribute__((weak));\n"
    "int ncclAllGather(void) { return 4; }\n" /* defines the name itself: its slots stay */
    "int (*pointer)(void) = ncclBroadcast;\n"
    "int (*const constant)(void) = ncclBroadcast;\n"
    "static int local(void) { return 5; }\n"
    "int (*relative[3])(void) = {local, local, local};\n"
    "static int chosen(void) { return 6; }\n"
    "static int (*choose(void))(void) { return chosen; }\n"
    "static int indirect(void) __attribute__((ifunc(\"choose\")));\n"
    "int result(int which)\n"
    "{\n"
    "    int (*volatile address)(void) = ncclAllReduce;\n"
    "    switch (which) {\n"
    "    case 0: return ncclAllReduce();\n"
    "    case 1: return address();\n"
    "    case 2: return pointer();\n"
    "    case 3: return constant();\n"
    "    case 4: return other();\n"
    "    case 5: return ncclReduce ? ncclReduce() : -1;\n"
    "    case 6: return ncclAllGather();\n"
    "    case 7: return relative[1]();\n"
    "    default: return indirect();\n"
    "    }\n"
    "}\n";
enum { RESULTS = 9 };
static const int before[RESULTS] = {1, 1, 2, 2, 3, -1, 4, 5, 6}, after[RESULTS] = {101, 101, 102, 102, 3, -1, 4, 5, 6};

static const struct variant {
    const char *name, *flags;
    bool relro; /* constant is read-only once it is relocated */
} variants[] = {{"lazy", "-Wl,-z,lazy -Wl,-z,norelro", false},
                {"lazy_relro", "-Wl,-z,lazy -Wl,-z,relro", true},
                {"now", "-Wl,-z,now -Wl,-z,relro", true},
                {"no_plt", "-fno-plt -Wl,-z,now -Wl,-z,relro", true},
                {"packed", "-Wl,-z,now -Wl,-z,relro -Wl,-z,pack-relative-relocs", true},
                {"sysv", "-Wl,-z,now -Wl,-z,relro -Wl,--hash-style=sysv", true},
                {"alone", "-Wl,-z,lazy -Wl,-z,relro", true}};

static char folder[] = "/tmp/hpctop-slots-XXXXXX";

static bool compile(const char *name, const char *source, const char *flags)
{
    char command[1024], path[128];
    snprintf(path, sizeof path, "%s/%s.c", folder, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(source, file) < 0 || fclose(file))
        return false;
    snprintf(command, sizeof command, "cd %s && cc -O1 -fPIC -shared %s -o %s.so %s.c 2>said", folder, flags, name,
             name);
    fflush(stdout);
    int status = system(command);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void *load(const char *name, int how)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s.so", folder, name);
    void *handle = dlopen(path, how);
    if (!handle)
        printf("%s\n", dlerror());
    return handle;
}

static void check_results(void *object, const char *name, const int *want, const char *when)
{
    int (*result)(int) = (int (*)(int))(uintptr_t)dlsym(object, "result");
    for (int i = 0; result && i < RESULTS; i++)
        CHECK(result(i) == want[i], "%s, %s: case %d gives %d", name, when, i, result(i));
}

/* Whether the page may be written, by the kernel's account. */
static bool is_writable(const void *address)
{
    char line[512], mode[8] = "";
    unsigned long begin, end;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, mode) == 3 && (uintptr_t)address - begin < end - begin)
            break;
    if (maps)
        fclose(maps);
    return mode[1] == 'w';
}

static void check_variant(const struct variant *variant)
{
    void *object = load(variant->name, RTLD_NOW * !strstr(variant->flags, "lazy") | RTLD_LAZY | RTLD_LOCAL);
    CHECK(object != NULL, "%s cannot be loaded", variant->name);
    if (!object)
        return;
    bool alone = strcmp(variant->name, "alone") == 0;
    left_alone = alone ? "alone" : "none";
    const void *constant = dlsym(object, "constant");
    if (strcmp(variant->name, "lazy") != 0) /* object whose slots are not bound yet */
        check_results(object, variant->name, before, "before");
    CHECK(is_writable(constant) == !variant->relro, "%s: the constant can be written: %d", variant->name,
          is_writable(constant));
    size_t patched = ipo_patch_slots();
    unsigned looks = walks, seen = names_seen;
    CHECK(walk_first > 2, "%s: objects from number %u on are read again", variant->name, walk_first);
    CHECK(alone ? patched == 0 : patched >= 3 && patched <= 4, "%s: %zu slots", variant->name, patched);
    check_results(object, variant->name, alone ? before : after, "after");
    CHECK(is_writable(constant) == !variant->relro, "%s: the constant can be written afterwards: %d", variant->name,
          is_writable(constant));
    CHECK(ipo_patch_slots() == 0 && walks == looks && names_seen == seen, "%s: nothing new is not looked at",
          variant->name);
    CHECK(!ipo_patch_new(true) && walks == looks + 1, "%s: unless it is to be", variant->name);
    check_results(object, variant->name, alone ? before : after, "at the end");
    dlclose(object);
}

/* Symbols by our own reading of the hash tables, beside the loader's. */
static void check_symbols(const char *name)
{
    struct ipo_elf elf;
    void *object = load(name, RTLD_NOW | RTLD_LOCAL);
    struct link_map *map = NULL;
    if (!object || dlinfo(object, RTLD_DI_LINKMAP, &map))
        return;
    ipo_elf_of(map, &elf);
    static const char *const there[] = {"result", "ncclAllGather", "pointer", "constant", "relative"};
    for (unsigned i = 0; i < sizeof there / sizeof *there; i++) {
        const ElfW(Sym) *symbol = ipo_elf_find(&elf, there[i], 0);
        CHECK(symbol && (void *)(elf.base + symbol->st_value) == dlsym(object, there[i]), "%s in %s", there[i], name);
    }
    CHECK(!ipo_elf_find(&elf, "ncclAllReduce", 0) && !ipo_elf_find(&elf, "resul", 0) && !ipo_elf_find(&elf, "", 0),
          "what %s does not define", name);
    dlclose(object);
}

int main(void)
{
    if (!mkdtemp(folder) || !compile("real", real_source, "")) {
        printf("no compiler\n");
        return 77;
    }
    CHECK(load("real", RTLD_NOW | RTLD_GLOBAL) != NULL, "the real functions");
    ipo_patch_slots(); /* all that is there already */
    for (unsigned i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (!compile(variants[i].name, user_source, variants[i].flags)) {
            printf("this linker has no %s\n", variants[i].flags);
            CHECK(strcmp(variants[i].name, "packed") == 0, "%s cannot be built", variants[i].name);
            continue;
        }
        check_variant(&variants[i]);
        check_symbols(variants[i].name);
    }
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0, "%s is left", folder);
    return check_result();
}
