#include "interpose/mpi/members.h"
#include "interpose/mpi/abi.h"
#include "interpose/base/arena.h"

#include <string.h>

typedef uintptr_t w;
#define REAL(name, ...) (((int (*)(__VA_ARGS__))ipo_own[IPO_##name]))

static uintptr_t world_group;
static int32_t world_size;

/* The list 0, 1, 2 .., which is translated into world ranks. */
static _Atomic(const struct ipo_members *) counting;

static size_t count_bytes(int32_t n)
{
    return sizeof(struct ipo_members) + (size_t)n * sizeof(int32_t);
}

static struct ipo_members *make_members(int32_t n)
{
    struct ipo_members *members = ipo_arena_get(count_bytes(n));
    if (members) {
        members->n = n;
        atomic_store(&members->users, 1);
    }
    return members;
}

static const int32_t *get_counting(int32_t n)
{
    const struct ipo_members *numbers = atomic_load(&counting);
    if (numbers && numbers->n >= n)
        return numbers->world;
    int32_t room = 64;
    while (room < n && room < INT32_MAX / 2)
        room *= 2;
    struct ipo_members *more = make_members(room < n ? n : room);
    for (int32_t i = 0; more && i < more->n; i++)
        more->world[i] = i;
    if (more)
        atomic_store(&counting, more); /* the shorter one may be in use */
    return more ? more->world : NULL;
}

struct ipo_members *ipo_members_of_group(uintptr_t group)
{
    int n = 0;
    if (!world_group || REAL(Group_size, w, int *)(group, &n) || n <= 0)
        return NULL;
    const int32_t *own = get_counting(n);
    struct ipo_members *members = own ? make_members(n) : NULL;
    if (!members)
        return NULL;
    if (REAL(Group_translate_ranks, w, int, const int *, w, int *)(group, n, own, world_group, members->world)) {
        ipo_members_drop(members);
        return NULL;
    }
    for (int i = 0; i < n; i++)
        if (members->world[i] < 0) { /* MPI_UNDEFINED */
            members->world[i] = -1;
            members->foreign = true;
        }
    return members;
}

struct ipo_members *ipo_members_of(uintptr_t comm, bool remote)
{
    char word[8] = {0};
    if (remote ? REAL(Comm_remote_group, w, void *)(comm, word) : REAL(Comm_group, w, void *)(comm, word))
        return NULL;
    struct ipo_members *members = ipo_members_of_group(ipo_handle_load((uintptr_t)word, 0));
    REAL(Group_free, void *)(word);
    return members;
}

struct ipo_members *ipo_members_one(int32_t rank)
{
    struct ipo_members *members = make_members(1);
    if (members)
        members->world[0] = rank;
    return members;
}

struct ipo_members *ipo_members_share(struct ipo_members *members)
{
    if (members)
        atomic_fetch_add(&members->users, 1);
    return members;
}

void ipo_members_drop(struct ipo_members *members)
{
    if (members && atomic_fetch_sub(&members->users, 1) == 1)
        ipo_arena_release(members, count_bytes(members->n));
}

bool ipo_members_same(const struct ipo_members *a, const struct ipo_members *b)
{
    return a && b && a->n == b->n && memcmp(a->world, b->world, (size_t)a->n * sizeof *a->world) == 0;
}

bool ipo_members_are_world(const struct ipo_members *members)
{
    bool whole = members && members->n == world_size;
    for (int32_t i = 0; whole && i < members->n; i++)
        whole = members->world[i] == i;
    return whole;
}

void ipo_members_start(uintptr_t group, int32_t size)
{
    world_group = group;
    world_size = size;
}
