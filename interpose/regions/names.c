#include "interpose/regions/names.h"
#include "interpose/base/arena.h"
#include "interpose/core/state.h"
#include "interpose/regions/regions.h"

#include <errno.h>
#include <string.h>

#define NAMES   4096u
#define PROBES  32u  /* probes for one name: names made up as the program runs soon find no room */
#define LONGEST 255u /* bytes of a name that are kept */
_Static_assert(NAMES < TRC_REGION_MOST, "ids");

struct name {
    atomic_bool defined;
    size_t length;
    char text[];
};

/* The name with number n is in names[n - 1]; a name without room has number NAMES + 1. */
static _Atomic(struct name *) names[NAMES];
static atomic_bool others_defined;
static const char others[] = "other regions";

static uint32_t hash(const char *text, size_t length)
{
    uint32_t value = 2166136261u;
    for (size_t i = 0; i < length; i++)
        value = (value ^ (unsigned char)text[i]) * 16777619u;
    return value;
}

static bool is_same(const struct name *name, const char *text, size_t length)
{
    return name->length == length && memcmp(name->text, text, length) == 0;
}

static struct name *make_name(const char *text, size_t length)
{
    struct name *name = ipo_arena_get(sizeof *name + length);
    if (!name)
        return NULL;
    name->length = length;
    memcpy(name->text, text, length);
    return name;
}

static uint32_t find_number(const char *text, size_t length)
{
    struct name *mine = NULL;
    for (uint32_t i = 0, at = hash(text, length) % NAMES; i < PROBES; i++, at = (at + 1) % NAMES) {
        struct name *there = atomic_load_explicit(&names[at], memory_order_acquire);
        if (!there && !mine && !(mine = make_name(text, length)))
            break;
        if (!there && atomic_compare_exchange_strong(&names[at], &there, mine))
            return at + 1;
        if (is_same(there, text, length)) {
            ipo_arena_release(mine, sizeof *mine + length); /* another thread was faster */
            return at + 1;
        }
    }
    return NAMES + 1;
}

uint32_t ipo_region_number(const char *text)
{
    int kept = errno;
    size_t length = text ? strnlen(text, LONGEST) : 0;
    uint32_t number = find_number(length ? text : "-", length ? length : 1);
    errno = kept;
    return number;
}

static __attribute__((noinline, cold)) void define(uint32_t number, const char *text, size_t length)
{
    int kept = errno;
    trc_writer_define(&ipo_process.writer, TRC_DEF_REGION, number, 0, 0, NULL, 0, text, length);
    errno = kept;
}

void ipo_region_define(uint32_t number)
{
    struct name *name = number <= NAMES ? atomic_load_explicit(&names[number - 1], memory_order_acquire) : NULL;
    atomic_bool *defined = name ? &name->defined : &others_defined;
    if (__builtin_expect(!atomic_load_explicit(defined, memory_order_relaxed), 0) && !atomic_exchange(defined, true))
        define(name ? number : NAMES + 1, name ? name->text : others, name ? name->length : sizeof others - 1);
}
