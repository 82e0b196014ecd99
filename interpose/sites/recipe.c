#include "interpose/sites/recipe.h"
#include "interpose/base/safe_read.h"
#include "interpose/base/text.h"
#include "interpose/core/filter.h"
#include "interpose/core/state.h"
#include "interpose/load/frames.h"
#include "interpose/unwind/cfi.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>

#define OBJECT_BYTES 1024u /* headers of an object, and its build id where linkers place it */
#define RECIPES      4096u /* a power of two */
#define TRIES        16u
#define FILLING      1u

static struct {
    _Atomic uint64_t address; /* 0: free */
    struct ipo_recipe recipe;
} table[RECIPES];
static atomic_bool any_known; /* a recipe was entered since the last drop */

/* struct dl_find_object of glibc 2.35. */
struct found_object {
    unsigned long long flags;
    void *begin, *end;
    struct link_map *map;
    void *eh_frame_hdr;
    unsigned long long reserved[7];
};
static int (*find_object)(void *, struct found_object *);

void ipo_recipes_start(void)
{
    struct found_object found;
    find_object = (int (*)(void *, struct found_object *))(uintptr_t)dlsym(RTLD_DEFAULT, "_dl_find_object");
    if (find_object && find_object((void *)(uintptr_t)&ipo_recipes_start, &found))
        find_object = NULL;
    ipo_recipes_refresh();
}

void ipo_recipes_refresh(void)
{
    if (!find_object)
        ipo_frames_read();
}

static bool fits(int64_t value)
{
    return value == (int16_t)value;
}

/* The recipe that a row of call frame information comes to. */
static struct ipo_recipe make_recipe(const struct ipo_row *row)
{
    const struct ipo_where *back = &row->reg[row->return_register], *frame = &row->reg[IPO_REG_FP];
    struct ipo_recipe made = {.kind = IPO_RECIPE_LOST};
    if (back->rule == IPO_RULE_UNDEFINED)
        made.kind = IPO_RECIPE_FIRST;
    bool usual = row->cfa.rule == IPO_RULE_VAL_OFFSET && row->cfa.value == (int32_t)row->cfa.value &&
                 (row->cfa_register == IPO_REG_SP || row->cfa_register == IPO_REG_FP) &&
                 back->rule == IPO_RULE_OFFSET && fits(back->value) && !row->signal_frame;
    if (!usual)
        return made;
    made.kind = row->cfa_register == IPO_REG_SP ? IPO_RECIPE_BY_STACK : IPO_RECIPE_BY_FRAME;
    made.cfa = (int32_t)row->cfa.value;
    made.return_at = (int16_t)back->value;
    made.frame = IPO_FRAME_UNKNOWN;
    if (frame->rule == IPO_RULE_SAME) {
        made.frame = IPO_FRAME_SAME;
    } else if (frame->rule == IPO_RULE_OFFSET && fits(frame->value)) {
        made.frame = IPO_FRAME_SAVED;
        made.frame_at = (int16_t)frame->value;
    }
    return made;
}

/* Writes the definition of a module: a name that is no path from the root is one from the working folder. */
static void write_module(uint32_t id, const struct ipo_library *loaded, const char *name)
{
    char path[3072] = "";
    if (name[0] && name[0] != '/' && syscall(SYS_getcwd, path, sizeof path / 2) > 0)
        strcat(path, "/");
    size_t n = strlen(path);
    ipo_copy(path + n, sizeof path - n, name);
    trc_writer_define(&ipo_process.writer, TRC_DEF_MODULE, id, 0, loaded->begin, &loaded->end, sizeof loaded->end, path,
                      strlen(path));
}

/* Defines a module of the trace once, by the thread that meets it: the process may end before our own names sites. */
static void define_module(const struct ipo_library *loaded)
{
    static _Atomic uint64_t defined[TRC_MODULES_MOST]; /* hashes; 0 free */
    char name[1024] = "";
    if (find_object)
        ipo_copy(name, sizeof name, loaded->name);
    else
        ipo_safe_read_some((uint64_t)(uintptr_t)loaded->name, name, sizeof name - 1);
    uint64_t hash = loaded->begin;
    for (const char *at = name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < TRC_MODULES_MOST; i++) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&defined[i], &there, hash))
            write_module(i + 1, loaded, name);
        if (!there || there == hash)
            return;
    }
}

