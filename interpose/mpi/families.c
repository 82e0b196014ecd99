#include "interpose/mpi/families.h"
#include "interpose/base/arena.h"
#include "interpose/base/lock.h"

#include <stddef.h>

#define BUCKETS 16384u
#define MOST    65536u /* families of living communicators; with more, numbers are not known */

struct ipo_family {
    uint64_t key, number;
    struct ipo_family *in_bucket, *of_parent;
};
static struct ipo_family *bucket[BUCKETS];
static unsigned families;

/* A thread that cannot take it does without a number. */
static atomic_flag busy = ATOMIC_FLAG_INIT;

static struct ipo_family **find_place(uint64_t key)
{
    struct ipo_family **at = &bucket[(key * 0x9e3779b97f4a7c15u >> 40) % BUCKETS];
    while (*at && (*at)->key != key)
        at = &(*at)->in_bucket;
    return at;
}

bool ipo_family_next(uint64_t key, struct ipo_family **of_parent, uint64_t *number)
{
    struct ipo_family *fresh = ipo_arena_get(sizeof *fresh);
    if (!ipo_lock(&busy)) {
        ipo_arena_release(fresh, sizeof *fresh);
        return false;
    }
    struct ipo_family **at = find_place(key), *found = *at;
    if (!found && fresh && families < MOST) {
        *fresh = (struct ipo_family){.key = key};
        if (of_parent) {
            fresh->of_parent = *of_parent;
            *of_parent = fresh;
        }
        *at = found = fresh;
        fresh = NULL;
        families++;
    }
    if (found)
        *number = found->number++;
    ipo_unlock(&busy);
    ipo_arena_release(fresh, sizeof *fresh);
    return found != NULL;
}

void ipo_families_forget(struct ipo_family **of_parent)
{
    if (!*of_parent || !ipo_lock(&busy))
        return;
    struct ipo_family *gone = *of_parent;
    *of_parent = NULL;
    for (struct ipo_family *f = gone; f; f = f->of_parent, families--) {
        struct ipo_family **at = find_place(f->key);
        if (*at == f)
            *at = f->in_bucket;
    }
    ipo_unlock(&busy);
    for (struct ipo_family *next; gone; gone = next) {
        next = gone->of_parent;
        ipo_arena_release(gone, sizeof *gone);
    }
}
