#include "interpose/mpi/living.h"
#include "interpose/base/arena.h"
#include "interpose/base/lock.h"
#include "interpose/core/state.h"
#include "interpose/mpi/abi.h"
#include "interpose/mpi/requests.h"

#include <string.h>

#define BUCKETS 4096u
#define MOST    65536u /* objects at a time; with more nothing is known of any */
#define PLACES  256u   /* calls at a site that left something */

struct living {
    struct living *next;
    uintptr_t handle;
    uint64_t site;
    uint32_t call;
    enum ipo_makes kind;
};
static struct living *bucket[BUCKETS];
static unsigned count;
static atomic_bool lost; /* something was not followed: nothing is certain */

static atomic_flag busy = ATOMIC_FLAG_INIT;

/* A thread that cannot take the lock gives up, for good. */
static bool lock(void)
{
    const bool taken = ipo_lock(&busy);
    if (!taken)
        atomic_store(&lost, true);
    return taken;
}

static struct living **find_bucket(enum ipo_makes kind, uintptr_t handle)
{
    return &bucket[((uint64_t)handle + kind) * 0x9e3779b97f4a7c15u >> 40 & (BUCKETS - 1)];
}

void ipo_living_made(enum ipo_makes kind, uintptr_t handle, uint32_t call, uint64_t site)
{
    if (!handle || handle == ipo_abi.comm_null || handle == ipo_abi.group_empty || handle == ipo_abi.datatype_null)
        return;
    struct living *fresh = ipo_arena_get(sizeof *fresh);
    bool kept = fresh && lock();
    if (kept && count < MOST) {
        struct living **at = find_bucket(kind, handle);
        *fresh = (struct living){.next = *at, .handle = handle, .site = site, .call = call, .kind = kind};
        *at = fresh;
        fresh = NULL;
        count++;
    }
    if (kept)
        ipo_unlock(&busy);
    if (!kept || fresh)
        atomic_store(&lost, true);
    ipo_arena_release(fresh, sizeof *fresh);
}

/* Returns the place of the pointer to the object; the lock is held. */
static struct living **find(enum ipo_makes kind, uintptr_t handle)
{
    struct living **at = find_bucket(kind, handle);
    while (*at && ((*at)->handle != handle || (*at)->kind != kind))
        at = &(*at)->next;
    return at;
}

bool ipo_living_is(enum ipo_makes kind, uintptr_t handle)
{
    if (!lock())
        return false;
    bool is = *find(kind, handle) != NULL;
    ipo_unlock(&busy);
    return is;
}

void ipo_living_forget(enum ipo_makes kind, uintptr_t handle)
{
    if (!lock())
        return;
    struct living **at = find(kind, handle), *gone = *at;
    if (gone) {
        *at = gone->next;
        count--;
    }
    ipo_unlock(&busy);
    ipo_arena_release(gone, sizeof *gone);
}

/* ---- objects that were not freed */

struct place {
    uint32_t call, count;
    uint64_t site;
    const char *what;
};
static struct place left[PLACES];
static unsigned places;

static void add_left(const char *what, uint32_t call, uint64_t site)
{
    unsigned i = 0;
    while (i < places && (left[i].call != call || left[i].site != site || left[i].what != what))
        i++;
    if (i == PLACES)
        return;
    if (i == places)
        left[places++] = (struct place){.call = call, .site = site, .what = what};
    left[i].count++;
}

static void add_request(const struct ipo_request *request)
{
    if (request->flags & IPO_REQUEST_PERSISTENT)
        add_left("persistent request", request->sig.call, request->sig.site);
}

void ipo_living_write(void)
{
    static const char *const what[] = {
        [IPO_MAKES_COMM] = "communicator", [IPO_MAKES_GROUP] = "group", [IPO_MAKES_TYPE] = "datatype",
        [IPO_MAKES_OP] = "operation",      [IPO_MAKES_WIN] = "window",  [IPO_MAKES_FILE] = "file"};
    _Static_assert(sizeof what / sizeof *what == IPO_MAKES_FILE + 1, "a row each");
    if (atomic_load(&lost) || !lock())
        return;
    for (unsigned i = 0; i < BUCKETS; i++)
        for (const struct living *one = bucket[i]; one; one = one->next)
            add_left(what[one->kind], one->call, one->site);
    ipo_unlock(&busy);
    if (atomic_load(&ipo_requests.persistent)) /* else the walk would only touch 512 KB that nothing has used */
        ipo_requests_walk(add_request);
    for (unsigned i = 0; i < places; i++) {
        trc_writer_define(&ipo_process.writer, TRC_DEF_LEFT, left[i].count, left[i].call, left[i].site, NULL, 0,
                          left[i].what, strlen(left[i].what));
    }
}
