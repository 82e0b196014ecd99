#include "interpose/sites/path.h"
#include "interpose/base/safe_read.h"
#include "interpose/core/filter.h"
#include "interpose/core/state.h"
#include "interpose/sites/recipe.h"
#include "interpose/sites/sites.h"

#include <stdatomic.h>
#include <string.h>

#define PATHS   4096u             /* a power of two */
#define CROWDED (PATHS / 4u * 3u) /* limit above which new paths are cut to CUT_TO sites */
#define CUT_TO  2u
#define TRIES   32u
#define GAP     ((uintptr_t)64 << 20) /* no frame is larger */

static struct {
    _Atomic uint64_t hash; /* 0: free; 1: another thread fills it in */
    struct ipo_path path;
} table[PATHS];
static atomic_uint used;
const struct ipo_path ipo_path_none = {.kind = IPO_PATH_ALONE};
static unsigned depth = IPO_PATH_USUAL;

void ipo_paths_start(unsigned wanted)
{
    depth = wanted < 1 ? 1 : wanted > TRC_PATH_MOST ? TRC_PATH_MOST : wanted;
    ipo_recipes_start();
}

unsigned ipo_paths_depth(void)
{
    return depth;
}

/* ---- the walk */

/* Whether the page of an address is mapped; remembered for a few pages of each thread.  Under a filter for system calls
 * nobody is asked. */
static bool is_mapped(uintptr_t address)
{
    static __thread uintptr_t known[8];
    uintptr_t page = address >> 12, *place = &known[page % 8];
    char byte;
    if (*place == page)
        return true;
    if (ipo_filter_is_there() || !ipo_safe_read(address, &byte, 1))
        return false;
    *place = page;
    return true;
}

static uint64_t load_word(uintptr_t address)
{
    uint64_t word;
    memcpy(&word, (const void *)address, sizeof word);
    return word;
}

/* Whether a frame is laid out as code with frame pointers lays it out. */
static bool is_chained(const struct ipo_recipe *recipe)
{
    return recipe->kind == IPO_RECIPE_BY_FRAME && recipe->cfa == 16 && recipe->return_at == -8 &&
           recipe->frame == IPO_FRAME_SAVED && recipe->frame_at == -16;
}

/* Sites past the last are compared like the last one. */
static void repeat_last(struct ipo_path *path)
{
    for (unsigned i = path->count; i < IPO_PATH_USUAL; i++) {
        path->at[i] = path->at[i - 1];
        path->site[i] = path->site[i - 1];
    }
}

/* Fills in all but the id. */
static void walk(uint64_t first, uintptr_t stack, uintptr_t frame, struct ipo_path *path)
{
    const uintptr_t begin = stack;
    bool by_stack = true, by_frame = true;
    *path = (struct ipo_path){.count = 1, .site = {first}};
    for (;;) {
        struct ipo_recipe recipe = ipo_recipe_of(path->site[path->count - 1]);
        path->end = recipe.kind == IPO_RECIPE_FIRST ? TRC_PATH_WHOLE
                    : path->count == depth          ? TRC_PATH_LIMITED
                                                    : TRC_PATH_LOST;
        if (recipe.kind <= IPO_RECIPE_FIRST || path->count == depth)
            break;
        by_stack &= recipe.kind == IPO_RECIPE_BY_STACK;
        by_frame &= is_chained(&recipe);
        uintptr_t cfa = (recipe.kind == IPO_RECIPE_BY_STACK ? stack : frame) + (uintptr_t)(intptr_t)recipe.cfa;
        if (IPO_HAS_BACK_CHAIN && recipe.kind == IPO_RECIPE_BY_FRAME)
            cfa = load_word(stack);
        uintptr_t at = cfa + (uintptr_t)(intptr_t)recipe.return_at;
        uintptr_t saved = cfa + (uintptr_t)(intptr_t)recipe.frame_at;
        bool moved = cfa > stack && cfa - stack < GAP && cfa % 8 == 0;
        /* Wrong tables may leave anything in a frame pointer; a distance from the stack pointer is on the stack. */
        bool asked = recipe.kind == IPO_RECIPE_BY_FRAME;
        if (!moved || (asked && (!is_mapped(at) || (recipe.frame == IPO_FRAME_SAVED && !is_mapped(saved)))))
            break;
        uint64_t site = load_word(at);
        if (!site) {
            path->end = TRC_PATH_WHOLE;
            break;
        }
        frame = recipe.frame == IPO_FRAME_SAVED ? load_word(saved) : recipe.frame == IPO_FRAME_SAME ? frame : 0;
        stack = cfa;
        if (path->count < IPO_PATH_USUAL)
            path->at[path->count] = (int32_t)(at - begin);
        path->site[path->count++] = site;
    }
    path->kind = path->count == 1                            ? IPO_PATH_ALONE
                 : by_frame                                  ? IPO_PATH_BY_FRAME
                 : by_stack && path->count <= IPO_PATH_USUAL ? IPO_PATH_BY_STACK
                                                             : IPO_PATH_MIXED;
    repeat_last(path);
}

