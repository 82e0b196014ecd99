#include "interpose/nccl/hooks.h"
#include "interpose/core/facts.h"
#include "interpose/identity/identity.h"
#include "interpose/nccl/nccl.h"
#include "interpose/load/objects.h"
#include "interpose/load/slots.h"
#include "interpose/base/text.h"
#include "interpose/load/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#define OBJECTS 16u /* objects with an NCCL of their own */

static const char *const names[] = {"symbols", "dlsym", "plugin", "NVTX", "channels"};
#define HOOKS (sizeof names / sizeof *names)

static struct {
    _Atomic(const void *) base;
    atomic_uint live;
} objects[OBJECTS];
static atomic_uint live_anywhere, reported;
static atomic_bool cuda_came, offered, plugin_of_others;

/* "symbols,plugin": only these hooks.  Empty: all but the channels; NVTX is used only where no other hook sees
 * calls. */
static unsigned parse_allowed(const char *list)
{
    unsigned all = 0;
    if (!list || !*list)
        return (1u << HOOKS) - 1 - IPO_HOOK_CHANNELS;
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        for (unsigned i = 0; i < HOOKS; i++) {
            size_t n = strlen(names[i]);
            if (strncasecmp(at, names[i], n) == 0 && (!at[n] || at[n] == ','))
                all |= 1u << i;
        }
    return all;
}

bool ipo_nccl_hook_allowed(enum ipo_nccl_hook hook)
{
    static atomic_uint known; /* the lowest bit: the rest is valid */
    unsigned now = atomic_load_explicit(&known, memory_order_relaxed);
    if (!now)
        atomic_store(&known, now = parse_allowed(getenv("HPCTOP_NCCL")) << 1 | 1);
    return (now >> 1 & hook) != 0;
}

void ipo_nccl_hooks_report(void)
{
    struct ipo_text text = {0}, missing = {0};
    unsigned live = atomic_load(&live_anywhere);
    for (unsigned i = 0; i < HOOKS; i++) {
        struct ipo_text *to = live & 1u << i ? &text : &missing;
        ipo_text_add(to, to->used ? ", " : "");
        ipo_text_add(to, names[i]);
    }
    if (missing.used) {
        ipo_text_add(&text, "; not ");
        ipo_text_add(&text, missing.text);
    }
    atomic_store(&reported, 1);
    ipo_fact("nccl.hooks", text.text);
    if (atomic_load(&plugin_of_others))
        ipo_fact("nccl.plugin", "left to the program's own");
}

static atomic_uint *find_state(const void *object)
{
    for (unsigned i = 0; i < OBJECTS; i++) {
        const void *there = atomic_load_explicit(&objects[i].base, memory_order_acquire);
        if (!there && atomic_compare_exchange_strong(&objects[i].base, &there, object))
            there = object;
        if (there == object)
            return &objects[i].live;
    }
    return NULL;
}

void ipo_nccl_hook_live(enum ipo_nccl_hook hook, const void *object)
{
    atomic_uint *state = object ? find_state(object) : NULL;
    if (state && !(atomic_load_explicit(state, memory_order_relaxed) & hook))
        atomic_fetch_or(state, hook);
    if (!(atomic_load_explicit(&live_anywhere, memory_order_relaxed) & hook)) {
        atomic_fetch_or(&live_anywhere, hook);
        if (atomic_load(&reported))
            ipo_nccl_hooks_report();
    }
}

bool ipo_nccl_hook_is_live(enum ipo_nccl_hook hook, const void *object)
{
    atomic_uint *state = find_state(object);
    return state && atomic_load_explicit(state, memory_order_relaxed) & hook;
}

/* ---- getenv */

/* A program that reads these variables itself must get the true value.  NCCL and NVTX ask with a string literal of
 * their own; near it is the name that they search afterwards. */
#define NEAR ((size_t)8 << 20)
struct literal {
    const char *at, *begin, *end;
};
static int find_segment(struct dl_phdr_info *info, size_t size, void *of)
{
    (void)size;
    struct literal *literal = of;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const char *begin = (const char *)(info->dlpi_addr + header->p_vaddr), *end = begin + header->p_filesz;
        if (header->p_type == PT_LOAD && literal->at >= begin && literal->at < end) {
            literal->begin = begin;
            literal->end = end;
        }
    }
    return literal->begin != NULL;
}

static bool is_near(const char *name, const char *other)
{
    struct literal literal = {.at = name};
    ipo_loader_walk(find_segment, &literal);
    if (!literal.begin)
        return false;
    const char *begin = (size_t)(name - literal.begin) > NEAR ? name - NEAR : literal.begin;
    const char *end = (size_t)(literal.end - name) > NEAR ? name + NEAR : literal.end;
    return memmem(begin, (size_t)(end - begin), other, strlen(other)) != NULL;
}

/* Whether a plugin exists under the name that NCCL searches by default. */
static bool has_own_plugin(void)
{
    static atomic_int known; /* 1 no, 2 yes */
    if (!atomic_load(&known)) {
        bool found = dlopen("libnccl-profiler.so", RTLD_NOW | RTLD_LOCAL) != NULL; /* NCCL is about to do the same */
        dlerror();
        atomic_store(&known, found ? 2 : 1);
        atomic_store(&plugin_of_others, found);
    }
    return atomic_load(&known) == 2;
}

static char *find_plugin_name(void)
{
    static char name[] = "STATIC_PLUGIN"; /* means to NCCL: already in the process */
    if (!ipo_nccl_hook_allowed(IPO_HOOK_PLUGIN) || has_own_plugin())
        return NULL;
    atomic_store(&offered, true);
    return name;
}

static char *find_injection(const void *caller)
{
    const char *list = getenv("HPCTOP_NCCL");
    const void *object = ipo_object_base(caller);
    /* Hooks NCCL unasked only if no other hook sees the calls. */
    if ((!list || !*list) && ipo_nccl_copy_at(object))
        return NULL;
    Dl_info info;
    static char path[4096];
    if (!ipo_nccl_hook_allowed(IPO_HOOK_NVTX) || !dladdr((void *)(uintptr_t)&find_injection, &info))
        return NULL;
    if (!path[0])
        ipo_copy(path, sizeof path, info.dli_fname);
    return path;
}

char *ipo_nccl_getenv(const char *name)
{
    char *value = getenv(name);
    if (value || name[0] != 'N' || ipo_process.options.disable)
        return value;
    int kept = errno;
    if (strcmp(name, "NCCL_PROFILER_PLUGIN") == 0 && is_near(name, "ncclProfiler_v"))
        value = find_plugin_name();
    else if (strcmp(name, "NVTX_INJECTION64_PATH") == 0 && is_near(name, "InitializeInjectionNvtx2"))
        value = find_injection(__builtin_return_address(0));
    errno = kept;
    return value;
}

bool ipo_nccl_plugin_offered(void)
{
    return atomic_load(&offered);
}

bool ipo_nccl_may_be_hidden(void)
{
    return atomic_load_explicit(&cuda_came, memory_order_relaxed);
}

void ipo_cuda_coming(void)
{
    static atomic_flag once = ATOMIC_FLAG_INIT;
    int kept = errno;
    if (!atomic_flag_test_and_set(&once) && !ipo_is_privileged()) {
        ipo_options_read(&ipo_process.options);
        atomic_store(&cuda_came, !ipo_process.options.disable);
    }
    if (ipo_nccl_may_be_hidden())
        ipo_patch_slots();
    errno = kept;
}