/* Finds the object of an address on the stack, which cannot be unloaded meanwhile; but our own list may be of another
 * one that was there before, whose table is not there any more. */
static bool find_loaded(uint64_t address, struct ipo_library *out)
{
    struct found_object found;
    if (!find_object)
        return !ipo_filter_is_there() && ipo_frames_find(address, out);
    if (find_object((void *)(uintptr_t)address, &found))
        return false;
    *out = (struct ipo_library){(uint64_t)(uintptr_t)found.begin, (uint64_t)(uintptr_t)found.end,
                                (uint64_t)(uintptr_t)found.eh_frame_hdr, found.map->l_name};
    return true;
}

/* Finds the unwinding table of the module of an address on the stack. */
static bool find_table(uint64_t address, struct ipo_module *module)
{
    struct ipo_library loaded;
    if (!find_loaded(address, &loaded))
        return false;
    define_module(&loaded);
    module->pinned = find_object;
    return loaded.header && ipo_module_table(module, loaded.header);
}

/* Works the recipe out. */
static __attribute__((noinline, cold)) struct ipo_recipe read_recipe(uint64_t address)
{
    struct ipo_module module = {0};
    struct ipo_row row;
    if (!find_table(address - 1, &module) || !ipo_cfi_row(&module, address - 1, &row))
        return (struct ipo_recipe){.kind = IPO_RECIPE_LOST};
    return make_recipe(&row);
}

struct ipo_recipe ipo_recipe_of(uint64_t address)
{
    uint32_t at = (uint32_t)(address * 0x9e3779b97f4a7c15u >> 40) % RECIPES;
    for (uint32_t tries = 0; tries < TRIES; tries++, at = (at + 1) % RECIPES) {
        uint64_t there = atomic_load_explicit(&table[at].address, memory_order_acquire);
        if (there == address) {
            const struct ipo_recipe known = table[at].recipe;
            atomic_thread_fence(memory_order_acquire);
            if (atomic_load_explicit(&table[at].address, memory_order_relaxed) == address)
                return known;
            break; /* dropped meanwhile */
        }
        if (there || !atomic_compare_exchange_strong(&table[at].address, &there, FILLING))
            continue; /* another address; or one that another thread enters, perhaps this one */
        const struct ipo_recipe recipe = table[at].recipe = read_recipe(address);
        atomic_store_explicit(&any_known, true, memory_order_release);
        /* A new module may be missing in our own list: search again next time. */
        bool known = find_object || recipe.kind != IPO_RECIPE_LOST;
        atomic_store_explicit(&table[at].address, known ? address : 0, memory_order_release);
        return recipe;
    }
    return read_recipe(address);
}

void ipo_recipes_drop(void)
{
    bool more = atomic_exchange(&any_known, false);
    for (uint32_t at = 0; more && at < RECIPES; at++) {
        uint64_t there = atomic_load_explicit(&table[at].address, memory_order_relaxed);
        if (there != FILLING) /* a thread that runs this code enters it, so it is loaded */
            atomic_compare_exchange_strong(&table[at].address, &there, 0);
    }
}

uint64_t ipo_recipe_object(uint64_t address)
{
    struct ipo_library loaded;
    struct ipo_mapped mapped;
    uint64_t begin = 0, hash = 0xcbf29ce484222325u, word[OBJECT_BYTES / sizeof(uint64_t)];
    if (ipo_filter_is_there())
        return 0;
    if (find_object)
        begin = find_loaded(address, &loaded) ? loaded.begin : 0;
    else if (ipo_mapped_at(address, &mapped)) /* our own list may not have it yet */
        begin = mapped.base;
    if (!begin || !ipo_safe_read(begin, word, sizeof word))
        return 0;
    for (unsigned i = 0; i < sizeof word / sizeof *word; i++)
        hash = (hash ^ word[i]) * 0x9e3779b97f4a7c15u;
    return hash;
}