/* ---- interning */

static uint64_t hash_sites(const struct ipo_path *path)
{
    uint64_t hash = ((uint64_t)path->count << 8 | path->end) ^ path->lives;
    for (unsigned i = 0; i < path->count; i++)
        hash = (hash ^ path->site[i]) * 0x9e3779b97f4a7c15u;
    return hash | 2; /* neither free nor being filled in */
}

static bool is_equal(const struct ipo_path *a, const struct ipo_path *b)
{
    uint64_t differ = (uint64_t)(a->count ^ b->count) | (uint64_t)(a->end ^ b->end) | (a->lives ^ b->lives);
    for (unsigned i = 0; !differ && i < a->count; i++)
        differ = a->site[i] ^ b->site[i];
    return !differ;
}

/* Enters the path in place number `at`, which the calling thread owns. */
static __attribute__((noinline, cold)) const struct ipo_path *enter(uint32_t at, struct ipo_path *path)
{
    uint64_t number[TRC_PATH_MOST];
    for (unsigned i = 0; i < path->count; i++)
        ipo_site_seen(number[i] = path->site[i] | (path->lives >> 8 * i) << TRC_SITE_SHIFT);
    path->id = at + 1;
    table[at].path = *path;
    trc_writer_define(&ipo_process.writer, TRC_DEF_PATH, path->id, path->count, path->end, number,
                      path->count * sizeof *number, NULL, 0);
    return &table[at].path;
}

static const struct ipo_path *intern(struct ipo_path *path)
{
    const uint64_t hash = hash_sites(path);
    uint32_t at = (uint32_t)(hash >> 40) % PATHS;
    for (uint32_t tries = 0; tries < TRIES; tries++, at = (at + 1) % PATHS) {
        uint64_t there = atomic_load_explicit(&table[at].hash, memory_order_acquire);
        if (there == hash && is_equal(&table[at].path, path))
            return &table[at].path;
        if (there)
            continue;
        if (path->count > CUT_TO && atomic_load_explicit(&used, memory_order_relaxed) > CROWDED)
            return NULL;
        if (!atomic_compare_exchange_strong(&table[at].hash, &there, 1))
            continue;
        atomic_fetch_add_explicit(&used, 1, memory_order_relaxed);
        const struct ipo_path *entered = enter(at, path);
        atomic_store_explicit(&table[at].hash, hash, memory_order_release);
        return entered;
    }
    return NULL;
}

/* Interns a path without its outer sites if there is no room. */
static const struct ipo_path *intern_cut(struct ipo_path *path)
{
    const struct ipo_path *interned = intern(path);
    if (!interned && path->count > CUT_TO) {
        path->count = CUT_TO;
        path->end = TRC_PATH_LOST;
        repeat_last(path);
        interned = intern(path);
    }
    if (!interned)
        ipo_site_seen(path->site[0] | (path->lives & 255) << TRC_SITE_SHIFT);
    return interned ? interned : &ipo_path_none;
}

const struct ipo_path *ipo_path_of(uint64_t site, uintptr_t stack, uintptr_t frame)
{
    struct ipo_path path;
    walk(site, stack, frame, &path);
    path.lives = ipo_site_lives(path.site, path.count);
    return intern_cut(&path);
}

const struct ipo_path *ipo_path_of_sites(const uint64_t *site, unsigned count, enum trc_path_end end)
{
    struct ipo_path path = {.count = (uint8_t)count, .end = (uint8_t)end, .kind = IPO_PATH_MIXED};
    memcpy(path.site, site, count * sizeof *site);
    return intern_cut(&path);
}

bool ipo_path_is_slow(const struct ipo_path *path, uint64_t site, uintptr_t stack, const uintptr_t *frame)
{
    if (path->kind == IPO_PATH_MIXED)
        return ipo_path_of(site, stack, *frame) == path;
    const uint64_t *chain = (const uint64_t *)*frame;
    for (unsigned i = 1; i < path->count; i++, chain = (const uint64_t *)(uintptr_t)chain[0])
        if (chain[1] != path->site[i])
            return false;
    return true;
}
