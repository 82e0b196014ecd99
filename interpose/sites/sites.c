#include "interpose/sites/sites.h"
#include "interpose/core/state.h"
#include "interpose/sites/python_site.h"
#include "interpose/sites/recipe.h"
#include "interpose/load/symbols.h"
#include "interpose/core/facts.h"
#include "interpose/base/text.h"
#include "interpose/load/modules.h"
#include "trace/writer/system.h"

#include <string.h>
#include <unistd.h>

#define SITES   8192u
#define PATIENT 200u /* milliseconds */

static _Atomic uint64_t site[SITES]; /* numbers; open addressing, 0 free */
static uint64_t object[SITES];       /* hash of the object that had the name (ipo_recipe_object) */
static bool resolved[SITES];
static _Atomic bool doubted[SITES]; /* a library was unloaded since */
static atomic_int resolving;
static atomic_bool any_new, any_named, any_doubted; /* since the last look, the last doubt, ever */

/* Place of a number in the table, which it is entered in if it is new and `enter`; SITES: it has none. */
static uint32_t find_place(uint64_t number, bool enter)
{
    uint32_t at = (uint32_t)((number * 0x9e3779b97f4a7c15u) >> 40) % SITES;
    for (uint32_t tries = 0; tries < 32; tries++, at = (at + 1) % SITES) {
        uint64_t there = atomic_load_explicit(&site[at], memory_order_relaxed);
        if (!there && !enter)
            return SITES;
        if (!there && atomic_compare_exchange_strong(&site[at], &there, number)) {
            atomic_store_explicit(&any_new, true, memory_order_release);
            return at;
        }
        if (there == number)
            return at;
    }
    return SITES;
}

void ipo_site_seen(uint64_t number)
{
    if (!(number & IPO_PYTHON_SITE)) /* a line of Python has its name already */
        find_place(number, true);
}

/* Whether the site in a place is of another library than the one that has its address now. */
static bool is_other(uint32_t at, uint64_t address)
{
    if (!atomic_load_explicit(&doubted[at], memory_order_acquire))
        return false;
    uint64_t now = ipo_recipe_object(address);
    if (now && object[at] && now != object[at])
        return true;
    atomic_store_explicit(&doubted[at], false, memory_order_relaxed);
    atomic_store_explicit(&any_named, true, memory_order_release);
    return false;
}

static __attribute__((noinline, cold)) uint64_t count_lives(uint64_t address)
{
    uint64_t life = 0;
    for (; life < IPO_SITE_LIVES; life++) {
        uint32_t at = find_place(address | life << TRC_SITE_SHIFT, false);
        if (at == SITES || !is_other(at, address))
            break;
    }
    return life;
}

uint64_t ipo_site_lives(const uint64_t *address, unsigned count)
{
    uint64_t lives = 0;
    if (atomic_load_explicit(&any_doubted, memory_order_relaxed))
        for (unsigned i = 0; i < count; i++)
            lives |= count_lives(address[i]) << 8 * i;
    return lives;
}

void ipo_sites_doubt(void)
{
    bool more = atomic_exchange(&any_named, false);
    for (uint32_t i = 0; more && i < SITES; i++)
        if (resolved[i])
            atomic_store_explicit(&doubted[i], true, memory_order_relaxed);
    atomic_store_explicit(&any_doubted, true, memory_order_release);
}

#define MODULES 256u

/* Writes a module's build id, once: source lines of another build would be wrong. */
static void write_build_id(const char *path, const char *file)
{
    static uint64_t written[MODULES]; /* numbers by hash; 0 free */
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *at = path; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    unsigned i = 0;
    while (i < MODULES && written[i] && written[i] != hash)
        i++;
    if (i == MODULES || written[i])
        return;
    written[i] = hash;
    struct ipo_text key = {0};
    char id[2 * 32 + 1];
    ipo_text_add(&key, "build-id ");
    ipo_text_add(&key, path);
    if (ipo_build_id_of(file, id, sizeof id))
        ipo_fact(key.text, id);
}

/* Writes a definition: "function+0xoffset", NUL, "module+0xoffset"; if the function is unknown the nearest exported one
 * stands behind another NUL.  Returns the address.  Names come from the file itself and from /proc, not from the
 * loader, on which we might wait while another thread's dlopen hangs. */
static uint64_t define_site(uint64_t number, struct ipo_mapped *module)
{
    const uint64_t address = number & (((uint64_t)1 << TRC_SITE_SHIFT) - 1);
    struct ipo_text text = {0};
    char name[400], exe[512];
    bool known = (module->base <= address && address < module->end) || ipo_mapped_at(address, module);
    uint64_t offset = address - module->base;
    /* The program itself may have been renamed or removed since. */
    ssize_t length = known ? readlink("/proc/self/exe", exe, sizeof exe - 1) : 0;
    exe[length > 0 ? length : 0] = 0;
    const char *file = strcmp(exe, module->path) == 0 ? "/proc/self/exe" : module->path;
    /* A return address may be behind the last instruction of its function. */
    bool near = false;
    uint64_t into = known ? ipo_symbol_of(file, offset - 1, name, sizeof name, &near) : UINT64_MAX;
    if (into != UINT64_MAX && !near)
        ipo_text_add_place(&text, name, into + 1);
    text.used++;
    if (known) {
        write_build_id(module->path, file);
        ipo_text_add_place(&text, module->path, offset);
    }
    text.used += near;
    if (near)
        ipo_text_add_place(&text, name, into + 1);
    const bool forwards = into != UINT64_MAX && !near && ipo_symbol_forwards(file, offset - 1);
    trc_writer_define(&ipo_process.writer, TRC_DEF_SITE, 0, forwards ? TRC_SITE_FORWARDS : 0, number, NULL, 0,
                      text.text, text.used + 1);
    return address;
}

void ipo_sites_resolve(void)
{
    int idle = 0;
    if (!atomic_compare_exchange_strong(&resolving, &idle, 1))
        return;
    struct ipo_mapped module = {0}; /* the last one: sites of a module follow one another */
    bool more = atomic_exchange(&any_new, false);
    for (uint32_t i = 0; more && i < SITES; i++) {
        uint64_t number = atomic_load_explicit(&site[i], memory_order_relaxed);
        if (!number || resolved[i])
            continue;
        object[i] = ipo_recipe_object(define_site(number, &module));
        resolved[i] = true;
        atomic_store_explicit(&any_named, true, memory_order_release);
    }
    atomic_store(&resolving, 0);
}

void ipo_sites_settle(void)
{
    for (unsigned tries = 0; atomic_load(&resolving) && tries < PATIENT; tries++)
        trc_sys_sleep(1000000);
    ipo_sites_resolve();
}
